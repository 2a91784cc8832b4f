/** Runs one script: installs the SDK, starts the servers, runs the script, parses its output. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MASTER_KEY } from '../../__test__/support/server-process.js'
import { type Language, type LanguageName, languages, root } from './languages.js'
import { type ServersName, servers } from './servers.js'
import { type Outcome, outcomeOf } from './steps.js'

/** A script takes seconds. One that hangs is killed after this time. */
const SCRIPT_MS_MAX = 180_000

const cache = join(root, 'node_modules/.cache/siftd-clients')

/** Installs and builds the script of a language. @returns the command that runs it */
export async function ready(name: LanguageName): Promise<readonly [string, ...string[]]> {
  const language: Language = languages[name]
  const folder = await installedOnce(`${name}-${language.version}`, (empty) => language.install(empty))
  return language.build(folder)
}

/** Fills a folder of the cache if that was not done yet. @returns the folder */
export async function installedOnce(
  name: string,
  install: (empty: string) => Promise<void>,
): Promise<string> {
  const folder = join(cache, name)
  // Written last, so that an interrupted installation is repeated.
  const installed = join(folder, 'installed')
  if (!existsSync(installed)) {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true })
    await install(folder)
    await writeFile(installed, '')
  }
  return folder
}

/**
 * Runs a command against fresh servers. The command gets the URL and master key from its environment.
 * @param behind one server, or an address that sends each request to the next of two servers
 */
export async function clientTrial(
  [program, ...args]: readonly [string, ...string[]],
  engine: 'native' | 'fallback',
  behind: ServersName = 'one',
): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-clients-'))
  try {
    const { url, stop } = await servers[behind]({ engine, directory })
    try {
      const env = { ...process.env, CLIENTS_URL: url, CLIENTS_MASTER_KEY: MASTER_KEY }
      return outcomeOf(await outputOf(program, args, env))
    } finally {
      await stop()
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
