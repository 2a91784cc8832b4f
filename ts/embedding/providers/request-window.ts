/** Limits the concurrent requests of a batch, and aborts the others when one fails. */
import { type OutboundAnswer, retryAfterMs, type Wait } from '../../outbound/index.js'
import { REQUESTS_AT_ONCE } from '../limits.js'

/** Receives each answer, whatever its status. */
export type NoteAnswer = (answer: OutboundAnswer) => void

/**
 * The requests of one batch, across all its pages. An answer 429 halves the number of concurrent requests. Each round
 * without one raises it by one. A pause requested by the provider delays all requests that have not begun.
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
  /** Number of times the window was narrowed, so that the answers to one round of requests narrow it only once. */
  #narrowings = 0
  /** Time of `performance.now()` from which the provider may be called again. */
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

  /** True if enough requests wait to keep the window full while another page is rendered. */
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

  /** Sends a request when its turn comes. The first failure aborts all other requests. */
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

  /** Returns the failure that aborted the other requests; `otherwise` if there is none. */
  failure(otherwise: unknown): unknown {
    return this.#failure === null ? otherwise : this.#failure.error
  }

  /** Aborts all requests. */
  stop(): void {
    this.#stopping.abort()
    // Waiting requests start, but end at once because the signal is aborted.
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

/** Milliseconds until a provider without remaining requests accepts the next; null if the headers do not say. */
function exhaustedMs(headers: OutboundAnswer['headers']): number | null {
  return headers['x-ratelimit-remaining-requests'] === '0'
    ? durationMs(String(headers['x-ratelimit-reset-requests']))
    : null
}

/** Parses a duration in OpenAI's format, such as `1h2m3.5s` or `20ms`; null if malformed. */
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
