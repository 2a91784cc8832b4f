/** Runs the test suites of the SDKs against fresh servers. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../__test__/support/ports.js'
import { type LanguageName, languages, missingToolchain } from '../languages.js'
import { oneServer } from '../servers.js'
import { installedOnce } from '../trial.js'
import { outdated, unexplained } from './outcome.js'
import { MASTER_KEY, type Suite, suites } from './suites.js'

/** Includes the compilation. A suite that hangs is killed after this time. */
const SUITE_MS_MAX = 40 * 60_000

async function outputOf(suite: Suite, folder: string, url: string): Promise<string> {
  const [program, ...args] = suite.command
  const env = { ...process.env, MEILISEARCH_URL: url, MEILISEARCH_API_KEY: MASTER_KEY, INSTA_UPDATE: 'no' }
  const child = spawn(program, args, {
    cwd: folder,
    env,
    timeout: SUITE_MS_MAX,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  return output
}

export interface SuitesSetup {
  readonly names: readonly LanguageName[]
  readonly engines: readonly ('native' | 'fallback')[]
}

/** Prints a row for each suite and engine. @returns the problems: failures without a known reason, missing tests */
export async function suiteTrials({ names, engines }: SuitesSetup): Promise<readonly string[]> {
  const problems: string[] = []
  console.log('| language | SDK version | engine | passed | failed | skipped |\n|---|---|---|---|---|---|')
  for (const suite of suites.filter(({ language }) => names.includes(language))) {
    const { title, version } = languages[suite.language]
    const missing = missingToolchain(languages[suite.language])
    if (missing !== null) {
      problems.push(`${title}: ${missing}`)
      continue
    }
    const folder = await installedOnce(`${suite.language}-${version}-suite`, (empty) => suite.install(empty))
    // The Rust suite contains the address, so both engines use the same.
    const port = await freePort()
    for (const engine of engines) {
      const output = await againstServer(engine, port, (url) => outputOf(suite, folder, url))
      const { passed, failed, skipped } = suite.outcome(output)
      console.log(
        `| ${title} | ${version} | ${engine} | ${passed.length} | ${failed.length} | ${skipped.length} |`,
      )
      const ran = passed.length + failed.length + skipped.length
      if (ran !== suite.tests) {
        console.log(output.split('\n').slice(-40).join('\n'))
        problems.push(`${title}, ${engine}: ${ran} tests ran instead of ${suite.tests}`)
      }
      for (const name of unexplained(failed, suite.known))
        problems.push(`${title}, ${engine}: ${name} failed`)
      for (const name of outdated(failed, suite.known))
        console.log(`${title}, ${engine}: ${name} passed, though it is a known failure`)
    }
  }
  return problems
}

async function againstServer<T>(
  engine: 'native' | 'fallback',
  port: number,
  run: (url: string) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-suites-'))
  try {
    // The last value of an option counts.
    const { url, stop } = await oneServer({ engine, directory }, [
      ...['--http-addr', `127.0.0.1:${port}`, '--master-key', MASTER_KEY],
      // The suites name embedders and remotes on this machine.
      ...['--experimental-allowed-ip-networks', 'any'],
    ])
    try {
      return await run(url)
    } finally {
      await stop()
    }
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}
