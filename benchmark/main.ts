/**
 * `npm run bench -- [--documents FILE] [--requests N] [--engines native,fallback] [--save]`
 *
 * Native next to fallback over the same films: each trial in a fresh process, the same requests, the same
 * hits checked. No answer is cached but in the row that says so.
 */
import { execFileSync, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readCorpus, requestsFrom } from './corpus.js'
import { type HttpTrialResult, httpTrial } from './http-trial.js'
import { madeFilms } from './made-films.js'
import { megabytes } from './measure.js'
import { type Figure, saveRun } from './results.js'
import type { TrialResult } from './trial.js'

const help = `npm run bench -- [options]

  --documents FILE   films as NDJSON, .gz allowed   (default: 36,000 films made by the benchmark)
  --requests N       requests per workload          (default 50)
  --engines LIST     native, fallback or both       (default native,fallback)
  --save             adds the figures to benchmark/runs and RESULTS.md

Examples
  npm run bench
  npm run bench -- --engines native --requests 200
  npm run bench -- --documents samples/films.ndjson`

const { values } = parseArgs({
  options: {
    documents: { type: 'string' },
    requests: { type: 'string', default: '50' },
    engines: { type: 'string', default: 'native,fallback' },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}

/** Films made when no file is named; as many as the real corpus of the project's references. */
const MADE_FILMS = 36_000

const scratch = await mkdtemp(join(tmpdir(), 'siftd-bench-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
const documents = values.documents ?? join(scratch, 'made-films.ndjson')
if (values.documents === undefined) await writeFile(documents, madeFilms(MADE_FILMS))

function inProcess(engine: string): Promise<TrialResult> {
  const script = fileURLToPath(new URL('./trial.js', import.meta.url))
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, engine, documents, values.requests], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code === 0) resolve(JSON.parse(Buffer.concat(chunks).toString()) as TrialResult)
      else reject(new Error(`the ${engine} trial ended with exit code ${code}`))
    })
  })
}

const corpus = await readCorpus(documents)
const requests = requestsFrom(corpus.films, Number(values.requests))
const engines = values.engines.split(',')
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD']).toString().trim()
console.log(`${corpus.name}: ${corpus.films.length} documents, ${megabytes(corpus.bytes.length)} of NDJSON`)
console.log(
  `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, commit ${commit}\n`,
)

const trials: TrialResult[] = []
const overHttp: HttpTrialResult[] = []
for (const engine of engines) {
  trials.push(await inProcess(engine))
  overHttp.push(await httpTrial(engine, corpus, requests))
}

const figures: Figure[] = []
const print = (label: string, cells: readonly string[]) =>
  console.log(`| ${label.padEnd(46)} | ${cells.map((cell) => cell.padEnd(28)).join(' | ')} |`)
const row = (label: string, cells: readonly string[]) => {
  print(label, cells)
  const measured = Object.fromEntries(engines.map((engine, at) => [engine, cells[at] ?? '']))
  figures.push({ table: `${corpus.name}, ${corpus.films.length} documents`, label, measured })
}
print('', engines)
print(
  '---',
  engines.map(() => '---'),
)
row(
  'index in process',
  trials.map(({ indexMs }) => `${(indexMs / 1000).toFixed(2)} s`),
)
row(
  'POST to searchable over HTTP',
  overHttp.map(({ toSearchableMs }) => `${(toSearchableMs / 1000).toFixed(2)} s`),
)
row(
  'disk',
  overHttp.map(({ diskBytes }) => megabytes(diskBytes)),
)
row(
  'peak anonymous / resident memory, indexing',
  overHttp.map((r) => `${megabytes(r.peakAnonymousBytes)} / ${megabytes(r.peakResidentBytes)}`),
)
row(
  'syncs per one-document task',
  overHttp.map(({ syncsPerCommit }) => (syncsPerCommit === null ? 'no strace' : String(syncsPerCommit))),
)
row(
  '50 one-document tasks, one after another',
  overHttp.map(({ fiftyTasksMs }) => `${(fiftyTasksMs / 1000).toFixed(2)} s`),
)
for (const workload of Object.keys(trials[0]?.searches ?? {})) {
  const cells = trials.map(({ searches }) => {
    const { p50, p99, max } = searches[workload]!
    return `p50 ${p50.toFixed(2)} p99 ${p99.toFixed(1)} max ${max.toFixed(1)} ms`
  })
  row(`in process: ${workload}`, cells)
}
const loads = [
  ['HTTP, 1 connection', 'oneConnection'],
  ['HTTP, 8 connections', 'eightConnections'],
  ['HTTP, 8 connections, cached answers', 'eightConnectionsKept'],
] as const
for (const [label, name] of loads) {
  row(
    label,
    overHttp.map(
      (r) =>
        `${r[name].perSecond.toFixed(0)} /s, p50 ${r[name].p50.toFixed(1)}, p99 ${r[name].p99.toFixed(1)} ms`,
    ),
  )
}

const [first, second] = trials
if (first && second) {
  const differing = first.answers.flatMap((answer, at) =>
    JSON.stringify(answer) === JSON.stringify(second.answers[at]) ? [] : [at],
  )
  console.log(`\nsame hits and totals: ${first.answers.length - differing.length} of ${first.answers.length}`)
  for (const at of differing.slice(0, 10)) console.log(`  differs: ${JSON.stringify(requests[at]?.body)}`)
  process.exitCode = differing.length > 0 ? 1 : 0
}
if (values.save) await saveRun('native and fallback', figures)
