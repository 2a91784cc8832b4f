/** Here is a search: where did its time go? What `showPerformanceDetails` asks for. Source: http-api §8. */

/** A part of the work on a search, as answers name it. */
export type Stage =
  /** The server waited for the vector of the query. */
  | 'search > embed query'
  | 'search > evaluate filter'
  | 'search > keyword ranking'
  | 'search > semantic ranking'
  | 'search > merge results'
  | 'search > format'
  | 'search > facet distribution'

const EMBED_QUERY = 'search > embed query'

/** The stages that a search has been through, in the order in which they first ended. */
export class Stages {
  readonly #started = performance.now()
  /** The end of the latest stage. */
  #latest = this.#started
  readonly #times = new Map<Stage, number>()

  /** @param embeddingMs what the vector of the query took; absent: no vector was made */
  constructor(embeddingMs?: number) {
    if (embeddingMs !== undefined) this.#add(EMBED_QUERY, embeddingMs)
  }

  /** Ends a stage, which began when the one before it ended. */
  end(stage: Stage): void {
    const now = performance.now()
    this.#add(stage, now - this.#latest)
    this.#latest = now
  }

  /** Adds the stages of one query of several. */
  include({ times }: { readonly times: ReadonlyMap<Stage, number> }): void {
    for (const [stage, time] of times) this.#add(stage, time)
    this.#latest = performance.now()
  }

  /** Milliseconds by stage. */
  get times(): ReadonlyMap<Stage, number> {
    return this.#times
  }

  /** The member `performanceDetails`, after a comma: the time of each stage, and of all, in words. */
  get text(): string {
    const embedding = this.#times.get(EMBED_QUERY) ?? 0
    const total = performance.now() - this.#started + embedding
    const named = [...this.#times, ['search', total] as const].map(([stage, time]) => [stage, inWords(time)])
    return `,"performanceDetails":${JSON.stringify(Object.fromEntries(named))}`
  }

  #add(stage: Stage, time: number): void {
    this.#times.set(stage, (this.#times.get(stage) ?? 0) + time)
  }
}

function inWords(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)}s`
  return ms >= 1 ? `${ms.toFixed(2)}ms` : `${(ms * 1000).toFixed(2)}µs`
}
