/**
 * `npm run bench -- [--documents FILE] [--requests N] [--engines native,fallback] [--save] [--report FILE.html]`
 *
 * Compares native and fallback on the same films: each trial in a fresh process, with the same requests, and checks
 * the hits for equality. No answer is cached, except in the row that says so.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readCorpus, requestsFrom } from './corpus.js'
import { growth } from './growth.js'
import { type HttpTrialResult, httpTrial } from './http-trial.js'
import { compareLibraries } from './libraries.js'
import { madeFilms } from './made-films.js'
import { megabytes, percentiles, watchBusy } from './measure.js'
import { trialProcess } from './process.js'
import type { EngineFigures, LibraryFigures } from './report/figures.js'
import { reportPage } from './report/page.js'
import { referenceTables } from './report/reference.js'
import { type Figure, saveRun } from './results.js'
import type { TrialResult } from './trial.js'

const help = `npm run bench -- [options]

  --documents FILE   films as NDJSON, .gz allowed   (default: 36,000 generated films)
  --requests N       requests per workload          (default 50)
  --engines LIST     native, fallback or both       (default native,fallback)
  --save             adds the figures to benchmark/runs and RESULTS.md
  --report FILE      writes an HTML page with plots, growth by documents and the reference's figures
  --compare-in-process
                     compares searches for correct and misspelt titles with MiniSearch and Orama in-process

Examples
  npm run bench
  npm run bench -- --engines native --requests 200
  npm run bench -- --report report.html --compare-in-process
  npm run bench -- --documents samples/films.ndjson`

const { values } = parseArgs({
  options: {
    documents: { type: 'string' },
    requests: { type: 'string', default: '50' },
    engines: { type: 'string', default: 'native,fallback' },
    save: { type: 'boolean', default: false },
    report: { type: 'string' },
    'compare-in-process': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}

/** Number of generated films, about as many as in the real corpus of the reference figures. */
const MADE_FILMS = 36_000

const scratch = await mkdtemp(join(tmpdir(), 'siftd-bench-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
const documents = values.documents ?? join(scratch, 'made-films.ndjson')
if (values.documents === undefined) await writeFile(documents, madeFilms(MADE_FILMS))

const busy = watchBusy()
const corpus = await readCorpus(documents)
const requests = requestsFrom(corpus.films, Number(values.requests))
const isEngine = (name: string): name is EngineFigures['engine'] => name === 'native' || name === 'fallback'
const engines = values.engines.split(',').filter(isEngine)
if (engines.length !== values.engines.split(',').length) throw new Error(`--engines ${values.engines}`)
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD']).toString().trim()
console.log(`${corpus.name}: ${corpus.films.length} documents, ${megabytes(corpus.bytes.length)} of NDJSON`)
console.log(
  `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, commit ${commit}\n`,
)

const trials: TrialResult[] = []
const overHttp: HttpTrialResult[] = []
for (const engine of engines) {
  trials.push(await trialProcess<TrialResult>('trial', [engine, documents, values.requests]))
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
  ['1 connection', 'oneConnection'],
  ['8 connections', 'eightConnections'],
  ['8 connections, cached answers', 'eightConnectionsKept'],
] as const
for (const [label, name] of loads) {
  row(
    `HTTP, ${label}`,
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

const libraries: readonly LibraryFigures[] = values['compare-in-process']
  ? await compareLibraries(engines, documents, Number(values.requests))
  : []
for (const { title, indexMs, peakResidentBytes, searches } of libraries) {
  const memory = `at most ${megabytes(peakResidentBytes)} resident`
  console.log(`\n${title}: indexed in ${(indexMs / 1000).toFixed(2)} s, ${memory}`)
  for (const [spelling, { times, found }] of Object.entries(searches)) {
    const { p50, p99 } = percentiles(times)
    const shown = `p50 ${p50.toFixed(2)} p99 ${p99.toFixed(1)} ms`
    console.log(`  titles, ${spelling}: ${shown}, ${found} of ${times.length} in the first ten`)
  }
}

if (values.report !== undefined) {
  const figuresOf = async (engine: EngineFigures['engine'], at: number): Promise<EngineFigures> => {
    const [trial, http] = [trials[at]!, overHttp[at]!]
    const { toSearchableMs, diskBytes, diskParts, peakResidentBytes } = http
    return {
      engine,
      indexMs: trial.indexMs,
      toSearchableMs,
      diskBytes,
      diskParts,
      peakResidentBytes,
      searches: trial.times,
      loads: loads.map(([label, name]) => ({ label, ...http[name] })),
      growth: await growth(engine, corpus, scratch),
    }
  }
  const measured: EngineFigures[] = []
  for (const [at, engine] of engines.entries()) measured.push(await figuresOf(engine, at))
  const page = reportPage({
    date: new Date().toISOString(),
    commit,
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`,
    corpus: { name: corpus.name, documents: corpus.films.length, bytes: corpus.bytes.length },
    busy: busy(),
    engines: measured,
    libraries,
    reference: await referenceTables('benchmark/runs'),
  })
  await writeFile(values.report, page)
  console.log(`\nreport: ${values.report}`)
}
