import { linkedSignal } from '../../outbound/index.js'
import type { Timing } from '../interruptible-sleep.js'
import { unavailable } from '../lead/refusals.js'
import { AWAY_LOG_MS, AWAY_MS, AWAY_POLL_MS } from '../limits.js'
import type { Reachability } from '../object-store/index.js'
import type { SenderLog } from './sender-setup.js'

/** Tells clients that wait for the bucket once it does not answer. */
export class Outage {
  readonly #reachability: Pick<Reachability, 'awayMs'>
  readonly #log: SenderLog
  readonly #timing: Timing
  /** Time since which sending fails although the bucket answers; null: nothing failed since the last success. */
  #faultSince: number | null = null
  /** The fault logged last, and the time of the last log line about an unreachable bucket. */
  #loggedFault = ''
  #awayLoggedAt: number | null = null

  constructor(reachability: Pick<Reachability, 'awayMs'>, log: SenderLog, timing: Timing) {
    this.#reachability = reachability
    this.#log = log
    this.#timing = timing
  }

  /** Notes that a call failed and is retried. */
  retried(error: Error): void {
    const now = this.#timing.now()
    if (this.#awayLoggedAt !== null && now - this.#awayLoggedAt < AWAY_LOG_MS) return
    this.#awayLoggedAt = now
    this.#log.warn({ err: error }, 'the bucket does not answer; the call is retried')
  }

  /** Notes that sending failed. */
  failed(error: unknown): void {
    if (String(error) !== this.#loggedFault)
      this.#log.error({ err: error }, 'changes could not be sent to the bucket')
    this.#loggedFault = String(error)
    this.#faultSince ??= this.#timing.now()
  }

  /** Notes that sending succeeded. */
  answered(): void {
    this.#faultSince = null
    this.#loggedFault = ''
    if (this.#awayLoggedAt === null || this.#reachability.awayMs() > 0) return
    this.#awayLoggedAt = null
    this.#log.info({}, 'the bucket answers again')
  }

  get awayMs(): number {
    const faultMs = this.#faultSince === null ? 0 : this.#timing.now() - this.#faultSince
    return Math.max(faultMs, this.#reachability.awayMs())
  }

  get isAway(): boolean {
    return this.awayMs >= AWAY_MS
  }

  /** Calls `isAway` once the bucket does not answer. Returns a function that cancels this. */
  whenAway(isAway: () => void): () => void {
    let end: () => void = () => undefined
    const look = (): void => {
      if (this.isAway) isAway()
      else end = this.#timing.after(AWAY_POLL_MS, look)
    }
    end = this.#timing.after(AWAY_POLL_MS, look)
    return () => end()
  }

  /**
   * Makes calls outside the log.
   * @throws ApiError if the bucket does not answer; the reason of the signal; errors of `work`
   */
  async reachable<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const away = new AbortController()
    const end = this.whenAway(() => away.abort(unavailable()))
    const linked = linkedSignal([away.signal, signal])
    try {
      return await work(linked.signal)
    } finally {
      linked.unlink()
      end()
    }
  }
}
