/**
 * Loads real data into an engine, runs recorded searches, and compares the answers by kind.
 *
 *   node dist/benchmark/golden-check.js --data DIR [--only KIND] [--verbose] [--details] GOLDEN.json.gz
 *
 * The data is not part of the project. A golden file contains `{indexes, queries}`; see `Golden`.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { completeRequest } from '../__test__/support/engine.js'
import type { PayloadFormat } from '../ts/engine/batches.js'
import { encodeRequest } from '../ts/engine/encoding.js'
import { openFallback } from '../ts/engine/fallback/index.js'
import { defaultIndexSettings, type IndexSettings } from '../ts/settings/index.js'

interface Hit {
  readonly [name: string]: unknown
}

interface Answer {
  readonly hits: readonly Hit[]
  readonly estimatedTotalHits?: number
  readonly totalHits?: number
  readonly facetDistribution?: unknown
  readonly facetStats?: unknown
}

interface Golden {
  readonly indexes: Record<
    string,
    { readonly dataset: string; readonly primaryKey: string; readonly settings: Partial<IndexSettings> }
  >
  readonly queries: readonly {
    readonly id: number
    readonly kind: string
    readonly index: string
    readonly request: Record<string, unknown>
    readonly expect: Answer
  }[]
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string' },
    only: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    details: { type: 'boolean', default: false },
  },
})
const file = positionals[0]
if (file === undefined || options.data === undefined) throw new Error('usage: --data DIR GOLDEN.json.gz')

const golden = JSON.parse(gunzipSync(await readFile(file)).toString()) as Golden
const datasets: Record<string, readonly [name: string, format: PayloadFormat]> = {
  movies: ['movies.ndjson.gz', 'ndjson'],
  'world-cities': ['world-cities.json.gz', 'json'],
}

/** Completes settings as the server does, with defaults one level deep. */
function complete(settings: Partial<IndexSettings>): IndexSettings {
  const { typoTolerance, faceting } = settings
  return {
    ...defaultIndexSettings,
    ...settings,
    typoTolerance: {
      ...defaultIndexSettings.typoTolerance,
      ...typoTolerance,
      minWordSizeForTypos: {
        ...defaultIndexSettings.typoTolerance.minWordSizeForTypos,
        ...typoTolerance?.minWordSizeForTypos,
      },
    },
    faceting: {
      ...defaultIndexSettings.faceting,
      ...faceting,
      sortFacetValuesBy: {
        ...defaultIndexSettings.faceting.sortFacetValuesBy,
        ...faceting?.sortFacetValuesBy,
      },
    },
  }
}

const near = (a: unknown, b: unknown): boolean => {
  if (typeof a === 'number' && typeof b === 'number')
    return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a))
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b
  const [left, right] = [a as Hit, b as Hit]
  const names = Object.keys(left)
  return names.length === Object.keys(right).length && names.every((name) => near(left[name], right[name]))
}
const total = (answer: Answer): unknown => answer.estimatedTotalHits ?? answer.totalHits
const column = (answer: Answer, ...names: string[]): unknown[] =>
  answer.hits.map((hit) => names.map((name) => hit[name]))
const checks: Record<string, (expect: Answer, got: Answer, id: string) => boolean> = {
  top10: (e, a, id) => near(column(e, id).slice(0, 10), column(a, id).slice(0, 10)),
  page: (e, a, id) => near(column(e, id), column(a, id)),
  total: (e, a) => total(e) === total(a),
  scores: (e, a) => near(column(e, '_rankingScore'), column(a, '_rankingScore')),
  details: (e, a) => near(column(e, '_rankingScoreDetails'), column(a, '_rankingScoreDetails')),
  facets: (e, a) => near([e.facetDistribution, e.facetStats], [a.facetDistribution, a.facetStats]),
  formatted: (e, a) =>
    near(
      column(e, '_formatted', '_matchesPosition', '_geoDistance'),
      column(a, '_formatted', '_matchesPosition', '_geoDistance'),
    ),
}
const names = Object.keys(checks)

