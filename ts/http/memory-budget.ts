import { ApiError } from '../errors/index.js'

/**
 * Bounds the memory of all JSON texts of one kind that are being received or handled.
 *
 * Refuses memory beyond the bound, but never to the only holder. So each request within its own limits passes when the
 * client tries again.
 */
export class MemoryBudget {
  readonly #bytesMax: number
  readonly #kind: string
  #bytes = 0
  #holders = 0
  #lastParsed: Promise<unknown> = Promise.resolve()

  /** @param kind names the texts in the error, in the plural */
  constructor(bytesMax: number, kind: string) {
    this.#bytesMax = bytesMax
    this.#kind = kind
  }

  /** Returns a reservation of 0 bytes for one holder. */
  reserve(): MemoryReservation {
    return new MemoryReservation(this)
  }

  /**
   * Parses long texts one after another. So only one text at a time takes the additional memory of parsing, and most
   * texts with too many values are refused before the next one is parsed.
   */
  parsed<T>(parse: () => Promise<T>): Promise<T> {
    const value = this.#lastParsed.then(parse)
    this.#lastParsed = value.then(nothing, nothing)
    return value
  }

  /** @throws ApiError `too_many_requests` */
  take(bytes: number, isFirst: boolean): void {
    const others = isFirst ? this.#holders : this.#holders - 1
    if (others > 0 && this.#bytes + bytes > this.#bytesMax) {
      throw new ApiError(
        'too_many_requests',
        `too many ${this.#kind} at once: together they may take ${this.#bytesMax} bytes of memory; try again later`,
      )
    }
    if (isFirst) this.#holders += 1
    this.#bytes += bytes
  }

  give(bytes: number): void {
    this.#holders -= 1
    this.#bytes -= bytes
  }
}

const nothing = (): undefined => undefined

/** The memory that one holder has reserved in a `MemoryBudget`. */
export class MemoryReservation {
  readonly #budget: MemoryBudget
  #bytes = 0
  #isReleased = false

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  /** Reserves `bytes` more. @throws ApiError `too_many_requests` if others leave too little */
  take(bytes: number): void {
    if (bytes === 0 || this.#isReleased) return
    this.#budget.take(bytes, this.#bytes === 0)
    this.#bytes += bytes
  }

  /** See `MemoryBudget.parsed`. */
  parsed<T>(parse: () => Promise<T>): Promise<T> {
    return this.#budget.parsed(parse)
  }

  /** Frees the reserved memory. Later calls of `take` reserve nothing. */
  release(): void {
    if (this.#bytes > 0 && !this.#isReleased) this.#budget.give(this.#bytes)
    this.#isReleased = true
  }
}
