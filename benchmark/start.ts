/**
 * npm run bench:start -- [--shared DIRECTORY] [--engine NAME] [--starts N] [--clone] [--save]
 *
 * Times the start from the command until the server listens, with the films and with a thousand small indexes. Also
 * reports processor time, which depends less on other programs.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { open } from '../ts/index.js'
import { readCorpus } from './corpus.js'
import { processorSeconds } from './measure.js'
import { type Figure, saveRun } from './results.js'

const { values } = parseArgs({
  options: {
    shared: { type: 'string', default: '../shared' },
    engine: { type: 'string', default: 'native' },
    starts: { type: 'string', default: '9' },
    clone: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run bench:start -- [options]

  --shared DIRECTORY   where data/ is               (default ../shared)
  --engine NAME        native or fallback           (default native)
  --starts N           starts of each kind          (default 9)
  --clone              npm start too, which builds the engine first if its sources changed
  --save               adds the figures to benchmark/runs and RESULTS.md`)
  process.exit(0)
}
const engine = values.engine === 'fallback' ? 'fallback' : 'native'

const bundled = fileURLToPath(new URL('../bundle/siftd.js', import.meta.url))
const clone = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))

/** Milliseconds after which a server has saved its compiled code. */
const SAVED_MS = 5_000

/**
 * Starts a server and stops it `stayMs` after it listens.
 * @returns seconds until it listened, and seconds of processor time
 */
async function start(main: string, directory: string, stayMs = 0): Promise<readonly [number, number]> {
  const began = performance.now()
  const address = ['--http-addr', '127.0.0.1:0', '--db-path', directory, '--engine', engine]
  const child = spawn(process.execPath, [main, ...address, '--no-analytics', '--log-level', 'error'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  let text = ''
  for await (const chunk of child.stderr) {
    text += chunk
    if (text.includes('Server listening on:')) break
  }
  const seconds = (performance.now() - began) / 1000
  if (child.exitCode !== null) throw new Error(text)
  const processor = await processorSeconds(child.pid ?? 0)
  await sleep(stayMs)
  child.kill('SIGTERM')
  await ended
  return [seconds, processor]
}

const figures: Figure[] = []
const column = `${engine}, Node.js ${process.versions.node.split('.')[0]}`
const busy = loadavg()[0] ?? 0

async function row(label: string, main: string, directory: string, aim: string): Promise<void> {
  // The first start fills the cache of files and that of compiled code.
  await start(main, directory, SAVED_MS)
  const all: (readonly [number, number])[] = []
  for (let i = 0; i < Number(values.starts); i++) all.push(await start(main, directory))
  const middle = (times: readonly number[]): string =>
    (times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN).toFixed(2)
  const [ready, processor] = [middle(all.map(([time]) => time)), middle(all.map(([, time]) => time))]
  const measured = `${ready} s, processor ${processor} s, load ${busy.toFixed(0)}`
  console.log(`| ${label} | ${measured} | ${aim} |`)
  figures.push({ table: 'command to listening', label, measured: { [column]: measured }, beside: { aim } })
}

const directory = await mkdtemp(join(tmpdir(), 'siftd-start-'))
try {
  const [films, thousand] = [join(directory, 'films'), join(directory, 'thousand')]
  const corpus = await readCorpus(join(values.shared, 'data', 'movies.ndjson.gz'))
  await fill(films, ['films'], corpus.bytes)
  const few = corpus.films.slice(0, 20).map((film) => JSON.stringify(film))
  const names = Array.from({ length: 1000 }, (_, i) => `films-${i}`)
  await fill(thousand, names, Buffer.from(few.join('\n')))
  await row('a package, the films', bundled, films, '0.3 s')
  await row('a package, a thousand indexes', bundled, thousand, '0.5 s')
  if (values.clone) await row('a clone (npm start), the films', clone, films, '')
  if (values.save) await saveRun('start', figures)
} finally {
  await rm(directory, { recursive: true, force: true })
}

async function fill(at: string, indexes: readonly string[], documents: Buffer): Promise<void> {
  const siftd = await open({ directory: at, engine, logLevel: 'OFF' })
  const lines = documents
    .toString()
    .split('\n')
    .filter((line) => line !== '')
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const sent = await Promise.all(
    indexes.map((name) => siftd.index(name).addDocuments(parsed, { primaryKey: 'id' })),
  )
  for (const { taskUid } of sent) await siftd.waitForTask(taskUid, { timeoutMs: 600_000 })
  await siftd.close()
}
