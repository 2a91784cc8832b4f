import { ApiError } from '../../errors/index.js'

/**
 * Bounds the memory of all JSON bodies that are being received or handled.
 *
 * Refuses a body that would exceed the bound, but never the only body. So each body within the limits of its route
 * passes when the client tries again.
 */
export class BodyBudget {
  readonly #bytesMax: number
  #bytes = 0
  #bodies = 0
  #lastParsed: Promise<unknown> = Promise.resolve()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Returns a reservation of 0 bytes for one body. */
  reserve(): BodyReservation {
    return new BodyReservation(this)
  }

  /**
   * Parses long bodies one after another. So only one body at a time takes the additional memory of parsing, and most
   * bodies with too many values are refused before the next one is parsed.
   */
  parsed<T>(parse: () => Promise<T>): Promise<T> {
    const value = this.#lastParsed.then(parse)
    this.#lastParsed = value.then(nothing, nothing)
    return value
  }

  /** @throws ApiError `too_many_requests` */
  take(bytes: number, isFirst: boolean): void {
    const otherBodies = isFirst ? this.#bodies : this.#bodies - 1
    if (otherBodies > 0 && this.#bytes + bytes > this.#bytesMax) {
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

const nothing = (): undefined => undefined

/** The memory that one body has reserved in a `BodyBudget`. */
export class BodyReservation {
  readonly #budget: BodyBudget
  #bytes = 0
  #isReleased = false

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /** Reserves `bytes` more. @throws ApiError `too_many_requests` if other bodies leave too little */
  take(bytes: number): void {
    if (bytes === 0 || this.#isReleased) return
    this.#budget.take(bytes, this.#bytes === 0)
    this.#bytes += bytes
  }

  /** See `BodyBudget.parsed`. */
  parsed<T>(parse: () => Promise<T>): Promise<T> {
    return this.#budget.parsed(parse)
  }

  /** Frees the reserved memory. Later calls of `take` reserve nothing. */
  release(): void {
    if (this.#bytes > 0 && !this.#isReleased) this.#budget.give(this.#bytes)
    this.#isReleased = true
  }
}
