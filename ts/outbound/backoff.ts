import { setTimeout as sleep } from 'node:timers/promises'

/** Pauses between attempts: each `factor` times the one before, from the first to the last. */
export interface Backoff {
  readonly firstMs: number
  readonly lastMs: number
  /** Default: 2. */
  readonly factor?: number
}

/**
 * How long to wait after the `failures`-th failure in a row (1 and up). Half of it is chance, so that
 * callers that failed together do not come back together.
 * @param random from 0 to 1
 */
export function pauseMs(failures: number, backoff: Backoff, random = Math.random): number {
  const { firstMs, lastMs, factor = 2 } = backoff
  // Beyond the 30th power it would only reach what `lastMs` cuts off anyway.
  const longest = Math.min(firstMs * factor ** Math.min(failures - 1, 30), lastMs)
  return longest / 2 + (longest / 2) * random()
}

export interface RetryPolicy extends Backoff {
  /** Attempts in all, at least one. */
  readonly attemptsMax: number
  /** Whether another attempt may end better. */
  worthRetrying(error: unknown): boolean
  /** A wait the other side asked for, instead of the usual pause; null if it did not. */
  askedPauseMs?(error: unknown, usualMs: number): number | null
  /** Default: a timer. */
  readonly wait?: Wait
  /** Ends the waiting; the call itself has to heed it by itself. */
  readonly signal?: AbortSignal
}

/** Lets time pass. Rejects as soon as the signal fires. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<void>

const waitOnTimer: Wait = (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal })

/** Attempts `call` until it works, gives up with the last failure. @param call told the attempt, from 1 */
export async function retrying<T>(call: (attempt: number) => Promise<T>, policy: RetryPolicy): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(attempt)
    } catch (error) {
      if (attempt >= policy.attemptsMax || policy.signal?.aborted || !policy.worthRetrying(error)) throw error
      const usual = pauseMs(attempt, policy)
      const asked = policy.askedPauseMs?.(error, usual) ?? usual
      await (policy.wait ?? waitOnTimer)(Math.min(asked, policy.lastMs), policy.signal)
    }
  }
}

/** Statuses that say "not now" rather than "not so". */
export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500

/** `Retry-After` in milliseconds, null if there is none or it is not understood. @param nowMs since 1970 */
export function retryAfterMs(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs = Date.now(),
): number | null {
  const value = headers['retry-after']
  if (typeof value !== 'string') return null
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs)
}
