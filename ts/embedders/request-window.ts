/** How many requests to a provider may be under way at a time, and what happens to the rest once one has failed? */
import { type OutboundAnswer, retryAfterMs, type Wait } from '../outbound/index.js'
import { REQUESTS_AT_ONCE } from './limits.js'

/** Takes note of an answer of any status. */
export type NoteAnswer = (answer: OutboundAnswer) => void

/**
 * The requests of one batch, of all its pages together. A provider that answers 429 is asked by half as many requests
 * at a time, and by one more after each round without such an answer. A pause that it asks for holds every request
 * that has not begun.
 */
export class RequestWindow {
  readonly #waiting: (() => void)[] = []
  readonly #stopping = new AbortController()
  readonly #wait: Wait
  readonly #pauseMsMax: number
  readonly signal: AbortSignal
  #width = REQUESTS_AT_ONCE
  #running = 0
  #answered = 0
  /** Counts how often the window has been narrowed, so that answers to one round of requests narrow it once. */
  #narrowings = 0
  /** When the provider may be asked again, by `performance.now()`. */
  #resumesAt = 0
  #vacated: () => void = () => undefined
  #failure: { readonly error: unknown } | null = null

  /** @param signal aborts all requests */
  constructor(wait: Wait, pauseMsMax: number, signal: AbortSignal | undefined) {
    this.#wait = wait
    this.#pauseMsMax = pauseMsMax
    const { signal: stopping } = this.#stopping
    this.signal = signal === undefined ? stopping : AbortSignal.any([signal, stopping])
  }

  /** Whether enough requests wait to keep the window full while another page is rendered. */
  get isFull(): boolean {
    return this.#waiting.length >= this.#width
  }

  /** Resolves once the window is not full. */
  async vacancy(): Promise<void> {
    while (this.isFull) {
      await new Promise<void>((resolve) => {
        this.#vacated = resolve
      })
    }
  }

  /** Sends one request when it is its turn. The first failure aborts all other requests. */
  async run<T>(send: (note: NoteAnswer) => Promise<T>): Promise<T> {
    try {
      await this.#turn()
      const pauseMs = this.#resumesAt - performance.now()
      if (pauseMs > 0) await this.#wait(pauseMs, this.signal)
      this.signal.throwIfAborted()
      return await send(this.#notes())
    } catch (error) {
      this.#failure ??= { error }
      this.stop()
      throw error
    } finally {
      this.#running--
      this.#admit()
    }
  }

  /** The failure that aborted the other requests; `otherwise` if there was none. */
  failure(otherwise: unknown): unknown {
    return this.#failure === null ? otherwise : this.#failure.error
  }

  /** Aborts what is under way. */
  stop(): void {
    this.#stopping.abort()
    // Waiting requests begin, and end at once.
    for (const begin of this.#waiting.splice(0)) this.#begin(begin)
    this.#vacated()
  }

  #turn(): Promise<void> {
    if (this.#running >= this.#width) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#running++
    return Promise.resolve()
  }

  #admit(): void {
    while (this.#running < this.#width) {
      const begin = this.#waiting.shift()
      if (begin === undefined) break
      this.#begin(begin)
    }
    if (!this.isFull) this.#vacated()
  }

  #begin(begin: () => void): void {
    this.#running++
    begin()
  }

  #notes(): NoteAnswer {
    let seen = this.#narrowings
    return ({ status, headers }) => {
      this.#pause(status === 429 || status === 503 ? retryAfterMs(headers) : exhaustedMs(headers))
      if (status !== 429) {
        if (++this.#answered < this.#width || this.#width === REQUESTS_AT_ONCE) return
        this.#width++
        this.#answered = 0
        this.#admit()
        return
      }
      if (seen === this.#narrowings) {
        this.#width = Math.max(1, this.#width >> 1)
        this.#answered = 0
        this.#narrowings++
      }
      seen = this.#narrowings
    }
  }

  #pause(ms: number | null): void {
    if (ms === null) return
    this.#resumesAt = Math.max(this.#resumesAt, performance.now() + Math.min(ms, this.#pauseMsMax))
  }
}

/** Milliseconds until a provider that has no requests left takes the next one; null if it does not say so. */
function exhaustedMs(headers: OutboundAnswer['headers']): number | null {
  return headers['x-ratelimit-remaining-requests'] === '0'
    ? durationMs(String(headers['x-ratelimit-reset-requests']))
    : null
}

/** A duration as OpenAI writes it, such as `1h2m3.5s` or `20ms`; null if it is malformed. */
function durationMs(text: string): number | null {
  const parts = /^(?:(\d{1,4})h)?(?:(\d{1,4})m)?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9})ms)?$/.exec(text)
  if (parts === null || text === '') return null
  const [hours, minutes, seconds, ms] = parts.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
  ]
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms
}
