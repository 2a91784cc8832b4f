/** Limits the requests per minute to each provider. */
import type { Wait } from '../../outbound/index.js'
import { IDLE_ACCOUNTS_MAX, RATE_TOLERANCE_MS } from '../limits.js'

/** Requests that are counted together: those to one provider with one API key. */
interface Account {
  /** Time of the clock from which the next request may be sent. */
  nextAt: number
  /** Waiting requests in order. Searches come before documents. */
  readonly queue: Waiting[]
}

interface Waiting {
  readonly isUrgent: boolean
  /** Called when it may have become the first in the queue. */
  moved: () => void
}

interface TurnOptions {
  readonly signal?: AbortSignal | undefined
  /** Time of the clock after which the answer is useless. Requests with a deadline go first. */
  readonly deadline?: number | undefined
}

/**
 * Spaces requests evenly, so that each minute has at most `perMinute`, including retries. After a late timer, requests
 * catch up within `RATE_TOLERANCE_MS`.
 */
export class RequestRate {
  readonly #perMinute: number | null
  readonly #wait: Wait
  readonly #now: () => number
  readonly #accounts = new Map<string, Account>()
  readonly #heard = new WeakSet<AbortSignal>()

  /**
   * @param perMinute null: no limit
   * @param now milliseconds of a monotonic clock
   */
  constructor(perMinute: number | null, wait: Wait, now: () => number) {
    this.#perMinute = perMinute
    this.#wait = wait
    this.#now = now
  }

  /**
   * Waits until a request may be sent.
   * @param name of the account
   * @returns false if the deadline comes first
   * @throws the reason of the signal
   */
  async turn(name: string, { signal, deadline }: TurnOptions): Promise<boolean> {
    const perMinute = this.#perMinute
    if (perMinute === null) return true
    if (signal !== undefined) this.#listen(signal)
    const account = this.#account(name)
    const { queue } = account
    const me: Waiting = { isUrgent: deadline !== undefined, moved: () => undefined }
    const behind = me.isUrgent ? queue.findIndex(({ isUrgent }) => !isUrgent) : -1
    queue.splice(behind === -1 ? queue.length : behind, 0, me)
    try {
      for (;;) {
        signal?.throwIfAborted()
        const isFirst = queue[0] === me
        const leftMs = (deadline ?? Number.POSITIVE_INFINITY) - this.#now()
        const pauseMs = account.nextAt - this.#now()
        if (leftMs <= 0) return false
        if (isFirst && pauseMs <= 0) {
          const earliest = Math.max(account.nextAt, this.#now() - RATE_TOLERANCE_MS)
          account.nextAt = earliest + (60_000 + RATE_TOLERANCE_MS) / perMinute
          return true
        }
        if (isFirst) await this.#wait(Math.min(pauseMs, leftMs), signal)
        else await this.#moved(me, leftMs)
      }
    } finally {
      queue.splice(queue.indexOf(me), 1)
      queue[0]?.moved()
    }
  }

  /** Resolves when `me` may have become the first of its queue, when its signal aborts, or at its deadline. */
  async #moved(me: Waiting, leftMs: number): Promise<void> {
    const given = new AbortController()
    const moved = new Promise<void>((resolve) => {
      me.moved = resolve
    })
    const late = Number.isFinite(leftMs) ? [this.#wait(leftMs, given.signal).catch(() => undefined)] : []
    await Promise.race([moved, ...late]).finally(() => given.abort())
  }

  /** Wakes all requests when the signal aborts. The requests of a batch share a signal, and so one listener. */
  #listen(signal: AbortSignal): void {
    if (this.#heard.has(signal)) return
    this.#heard.add(signal)
    const wake = (): void => {
      for (const { queue } of this.#accounts.values()) for (const { moved } of queue) moved()
    }
    signal.addEventListener('abort', wake, { once: true })
  }

  #account(name: string): Account {
    const known = this.#accounts.get(name)
    if (known !== undefined) return known
    if (this.#accounts.size >= IDLE_ACCOUNTS_MAX) {
      for (const [other, { nextAt, queue }] of this.#accounts)
        if (queue.length === 0 && nextAt <= this.#now()) this.#accounts.delete(other)
    }
    const account = { nextAt: this.#now(), queue: [] }
    this.#accounts.set(name, account)
    return account
  }
}