const directory = await mkdtemp(join(tmpdir(), 'golden-check-'))
const engine = await openFallback({
  directory: join(directory, 'indexes'),
  log: {
    warn: (fields, message) => console.warn(message, fields),
    error: (fields, message) => console.error(message, fields),
  },
})
let batch = 0
for (const [uid, { dataset, primaryKey, settings }] of Object.entries(golden.indexes)) {
  const [name, format] = datasets[dataset]!
  const path = join(directory, name)
  await writeFile(path, gunzipSync(await readFile(join(options.data, name))))
  const started = performance.now()
  const prepared = await engine.prepare(uid, {
    uid: ++batch,
    indexUid: uid,
    operations: [
      { taskUid: batch * 2, kind: 'settings', settings: JSON.stringify(complete(settings)) },
      {
        taskUid: batch * 2 + 1,
        kind: 'documents',
        method: 'replace',
        payload: { path, format },
        primaryKey,
        skipCreation: false,
      },
    ],
  })
  const report = await engine.commit(prepared, [])
  const memory = Math.round(process.memoryUsage().rss / 1e6)
  const errors = report.outcomes.flatMap(({ error }) => error ?? [])
  console.log(
    `${uid}: ${report.documents} documents in ${((performance.now() - started) / 1000).toFixed(1)} s, ` +
      `rss ${memory} MB ${errors.length === 0 ? '' : JSON.stringify(errors)}`,
  )
}

type Tally = Record<string, number>
const tallies = new Map<string, Tally>()
const add = (kind: string, passed: Tally): void => {
  const tally = tallies.get(kind) ?? Object.fromEntries(['asked', ...names, 'whole'].map((name) => [name, 0]))
  tally.asked!++
  for (const name of names) tally[name]! += passed[name]!
  tally.whole! += names.every((name) => passed[name] === 1) ? 1 : 0
  tallies.set(kind, tally)
}
const times: number[] = []
const slow: [number, string][] = []
for (const { id, kind, index, request, expect } of golden.queries) {
  if (options.only !== undefined && !options.only.split(',').includes(kind)) continue
  const started = performance.now()
  let got: Answer
  try {
    const { body } = await engine.search(
      index,
      encodeRequest(completeRequest({ ...request, indexUid: index })),
    )
    got = JSON.parse(Buffer.from(body).toString()) as Answer
  } catch (error) {
    console.log(`#${id} ${kind} ${JSON.stringify(request)}: ${(error as Error).stack}`)
    got = { hits: [] }
  }
  const time = performance.now() - started
  times.push(time)
  slow.push([time, `${index} ${JSON.stringify(request).slice(0, 120)}`])
  const key = golden.indexes[index]!.primaryKey
  const passed = Object.fromEntries(names.map((name) => [name, checks[name]!(expect, got, key) ? 1 : 0]))
  add(kind, passed)
  add('ALL', passed)
  const failing = names.filter((name) => passed[name] === 0)
  if (failing.length > 0 && options.verbose) {
    const ids = (answer: Answer): string => answer.hits.map((hit) => hit[key]).join(' ')
    console.log(`#${id} ${kind} ${index} ${JSON.stringify(request)} ${failing.join(',')}`)
    console.log(`  want ${total(expect)}: ${ids(expect)}\n  got  ${total(got)}: ${ids(got)}`)
    const at = expect.hits.findIndex((hit, nth) => !near(hit, got.hits[nth]))
    if (options.details)
      console.log(`  want ${JSON.stringify(expect.hits[at])}\n  got  ${JSON.stringify(got.hits[at])}`)
    if (options.details && failing.includes('facets'))
      console.log(
        `  want ${JSON.stringify(expect.facetDistribution)}\n  got  ${JSON.stringify(got.facetDistribution)}`,
      )
  }
}
console.log(['kind'.padEnd(20), 'asked', ...names, 'whole'].join('\t'))
for (const [kind, tally] of tallies)
  console.log([kind.padEnd(20), tally.asked, ...names.map((name) => tally[name]), tally.whole].join('\t'))
times.sort((a, b) => a - b)
slow.sort(([a], [b]) => b - a)
const at = (part: number): string => (times[Math.floor(times.length * part)] ?? 0).toFixed(2)
console.log(`in process: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms`)
for (const [time, text] of slow.slice(0, 8)) console.log(`  ${time.toFixed(1)} ms ${text}`)
console.log(`rss ${Math.round(process.memoryUsage().rss / 1e6)} MB`)
await engine.close()
await rm(directory, { recursive: true })
