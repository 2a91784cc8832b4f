import type { FastifyInstance } from 'fastify'
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { LoopFigures } from '../loop-figures.js'
import { reportBatches } from './batch-figures.js'
import { type ChatFigures, chatFigures } from './chat-figures.js'
import { reportInstance, reportReplication, reportTasks, reportWaiting } from './instance-figures.js'
import { processFigures } from './process-figures.js'
import { type Measured, Report } from './report.js'
import { reportReranking } from './rerank-figures.js'
import { reportTraces } from './trace-figures.js'

/** Upper bounds of the response time buckets. Source: the service's metrics page. */
const RESPONSE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** Metrics of this server, in the text format of Prometheus. docs/metrics.md lists them. */
export interface Metrics {
  /** All metrics. Gauges are read at the time of the call. */
  text(): Promise<string>
  readonly contentType: string
  /** Counts a search that was cut off by its time budget. */
  countDegraded(): void
  readonly chats: ChatFigures
}

/** Starts to count answers and returns the metrics. An answer is counted only while the feature `metrics` is on. */
export function openMetrics(app: FastifyInstance, services: Measured): Metrics {
  const { registry: counted, countDegraded } = openCounts(app, services)
  let ofProcess: Registry | null = null
  return {
    contentType: counted.contentType,
    countDegraded,
    chats: chatFigures(counted),
    async text() {
      const loops = (await services.loops?.figures()) ?? []
      // Created at the first request: watching the event loop takes a timer that a server without metrics need not run.
      ofProcess ??= processFigures()
      const report = new Report()
      await reportInstance(services, loops, report)
      await reportReplication(services, report)
      await reportTasks(services, report)
      await reportWaiting(services, report)
      await reportBatches(services, report)
      await reportCaches(services, loops, report)
      reportFaults(services, report)
      reportReranking(services, report)
      reportTraces(services, report)
      const parts = await Promise.all([added(counted, loops), report.text(), ofProcess.metrics()])
      return parts.join('')
    },
  }
}

/** Counts of answers in this thread. */
interface Counts {
  readonly registry: Registry
  countDegraded(): void
}

/** Starts to count answers. An answer is counted only while the feature `metrics` is on. */
export function openCounts(app: FastifyInstance, features: Pick<Measured, 'features'>): Counts {
  const registry = new Registry()
  countAnswers(app, features, registry)
  const degraded = new Gauge({
    name: 'meilisearch_degraded_search_requests',
    help: 'searches cut off by their time budget',
    registers: [registry],
  })
  return { registry, countDegraded: () => degraded.inc() }
}

/** Returns the counts of all threads in the text format. */
async function added(own: Registry, loops: readonly LoopFigures[]): Promise<string> {
  if (loops.length === 0) return own.metrics()
  const all = [await own.getMetricsAsJSON(), ...loops.map(({ metrics }) => metrics)]
  return AggregatorRegistry.aggregate(all).metrics()
}

function countAnswers(
  app: FastifyInstance,
  { features }: Pick<Measured, 'features'>,
  registry: Registry,
): void {
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
  app.addHook('onResponse', (request, reply, done) => {
    done()
    if (request.isHandedOver || !features.flags.metrics) return
    const pattern = request.routeOptions.url
    if (pattern === undefined) return
    // The pattern of the route, not the path: the number of label values must not grow with the names that clients
    // send.
    const path = pattern.replace(/:(\w+)/g, (_, name: string) => `{${snakeCase(name)}}`)
    requests.inc({ method: request.method, path, status: String(reply.statusCode) })
    seconds.observe({ method: request.method, path }, reply.elapsedTime / 1000)
  })
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Reports the caches of the engine and the cached answers of searches. */
async function reportCaches(
  { engine, answers }: Measured,
  loops: readonly LoopFigures[],
  report: Report,
): Promise<void> {
  const { bytesMax, kinds } = await engine.cacheFigures()
  report.gauge(
    'siftd_cache_max_bytes',
    'bytes that the engine may cache for all indexes; answers have a bound of their own',
    bytesMax,
  )
  const entries = report.gauges('siftd_cache_entries', 'entries that are cached', ['kind'])
  const bytes = report.gauges('siftd_cache_bytes', 'bytes of entries that are cached', ['kind'])
  const hits = report.counters('siftd_cache_hits_total', 'lookups that found an entry', ['kind'])
  const misses = report.counters('siftd_cache_misses_total', 'lookups that found no entry', ['kind'])
  for (const { kind, ...one } of [...kinds, answers.figures(), ...loops.map((loop) => loop.answers)]) {
    entries.inc({ kind }, one.entries)
    bytes.inc({ kind }, one.bytes)
    hits.inc({ kind }, one.hits)
    misses.inc({ kind }, one.misses)
  }
}

function reportFaults({ faults }: Measured, report: Report): void {
  const counter = report.counters(
    'siftd_background_faults_total',
    'failures of work that no request waits for, such as removing an upload',
    ['kind'],
  )
  for (const [kind, count] of faults.counts) counter.inc({ kind }, count)
}
