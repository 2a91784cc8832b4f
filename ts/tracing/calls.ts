/** Spans of calls to other services and of the engine. */
import type { Embedders } from '../embedding/index.js'
import { type Answer, type Engine, withStages } from '../engine/index.js'
import type { Outbound, OutboundAnswer, OutboundRequest } from '../outbound/index.js'
import { readMilliseconds } from '../parse/index.js'
import type { Rerankers } from '../reranking/index.js'
import type { Span } from './span.js'
import type { Tracer } from './tracer.js'

/** The purpose of calls, which is the name of their spans. */
export type CallPurpose = 'embedding' | 'reranking' | 'webhook' | 'remote' | 'bucket'

/**
 * Returns calls with a span each. They pass `traceparent` on, except to a bucket.
 */
export function tracedOutbound(outbound: Outbound, tracer: Tracer, purpose: CallPurpose): Outbound {
  return {
    ...outbound,
    call: (request) =>
      tracer.run({ name: `${purpose} ${request.method}`, kind: 'client' }, async (span) => {
        const traceparent = purpose === 'bucket' ? null : tracer.traceparent()
        const answer = await outbound.call(
          traceparent === null ? request : { ...request, headers: { ...request.headers, traceparent } },
        )
        if (span !== null) describeCall(span, request, answer)
        return answer
      }),
  }
}

function describeCall(span: Span, { method, url }: OutboundRequest, { status }: OutboundAnswer): void {
  span.set('http.request.method', method)
  // The rest of the URL may have secrets.
  if (URL.canParse(url)) span.set('server.address', new URL(url).host)
  span.set('http.response.status_code', status)
  if (status >= 400) span.failure = `status ${status}`
}

/** Returns embedders with a span for the vector of each search, which a local model may make. */
export const tracedEmbedders = (embedders: Embedders, tracer: Tracer): Embedders => ({
  ...embedders,
  search: (fields, search, options) =>
    tracer.run({ name: 'embed query', attributes: { 'siftd.embedder.source': String(fields.source) } }, () =>
      embedders.search(fields, search, options),
    ),
})

/** Returns rerankers with a span for each ranking, by a service or by a model here. */
export const tracedRerankers = (rerankers: Rerankers, tracer: Tracer): Rerankers => ({
  ...rerankers,
  // A copy would keep the figures of this moment.
  get figures() {
    return rerankers.figures
  },
  rank: (fields, ranked) =>
    tracer.run({ name: 'rerank', attributes: { 'siftd.reranker.source': fields.source } }, () =>
      rerankers.rank(fields, ranked),
    ),
})

/** Returns an engine with a span for each search and for the steps of batches. */
export function tracedEngine(engine: Engine, tracer: Tracer): Engine {
  const named = { attributes: { 'siftd.engine': engine.kind } }
  return {
    ...engine,
    search: (index, request, ...rest) =>
      timed('engine search', request, (asked) => engine.search(index, asked, ...rest)),
    multiSearch: (requests, federation, stop) =>
      federation === null
        ? tracer.run({ ...named, name: 'engine multi-search' }, async (span) => {
            span?.set('siftd.queries', requests.length)
            return engine.multiSearch(requests, federation, stop)
          })
        : timed('engine federated search', federation, (asked) => engine.multiSearch(requests, asked, stop)),
    facetSearch: (index, request, ...rest) =>
      tracer.run({ ...named, name: 'engine facet search' }, () =>
        engine.facetSearch(index, request, ...rest),
      ),
    similar: (index, request, ...rest) =>
      timed('engine similar', request, (asked) => engine.similar(index, asked, ...rest)),
    prepare: (...given) => tracer.run({ ...named, name: 'engine prepare' }, () => engine.prepare(...given)),
    commit: (...given) => tracer.run({ ...named, name: 'engine commit' }, () => engine.commit(...given)),
  }

  /** Asks for the times of the stages, which become spans. Takes them out of the answer if the client did not ask. */
  function timed(
    name: string,
    request: Uint8Array,
    search: (request: Uint8Array) => Promise<Answer>,
  ): Promise<Answer> {
    return tracer.run({ ...named, name }, async (span) => {
      if (span === null) return search(request)
      const asked = JSON.parse(Buffer.from(request).toString()) as AskedSearch
      describeSearch(span, asked, tracer.showsQueries)
      const wasAsked = asked.showPerformanceDetails === true
      const timing = wasAsked
        ? request
        : Buffer.from(JSON.stringify({ ...asked, showPerformanceDetails: true }))
      const answer = withStages(await search(timing), wasAsked)
      span.set('siftd.hits', answer.facts.hits)
      span.set('siftd.degraded', answer.facts.degraded)
      addStages(tracer, span, answer.facts.stages)
      return answer
    })
  }
}

/** The members of an encoded request that spans show. */
interface AskedSearch {
  readonly indexUid?: string
  readonly q?: string | null
  readonly filter?: unknown
  readonly showPerformanceDetails?: boolean
}

function describeSearch(span: Span, { indexUid, q, filter }: AskedSearch, showsQueries: boolean): void {
  if (indexUid !== undefined) span.set('siftd.index', indexUid)
  if (!showsQueries) return
  if (typeof q === 'string') span.set('siftd.query', q)
  if (filter !== undefined && filter !== null) span.set('siftd.filter', JSON.stringify(filter))
}

/** The stage that contains the others. */
const TOTAL = 'search'
/** A stage before the search in the engine: it has its own span. */
const EMBED_QUERY = 'search > embed query'

/**
 * Adds a span per stage. The engine reports their durations in the order in which they ended, one after the other up to
 * its answer.
 * @param stages JSON text of an object
 */
function addStages(tracer: Tracer, span: Span, stages: string | undefined): void {
  if (stages === undefined) return
  const times = Object.entries(JSON.parse(stages) as Readonly<Record<string, string>>)
    .filter(([stage]) => stage !== TOTAL && stage !== EMBED_QUERY)
    .map(([stage, text]) => [stage, readMilliseconds(text) ?? 0] as const)
  let at = performance.now() - times.reduce((sum, [, ms]) => sum + ms, 0)
  for (const [stage, ms] of times) {
    const startedAt = Math.max(at, span.startedAt)
    tracer.addEnded(span, { name: stage, startedAt }, startedAt + ms)
    at += ms
  }
}
