/** Measures the stages of a search for `showPerformanceDetails`. Source: http-api §8. */

/** A stage of a search, as named in answers. */
export type Stage =
  /** The server waited for the query vector. */
  | 'search > embed query'
  | 'search > evaluate filter'
  | 'search > keyword ranking'
  | 'search > semantic ranking'
  | 'search > merge results'
  | 'search > format'
  | 'search > facet distribution'

const EMBED_QUERY = 'search > embed query'

/** Durations of the stages of a search, in the order in which they first ended. */
export class Stages {
  readonly #started = performance.now()
  /** End of the latest stage. */
  #latest = this.#started
  readonly #times = new Map<Stage, number>()
  #embeddingMs = 0
  /** Stages of single queries of a federation, as named in answers. */
  readonly #queryTimes = new Map<string, number>()

  /** @param embeddingMs time spent embedding the query; absent: no vector was made */
  constructor(embeddingMs?: number) {
    if (embeddingMs === undefined) return
    this.#add(EMBED_QUERY, embeddingMs)
    this.#embeddingMs = embeddingMs
  }

  /** Ends a stage, which started at the end of the previous stage. */
  end(stage: Stage): void {
    const now = performance.now()
    this.#add(stage, now - this.#latest)
    this.#latest = now
  }

  /** Adds the stages of a query of a federation. @param position of the query in the request */
  include({ times }: { readonly times: ReadonlyMap<Stage, number> }, position: number): void {
    for (const [stage, time] of times) {
      const name = stage.replace('search > ', `search > query ${position} > `)
      this.#queryTimes.set(name, (this.#queryTimes.get(name) ?? 0) + time)
      if (stage === EMBED_QUERY) this.#embeddingMs += time
    }
    this.#latest = performance.now()
  }

  /** Milliseconds by stage. */
  get times(): ReadonlyMap<Stage, number> {
    return this.#times
  }

  /** The member `performanceDetails`, after a comma: the formatted time of each stage and in total. */
  get text(): string {
    const total = performance.now() - this.#started + this.#embeddingMs
    const named = [...this.#queryTimes, ...this.#times, ['search', total] as const].map(([stage, time]) => [
      stage,
      formattedTime(time),
    ])
    return `,"performanceDetails":${JSON.stringify(Object.fromEntries(named))}`
  }

  #add(stage: Stage, time: number): void {
    this.#times.set(stage, (this.#times.get(stage) ?? 0) + time)
  }
}

function formattedTime(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)}s`
  return ms >= 1 ? `${ms.toFixed(2)}ms` : `${(ms * 1000).toFixed(2)}µs`
}
