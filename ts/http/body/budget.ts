import { ApiError } from '../../errors/index.js'

/**
 * The memory of all JSON bodies that have begun to arrive and are not answered yet, within a bound.
 *
 * A body that would exceed the bound is refused. A body is never refused while it is the only one, so that each body
 * within the limits of its route passes when the client tries again.
 */
export class BodyBudget {
  readonly #bytesMax: number
  #bytes = 0
  #bodies = 0
  #lastParsed: Promise<unknown> = Promise.resolve()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** A reservation for one body, of no bytes at first. */
  reserve(): BodyReservation {
    return new BodyReservation(this)
  }

  /**
   * Parses a long body once those before it are parsed: what parsing takes beside the bytes is taken by one body, and
   * most bodies of too many values are refused before the next begins.
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

  /** As `BodyBudget.parsed`. */
  parsed<T>(parse: () => Promise<T>): Promise<T> {
    return this.#budget.parsed(parse)
  }

  /** Frees all of it. Later calls of `take` reserve nothing. */
  release(): void {
    if (this.#bytes > 0 && !this.#isReleased) this.#budget.give(this.#bytes)
    this.#isReleased = true
  }
}
