/**
 * npm run trials -- guides [--only nextjs,django --engine native]
 *
 * Follows guides for frameworks in new projects, with packages from npm and PyPI. Exits with 1 if a guide stumbles.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isCi, nativeEngine } from '../../__test__/support/requirements.js'
import { MASTER_KEY, ServerProcess } from '../../__test__/support/server-process.js'
import { type GuideServer, guideOf, inFolder, projects } from './projects.js'

const help = `npm run trials -- guides [options]

Makes a project for each guide in docs/guides/, with the blocks of the guide, and checks what it shows. Installs packages from
npm and PyPI into a temporary folder.

  --only LIST      guides: ${Object.keys(projects).join(', ')}   (default: all)
  --engine NAME    native or fallback                 (default: native, if it is built)

Examples
  npm run trials -- guides
  npm run trials -- guides --only django --engine fallback`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(projects).join(',') },
    engine: { type: 'string', default: nativeEngine.missing === null ? 'native' : 'fallback' },
    help: { type: 'boolean', default: false },
  },
})
const names = values.only.split(',')
const { engine } = values
if (values.help) {
  console.log(help)
  process.exit(0)
}
if (names.some((name) => !Object.hasOwn(projects, name)) || (engine !== 'native' && engine !== 'fallback')) {
  console.error(help)
  process.exit(2)
}

const START_MS_MAX = 60_000
const STOP_MS_MAX = 10_000

/** Runs `work` against a fresh server with the films of the samples. */
async function served(work: (server: GuideServer, folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'siftd-guides-'))
  try {
    const started = await ServerProcess.start({
      data: join(folder, 'data'),
      engine: engine === 'native' ? 'native' : 'fallback',
      startMsMax: START_MS_MAX,
    })
    if (started.kind !== 'listening') throw new Error(`the server did not start: ${started.errors}`)
    const { server } = started
    try {
      const films = await readFile(new URL('../../../samples/films.ndjson', import.meta.url), 'utf8')
      const documents = films
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object)
      await server.call('POST', '/indexes/films/documents?primaryKey=id&waitMs=60000', documents)
      const settings = { filterableAttributes: ['genres', 'year'], sortableAttributes: ['rating'] }
      await server.call('PATCH', '/indexes/films/settings?waitMs=60000', settings)
      const key = { actions: ['search'], indexes: ['films'], name: 'website', expiresAt: null }
      const { body } = await server.call('POST', '/keys', key)
      const { key: searchKey } = body as { readonly key: string }
      await work({ url: server.url, masterKey: MASTER_KEY, searchKey }, folder)
    } finally {
      await server.stop(STOP_MS_MAX)
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

let failures = 0
for (const name of names) {
  const { toolchain, follow } = projects[name]!
  const missing = toolchain.find((command) => spawnSync(command, { shell: true }).status !== 0)
  if (missing !== undefined) {
    console.log(`${name}: skipped, \`${missing}\` fails`)
    // In CI a missing toolchain is a failure, so that no change passes untested.
    if (isCi) failures += 1
    continue
  }
  try {
    const blocks = await guideOf(name)
    await served((server, folder) =>
      inFolder(join(folder, 'project'), (project) => follow(project, blocks, server)),
    )
    console.log(`${name}: followed`)
  } catch (error) {
    failures += 1
    console.log(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
process.exitCode = failures > 0 ? 1 : 0
