/** Requests that wait until a server has a later log record. */
import { HINT_WAIT_MS, WAITS_MAX } from './limits.js'

interface Waiting {
  readonly after: number
  resolve(): void
}

/** Knows the last log record that a server has written or serves. */
export class PositionWatch {
  readonly #waiting = new Set<Waiting>()
  #position = -1
  #isClosed = false

  /** The last log record; -1: none. */
  get position(): number {
    return this.#position
  }

  /** Notes a log record. */
  reached(position: number): void {
    if (position <= this.#position) return
    this.#position = position
    for (const one of this.#waiting) if (one.after < position) one.resolve()
  }

  /**
   * Waits a bounded time for a record after `after`.
   * @returns the last log record then; null: too many requests wait
   */
  async beyond(after: number, waitMs: number = HINT_WAIT_MS): Promise<number | null> {
    if (this.#position > after || this.#isClosed) return this.#position
    if (this.#waiting.size >= WAITS_MAX) return null
    await new Promise<void>((resolve) => {
      const one: Waiting = {
        after,
        resolve: () => {
          clearTimeout(limit)
          this.#waiting.delete(one)
          resolve()
        },
      }
      const limit = setTimeout(one.resolve, waitMs)
      this.#waiting.add(one)
    })
    return this.#position
  }

  /** Ends all waits, now and later. */
  close(): void {
    this.#isClosed = true
    for (const one of this.#waiting) one.resolve()
  }
}
