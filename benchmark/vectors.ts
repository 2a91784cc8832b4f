/**
 * npm run bench:meaning -- [native|fallback] [vectors]: measures vector searches over HTTP.
 *
 * Sends clustered vectors of 384 components, always the same, as five files. Measures the time from the first POST
 * until all are searchable, compares the first ten hits with an exact scan under increasingly selective filters, and
 * then searches over one connection without cached answers.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { client, pace, startDaemon, untilFinished } from './daemon.js'
import { bytesOnDisk, megabytes, processorSeconds, untilIdle, watchMemory } from './measure.js'

const DIMENSIONS = 384
const LATENT = 48
const CLUSTERS = 500
const FILES = 5
const QUERIES = 50
/** Number of different searches to time, repeated as needed. */
const SEARCHES = 2000
const FIRST = 10
const SECONDS = 8
/**
 * Warm-up before the measurement, so that V8 has compiled client and server. The processor time of a search falls until
 * about 4,000 were answered: after 3 seconds the first share looks slower than the others.
 */
const WARM_UP_SECONDS = 10

const [engine = 'native', count = '50000'] = process.argv.slice(2)
const total = Number(count)

/** Returns a generator of numbers from 0 to 1, the same for the same seed. Source: mulberry32. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const random = generator(1)
/** Approximately normally distributed around 0. */
const noise = () => random() + random() + random() + random() - 2
const list = <T>(length: number, make: () => T) => Array.from({ length }, make)
const centers = list(CLUSTERS, () => list(LATENT, noise))
const directions = list(LATENT, () => list(DIMENSIONS, noise))

function row(): Float32Array {
  const center = centers[Math.floor(random() * CLUSTERS)] ?? []
  const made = new Float32Array(DIMENSIONS)
  for (const [at, direction] of directions.entries()) {
    const weight = (center[at] ?? 0) + 0.5 * noise()
    for (let i = 0; i < DIMENSIONS; i++) made[i] = (made[i] ?? 0) + weight * (direction[i] ?? 0)
  }
  const length = Math.hypot(...made)
  return made.map((component) => Number((component / length).toFixed(6)))
}

const rows = list(total, row)
const queries = list(QUERIES, row)
const timed = list(SEARCHES, row)
/** A random number below 100 per document. A filter `share < n` keeps n percent. */
const shares = rows.map(() => Math.floor(random() * 100))

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < DIMENSIONS; i++) sum += (a[i] ?? 0) * (b[i] ?? 0)
  return sum
}

const lengthOf = (a: Float32Array) => Math.sqrt(product(a, a))
const lengths = rows.map(lengthOf)

/** Exact similarity of each query to each row, to judge the hits. */
const similarity = queries.map((query) => {
  const length = lengthOf(query)
  return Float64Array.from(rows, (one, at) => product(query, one) / (length * (lengths[at] ?? 1)))
})

/** Returns the exact similarity of the tenth hit per query, among rows with a share below `below`. */
function truth(below: number): number[] {
  return similarity.map((known) => {
    const kept = known.filter((_, at) => (shares[at] ?? 0) < below).sort()
    return kept.at(-FIRST) ?? -1
  })
}

const directory = await mkdtemp(join(tmpdir(), 'siftd-meaning-'))
const files = list(FILES, () => '')
for (const [at, vector] of rows.entries()) {
  const file = Math.floor((at * FILES) / total)
  files[file] += `{"id":${at},"share":${shares[at]},"_vectors":{"v":[${vector.join(',')}]}}\n`
}
const { port, child, pid } = await startDaemon(engine, directory, [
  '--http-payload-size-limit',
  '1Gb',
  '--answer-cache-size',
  '0',
])
try {
  const call = client(port, 1)
  const settings = {
    embedders: { v: { source: 'userProvided', dimensions: DIMENSIONS } },
    filterableAttributes: ['share'],
  }
  await untilFinished(call, await call('PATCH', '/indexes/rows/settings', JSON.stringify(settings)))
  const stopWatching = watchMemory(pid)
  const posted = performance.now()
  const replies = []
  for (const file of files)
    replies.push(await call('POST', '/indexes/rows/documents', file, 'application/x-ndjson'))
  for (const reply of replies) await untilFinished(call, reply)
  const searchableMs = performance.now() - posted
  await untilIdle(pid)
  const settledMs = performance.now() - posted
  const memory = await stopWatching()
  console.log(`${engine}, ${total} x ${DIMENSIONS}, ${FILES} files: to searchable (aim for 50,000: 20 s)`)
  console.log(`  searchable ${(searchableMs / 1000).toFixed(1)} s, quiet ${(settledMs / 1000).toFixed(1)} s`)
  console.log(`  disk ${megabytes(await bytesOnDisk(directory))} (aim 130 MB)`)
  console.log(
    `  peak resident ${megabytes(memory.resident)} (aim 400 MB), anonymous ${megabytes(memory.anonymous)}`,
  )
  const aims = [
    [100, 1200],
    [50, 900],
    [10, 900],
    [1, 1200],
  ] as const
  let isWarm = false
  for (const [below, aim] of aims) {
    const bodyOf = (query: Float32Array) =>
      JSON.stringify({
        vector: Array.from(query, (component) => Number(component.toFixed(6))),
        hybrid: { embedder: 'v', semanticRatio: 1 },
        limit: FIRST,
        attributesToRetrieve: ['id'],
        ...(below < 100 ? { filter: `share < ${below}` } : {}),
      })
    const texts = queries.map(bodyOf)
    let found = 0
    for (const [at, least] of truth(below).entries()) {
      const { hits } = JSON.parse((await call('POST', '/indexes/rows/search', texts[at])).text) as {
        hits: { id: number }[]
      }
      found += hits.filter(({ id }) => (similarity[at]?.[id] ?? -1) >= least - 1e-6).length
    }
    const load = { port, index: 'rows', bodies: timed.map(bodyOf), connections: 1 }
    if (!isWarm) await pace({ ...load, seconds: WARM_UP_SECONDS })
    isWarm = true
    const usedBefore = await processorSeconds(pid)
    const { perSecond, searches, p50, p99 } = await pace({ ...load, seconds: SECONDS })
    const cpuMs = ((await processorSeconds(pid)) - usedBefore) * (1000 / searches)
    console.log(
      `  ${String(below).padStart(3)} % kept: ${perSecond.toFixed(0)}/s (aim ${aim}), p50 ${p50} ms, ` +
        `p99 ${p99} ms, processor ${cpuMs.toFixed(2)} ms each, recall ${(found / QUERIES / FIRST).toFixed(4)}`,
    )
  }
} finally {
  child.kill('SIGKILL')
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}
