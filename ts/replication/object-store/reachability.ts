import { BYTES_PER_MS_MIN, LATE_MS } from './limits.js'
import { BucketError, type ObjectStore } from './object-store.js'

interface Call {
  readonly startedAt: number
  /** Time by which a reachable store would have answered. */
  readonly dueAt: number
}

/**
 * Detects from its calls whether a store answers. A call with many bytes may take longer. Any answer shows that the
 * store is reachable, even if other calls are late.
 */
export class Reachability {
  readonly #now: () => number
  readonly #calls = new Set<Call>()
  #answeredAt = Number.NEGATIVE_INFINITY
  /** Start of the first call that failed since the last answer; null: none has failed. */
  #failingSince: number | null = null

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Wraps a store and observes its calls. */
  noting(store: ObjectStore): ObjectStore {
    const noted = <T>(bytes: number, call: () => Promise<T>): Promise<T> => this.#noted(bytes, call)
    return {
      name: store.name,
      create: (key, body, signal) => noted(body.length, () => store.create(key, body, signal)),
      put: (key, body, signal) => noted(body.length, () => store.put(key, body, signal)),
      get: (key, options) => noted(0, () => store.get(key, options)),
      delete: (key, signal) => noted(0, () => store.delete(key, signal)),
      list: (prefix, options) => this.#listed(store.list(prefix, options)),
    }
  }

  /** Milliseconds since the last answer while calls fail or are late; 0: the store answers. */
  awayMs(): number {
    const now = this.#now()
    if (this.#failingSince !== null) return now - this.#failingSince
    const late = [...this.#calls].filter(
      ({ startedAt, dueAt }) => dueAt <= now && startedAt >= this.#answeredAt,
    )
    return late.reduce((longest, { startedAt }) => Math.max(longest, now - startedAt), 0)
  }

  async #noted<T>(bytes: number, call: () => Promise<T>): Promise<T> {
    const startedAt = this.#now()
    const noted = { startedAt, dueAt: startedAt + LATE_MS + bytes / BYTES_PER_MS_MIN }
    this.#calls.add(noted)
    try {
      const result = await call()
      this.#answered()
      return result
    } catch (error) {
      if (error instanceof BucketError && error.isUnknown)
        this.#failingSince ??= Math.max(startedAt, this.#answeredAt)
      throw error
    } finally {
      this.#calls.delete(noted)
    }
  }

  async *#listed<T>(list: AsyncIterable<T>): AsyncGenerator<T, void> {
    const items = list[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await this.#noted(0, () => items.next())
        if (done) return
        yield value
      }
    } finally {
      await items.return?.()
    }
  }

  #answered(): void {
    this.#answeredAt = this.#now()
    this.#failingSince = null
  }
}
