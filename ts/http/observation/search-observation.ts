import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SearchFacts } from '../../engine/index.js'
import { agentOf, type Metrics } from '../metrics/index.js'
import type { AskedQuery, QueryWatch } from '../queries/index.js'
import type { Services } from '../services.js'
import type { AnswerFacts, SearchCount } from './search-counts.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on authorized requests of routes that search. */
    observation: SearchObservation<unknown> | null
  }
}

type Observers = Pick<Services, 'usage'> & {
  readonly metrics: Pick<Metrics, 'countDegraded'>
  readonly queries: QueryWatch
}

/** Used when the engine reports no facts about an answer. */
const noFacts: AnswerFacts = { degraded: false, usedNegativeOperator: false, terms: 0 }

interface Observable<W> {
  /** Name of the route in the log of slow searches. */
  readonly route: string
  readonly count: SearchCount<W>
  readonly request: FastifyRequest
}

/**
 * Follows one search request from its authorization to its answer, for the log of slow searches, the statistics of
 * queries, and the usage reports. The route reports the stages; the hook of `observeSearches` reports the end.
 */
export class SearchObservation<W> {
  readonly #observers: Observers
  readonly #route: string
  readonly #count: SearchCount<W>
  readonly #agent: string | undefined
  #asked: { readonly wanted: W; readonly queries: () => readonly AskedQuery[] } | null = null
  #facts: SearchFacts | null = null
  #startedAt = 0
  #beganAt: number | null = null
  #hasEnded = false

  constructor(observers: Observers, { route, count, request }: Observable<W>) {
    this.#observers = observers
    this.#route = route
    this.#count = count
    this.#agent = observers.usage.isOpen ? agentOf(request) : undefined
  }

  /**
   * The parameters were read.
   * @param queries called only for a search that is logged or counted
   */
  asked(wanted: W, queries: () => readonly AskedQuery[]): void {
    this.#asked = { wanted, queries }
    if (this.#isTimed) this.#startedAt = performance.now()
  }

  /** The search left the queue. */
  began(): void {
    if (this.#isTimed) this.#beganAt ??= performance.now()
  }

  /** The engine answered. */
  answered(facts: SearchFacts): void {
    this.#facts = facts
    if (facts.degraded) this.#observers.metrics.countDegraded()
  }

  /** The answer is about to be sent. @param code of an error; null: the search succeeded */
  ended(code: string | null): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const { usage, queries } = this.#observers
    if (this.#asked === null) {
      if (usage.isOpen) this.#count.refused(this.#agent)
      return
    }
    const { wanted, queries: asked } = this.#asked
    const endedAt = this.#isTimed ? performance.now() : 0
    const ms = endedAt - this.#startedAt
    const facts = code === null ? (this.#facts ?? noFacts) : null
    if (usage.isOpen) this.#count.ended(wanted, facts, { ms, agent: this.#agent })
    if (!queries.isOn) return
    const queuedMs = (this.#beganAt ?? (code === null ? this.#startedAt : endedAt)) - this.#startedAt
    queries.ended({ route: this.#route, asked, ms, queuedMs, facts: this.#facts, code })
  }

  get #isTimed(): boolean {
    return this.#observers.usage.isOpen || this.#observers.queries.isOn
  }
}

/** A route whose searches are observed. */
export class ObservedRoute<W> {
  /** Begins to observe a request. */
  readonly authorized: (request: FastifyRequest) => void

  /** @param route its name in the log of slow searches */
  constructor(observers: Observers, route: string, count: SearchCount<W>) {
    this.authorized = (request) => {
      request.observation = new SearchObservation<W>(observers, { route, count, request })
    }
  }

  /** Returns the observation that `authorized` began. */
  of(request: FastifyRequest): SearchObservation<W> {
    return request.observation as SearchObservation<W>
  }
}

/** Reports the end of every observed search of the server. */
export function observeSearches(app: FastifyInstance): void {
  app.decorateRequest('observation', null)
  app.addHook('onSend', (request, reply, _payload, done) => {
    request.observation?.ended(reply.errorCode)
    done()
  })
}
