import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApiError } from '../../errors/index.js'

/**
 * What the JSON bodies that are under way take of the memory.
 *
 * A body counts from its first byte until its answer is made. A body that finds no memory left is refused; a body that
 * is alone never is, so that each body within the limits of its route passes when it is tried again.
 */
export class BodyBudget {
  readonly #bytesMax: number
  #bytes = 0
  #bodies = 0
  #lastSlice: Promise<void> = Promise.resolve()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The share of one body, which takes nothing yet. */
  open(): BodyShare {
    return new BodyShare(this)
  }

  /**
   * Resolves when the next slice of a body may be parsed: one in each turn of the event loop, whichever body it is of,
   * in the order asked.
   */
  slice(): Promise<void> {
    this.#lastSlice = this.#lastSlice.then(() => nextTurn())
    return this.#lastSlice
  }

  /** @throws ApiError `too_many_requests` */
  take(bytes: number, isFirst: boolean): void {
    const others = isFirst ? this.#bodies : this.#bodies - 1
    if (others > 0 && this.#bytes + bytes > this.#bytesMax) {
      throw new ApiError(
        'too_many_requests',
        `too many large bodies at once: together they may take ${this.#bytesMax} bytes of memory; try again later`,
      )
    }
    if (isFirst) this.#bodies += 1
    this.#bytes += bytes
  }

  give(bytes: number): void {
    this.#bodies -= 1
    this.#bytes -= bytes
  }
}

/** What one body takes of a `BodyBudget`. */
export class BodyShare {
  readonly #budget: BodyBudget
  #bytes = 0
  #isReleased = false

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /** @throws ApiError `too_many_requests` if other bodies leave too little */
  take(bytes: number): void {
    if (bytes === 0 || this.#isReleased) return
    this.#budget.take(bytes, this.#bytes === 0)
    this.#bytes += bytes
  }

  /** Resolves when the next slice of this body may be parsed. */
  slice(): Promise<void> {
    return this.#budget.slice()
  }

  /** Gives everything back, for good. */
  release(): void {
    if (this.#bytes > 0 && !this.#isReleased) this.#budget.give(this.#bytes)
    this.#isReleased = true
  }
}
