import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CachedKind, IndexStats } from '../../engine/index.js'
import { type IndexEntry, taskStatuses, taskTypes } from '../../tasks/index.js'
import type { SearchQueue } from '../searches/index.js'
import type { Services } from '../services.js'

/** Upper bounds of the response time buckets. Source: the service's metrics page. */
const RESPONSE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** Figures of this server, in the text format of Prometheus. */
export interface Metrics {
  /** All figures. Gauges are read at the time of the call. */
  text(): Promise<string>
  readonly contentType: string
  /** Counts a search that was cut off by its time budget. */
  countDegraded(): void
}

type Measured = Services & { readonly searches: SearchQueue }

/** Starts to count answers, each only while the feature `metrics` is on, and reports the figures. */
export function openMetrics(app: FastifyInstance, services: Measured): Metrics {
  const registry = new Registry()
  countAnswers(app, services, registry)
  // The service reports what the operating system knows of the process, and no figures of Node.js.
  const runtime = new Registry()
  collectDefaultMetrics({ register: runtime })
  for (const metric of runtime.getMetricsAsArray()) {
    const { name } = metric as unknown as { readonly name: string }
    if (name.startsWith('process_')) registry.registerMetric(runtime.getSingleMetric(name)!)
  }
  const degraded = new Counter({
    name: 'meilisearch_degraded_search_requests',
    help: 'searches cut off by their time budget',
    registers: [registry],
  })
  const { faults } = services
  new Counter({
    name: 'meilisearch_background_faults_total',
    help: 'failures of work that no request waits for, such as removing an upload',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [kind, count] of faults.counts) this.inc({ kind }, count)
    },
  })
  const readCache = cacheMetrics(services, registry)
  return {
    contentType: registry.contentType,
    countDegraded: () => degraded.inc(),
    async text() {
      await readGauges(services, registry)
      await readCache()
      return registry.metrics()
    },
  }
}

function countAnswers(app: FastifyInstance, { features }: Measured, registry: Registry): void {
  const labels = ['method', 'path'] as const
  const requests = new Counter({
    name: 'meilisearch_http_requests_total',
    help: 'HTTP requests answered',
    labelNames: [...labels, 'status'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'meilisearch_http_response_time_seconds',
    help: 'time taken to answer HTTP requests',
    labelNames: labels,
    buckets: RESPONSE_SECONDS,
    registers: [registry],
  })
  app.addHook('onResponse', async (request, reply) => {
    const pattern = request.routeOptions.url
    if (!features.flags.metrics || pattern === undefined) return
    // The pattern of the route, not the path: the number of label values must not grow with the names clients send.
    const path = pattern.replace(/:(\w+)/g, (_, name: string) => `{${snakeCase(name)}}`)
    requests.inc({ method: request.method, path, status: String(reply.statusCode) })
    seconds.observe({ method: request.method, path }, reply.elapsedTime / 1000)
  })
}

/** What the engine has cached, and its answers. @returns reads the figures anew */
function cacheMetrics({ engine, answers }: Measured, registry: Registry): () => Promise<void> {
  const registers = [registry]
  const max = new Gauge({
    name: 'meilisearch_cache_max_bytes',
    help: 'bytes that the engine may cache for all indexes; answers have a bound of their own',
    registers,
  })
  const labelNames = ['kind']
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `meilisearch_cache_${name}`, help, labelNames, registers })
  const counter = (name: string, help: string) =>
    new Counter({ name: `meilisearch_cache_${name}`, help, labelNames, registers })
  const entries = gauge('entries', 'entries that are cached')
  const bytes = gauge('bytes', 'bytes of entries that are cached')
  const hits = counter('hits_total', 'entries that were asked for and found')
  const misses = counter('misses_total', 'entries that were asked for and not found')
  return async () => {
    const figures = await engine.cacheFigures()
    max.set(figures.bytesMax)
    hits.reset()
    misses.reset()
    for (const { kind, ...one } of [...figures.kinds, answers.figures()] satisfies CachedKind[]) {
      entries.set({ kind }, one.entries)
      bytes.set({ kind }, one.bytes)
      hits.inc({ kind }, one.hits)
      misses.inc({ kind }, one.misses)
    }
  }
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

async function readGauges(services: Measured, registry: Registry): Promise<void> {
  const { engine, tasks, searches, options } = services
  const indexes = tasks.indexes()
  const stats = (await Promise.all(indexes.map(statsOf))).filter((found) => found !== null)
  const bytes = stats.reduce((sum, [, one]) => sum + one.indexSize, await tasks.bytes())
  const updated = tasks.lastUpdate()
  const damaged = indexes.filter(({ id }) => engine.damage(id) !== null).length
  set('db_size_bytes', 'bytes on disk', bytes)
  set('used_db_size_bytes', 'bytes on disk in use', bytes)
  set('index_count', 'indexes', indexes.length)
  set('damaged_index_count', 'indexes that are known to be damaged', damaged)
  set(
    'last_update',
    'when an index last changed, in Unix seconds',
    updated === null ? 0 : Date.parse(updated) / 1000,
  )
  set(
    'is_indexing',
    'whether a task is being processed',
    indexes.some(({ uid }) => tasks.isIndexing(uid)) ? 1 : 0,
  )
  set('search_queue_size', 'searches that may wait', options.searchesWaitingMax)
  set('searches_running', 'searches running', searches.running)
  set('searches_waiting_to_be_processed', 'searches waiting', searches.waiting)
  set('task_queue_used_size', 'bytes of the task queue', await tasks.bytes())
  set('task_queue_latency_seconds', 'age of the oldest unfinished task', await oldestUnfinishedSeconds())
  const documents = fresh('index_docs_count', 'documents per index', ['index'])
  for (const [index, one] of stats) documents.set({ index }, one.numberOfDocuments)
  const counts = fresh('nb_tasks', 'tasks by kind', ['kind', 'value'])
  for (const status of taskStatuses) {
    counts.set({ kind: 'statuses', value: status }, await count({ statuses: [status] }))
  }
  for (const type of taskTypes) counts.set({ kind: 'types', value: type }, await count({ types: [type] }))
  for (const { uid } of indexes)
    counts.set({ kind: 'indexes', value: uid }, await count({ indexUids: [uid] }))

  /** null for an index that is damaged. */
  async function statsOf({ uid, id }: IndexEntry): Promise<readonly [string, IndexStats] | null> {
    try {
      return [uid, await engine.stats(id)]
    } catch (error) {
      if (engine.damage(id) !== null) return null
      throw error
    }
  }

  function set(name: string, help: string, value: number): void {
    fresh(name, help, []).set(value)
  }

  // A new gauge for each report, so that a deleted index leaves no series behind.
  function fresh(name: string, help: string, labelNames: readonly string[]): Gauge {
    const full = `meilisearch_${name}`
    registry.removeSingleMetric(full)
    return new Gauge({ name: full, help, labelNames: [...labelNames], registers: [registry] })
  }

  async function count(filter: Parameters<typeof tasks.list>[0]): Promise<number> {
    return (await tasks.list(filter, { limit: 0, from: null, reverse: false })).total
  }

  async function oldestUnfinishedSeconds(): Promise<number> {
    const unfinished = { statuses: ['enqueued', 'processing'] } as const
    const { results } = await tasks.list(unfinished, { limit: 1, from: null, reverse: true })
    const oldest = results[0]
    return oldest === undefined ? 0 : Math.max(0, (Date.now() - Date.parse(oldest.enqueuedAt)) / 1000)
  }
}
