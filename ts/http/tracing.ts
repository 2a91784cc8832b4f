/** Records requests and their wait for a slot. Used only while tracing is on. */
import type { FastifyInstance } from 'fastify'
import type { DisconnectSignal } from '../operations/index.js'
import type { Span, Tracer } from '../tracing/index.js'
import { type OnDisconnect, SearchQueue, type SearchQueueLimits } from './searches/index.js'

/** Begins a span for each request. It ends with the connection or the answer, whichever is first. */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, routeOptions } = request
    // The pattern of the route, not the path: names of spans must not grow with the names that clients send.
    const route = routeOptions.url
    const attributes = { 'http.request.method': method, ...(route !== undefined && { 'http.route': route }) }
    const name = route === undefined ? method : `${method} ${route}`
    tracer.receive(headers.traceparent, { name, attributes }, (span) => {
      if (span !== null) reply.raw.once('close', () => endRequest(span, reply))
      done()
    })
  })
}

function endRequest(
  span: Span,
  {
    statusCode,
    errorCode,
    raw,
  }: { statusCode: number; errorCode: string | null; raw: { writableFinished: boolean } },
): void {
  span.set('http.response.status_code', statusCode)
  if (errorCode !== null) span.set('error.type', errorCode)
  if (!raw.writableFinished) span.failure = 'the client disconnected'
  else if (statusCode >= 500) span.failure = errorCode ?? `status ${statusCode}`
  span.end()
}

/** A queue that records how long each search waits for a slot. */
export class TracedSearchQueue extends SearchQueue {
  readonly #tracer: Tracer

  constructor(limits: SearchQueueLimits, tracer: Tracer) {
    super(limits)
    this.#tracer = tracer
  }

  override async run<T>(
    holder: string,
    onDisconnect: OnDisconnect,
    search: (stop: DisconnectSignal) => Promise<T>,
  ): Promise<T> {
    const wait = this.#tracer.begin({ name: 'wait for turn' })
    try {
      return await super.run(holder, onDisconnect, (stop) => {
        wait?.end()
        return search(stop)
      })
    } catch (error) {
      // Without an end of the wait, the search was refused before its turn.
      if (wait !== null && wait.endedAt === null) wait.fail(error)
      throw error
    } finally {
      wait?.end()
    }
  }
}
