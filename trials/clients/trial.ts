/** Runs one script against one server: installs the SDK, starts the server, runs the script, parses its output. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MASTER_KEY, ServerProcess } from '../../__test__/support/server-process.js'
import { type Language, type LanguageName, languages, root } from './languages.js'
import { type Outcome, outcomeOf } from './steps.js'

const START_MS_MAX = 60_000
const STOP_MS_MAX = 10_000
/** A script takes seconds. One that hangs is killed after this time. */
const SCRIPT_MS_MAX = 180_000

const cache = join(root, 'node_modules/.cache/siftd-clients')

/** Installs and builds the script of a language. @returns the command that runs it */
export async function ready(name: LanguageName): Promise<readonly [string, ...string[]]> {
  const language: Language = languages[name]
  const folder = join(cache, `${name}-${language.version}`)
  // Written last, so that an interrupted installation is repeated.
  const installed = join(folder, 'installed')
  if (!existsSync(installed)) {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true })
    await language.install(folder)
    await writeFile(installed, '')
  }
  return language.build(folder)
}

/** Runs a command against a fresh server. The command gets the URL and master key from its environment. */
export async function clientTrial(
  [program, ...args]: readonly [string, ...string[]],
  engine: 'native' | 'fallback',
): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-clients-'))
  try {
    const started = await ServerProcess.start({
      data: join(directory, 'data'),
      engine,
      args: ['--dump-dir', join(directory, 'dumps')],
      startMsMax: START_MS_MAX,
    })
    if (started.kind !== 'listening')
      throw new Error(`the server did not start (${started.kind}): ${started.errors}`)
    const { server } = started
    try {
      const env = { ...process.env, CLIENTS_URL: server.url, CLIENTS_MASTER_KEY: MASTER_KEY }
      return outcomeOf(await outputOf(program, args, env))
    } finally {
      await server.stop(STOP_MS_MAX)
    }
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Returns the output of a script. A crash shows as steps not reached; its errors go to stderr. */
const outputOf = (program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> =>
  new Promise((resolve) => {
    execFile(program, args, { cwd: root, env, timeout: SCRIPT_MS_MAX }, (error, stdout, stderr) => {
      if (error !== null) process.stderr.write(stderr)
      resolve(stdout)
    })
  })
