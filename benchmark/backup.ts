/**
 * npm run bench:backup -- [--shared DIRECTORY] [--engine NAME] [--save]
 *
 * Times a snapshot, a dump, and starts from both, with a million documents. Checks that the restored instances answer a
 * search with the same hits.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { client, startDaemon, untilFinished } from './daemon.js'
import { megabytes } from './measure.js'
import { million } from './million.js'
import { type Figure, saveRun } from './results.js'

const { values } = parseArgs({
  options: {
    shared: { type: 'string', default: '../shared' },
    engine: { type: 'string', default: 'native' },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run bench:backup -- [options]

  --shared DIRECTORY   where data/ is             (default ../shared)
  --engine NAME        native or fallback         (default native)
  --save               adds the figures to benchmark/runs and RESULTS.md

Examples
  npm run bench:backup -- --engine fallback`)
  process.exit(0)
}

const figures: Figure[] = []
const row = (label: string, measured: string, aim = ''): void => {
  console.log(`| ${label} | ${measured} | ${aim} |`)
  figures.push({
    table: 'a million documents',
    label,
    measured: { [values.engine]: measured },
    beside: { aim },
  })
}
const since = (began: number): string => `${((performance.now() - began) / 1000).toFixed(1)} s`
const search = '{"q":"young woman falls","limit":100,"attributesToRetrieve":["id"]}'

const directory = await mkdtemp(join(tmpdir(), 'siftd-backup-'))
try {
  const [snapshots, dumps] = [join(directory, 'snapshots'), join(directory, 'dumps')]
  const folders = ['--snapshot-dir', snapshots, '--dump-dir', dumps]
  const first = await startDaemon(values.engine, join(directory, 'data'), folders)
  const call = client(first.port, 1)
  for (const part of await million(join(values.shared, 'data')))
    await untilFinished(call, await call('POST', '/indexes/m/documents', part, 'application/x-ndjson'))
  const expected = await hitsOf(call)
  for (const [route, what, folder, aim] of [
    ['/snapshots', 'snapshot', snapshots, '5 s'],
    ['/dumps', 'dump', dumps, ''],
  ] as const) {
    const began = performance.now()
    await untilFinished(call, await call('POST', route))
    const taken = since(began)
    const archive = join(folder, (await readdir(folder))[0] ?? '')
    row(what, `${taken}, ${megabytes((await stat(archive)).size)}`, aim)
    const restored = performance.now()
    const other = await startDaemon(values.engine, join(directory, what), [`--import-${what}`, archive])
    row(`start from the ${what}`, since(restored), aim)
    const hits = await hitsOf(client(other.port, 1))
    if (hits !== expected) throw new Error(`the instance from the ${what} has other hits: ${hits}`)
    other.child.kill('SIGKILL')
  }
  first.child.kill('SIGKILL')
  if (values.save) await saveRun('backup', figures)
} finally {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

async function hitsOf(call: ReturnType<typeof client>): Promise<string> {
  const { text } = await call('POST', '/indexes/m/search', search)
  return JSON.stringify((JSON.parse(text) as { hits: unknown }).hits)
}
