import { setTimeout as sleep } from 'node:timers/promises'

/** Pauses between attempts. Each is `factor` times the one before, from `firstMs` up to `lastMs`. */
export interface Backoff {
  readonly firstMs: number
  readonly lastMs: number
  /** Default: 2. */
  readonly factor?: number
}

/**
 * Returns the milliseconds to wait after a failure. Up to half of the pause is random, so that callers do not all retry
 * at the same time.
 * @param failures failures in a row, at least 1
 * @param random from 0 to 1
 */
export function pauseMs(failures: number, backoff: Backoff, random = Math.random): number {
  const { firstMs, lastMs, factor = 2 } = backoff
  // The bound of 30 keeps the power finite. Pauses beyond it are longer than `lastMs` anyway.
  const longest = Math.min(firstMs * factor ** Math.min(failures - 1, 30), lastMs)
  return longest / 2 + (longest / 2) * random()
}

interface RetryPolicy extends Backoff {
  /** Attempts in total, at least 1. */
  readonly attemptsMax: number
  /** Returns true if another attempt may succeed. */
  worthRetrying(error: unknown): boolean
  /** Returns the pause that the other side requested; null if none. */
  askedPauseMs?(error: unknown, usualMs: number): number | null
  /** Waits between attempts. Default: a timer. */
  readonly wait?: Wait | undefined
  /** Ends the waiting. `call` must observe the signal itself. */
  readonly signal?: AbortSignal | undefined
}

/** Resolves after `ms` milliseconds. Rejects as soon as the signal aborts. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<void>

export const waitOnTimer: Wait = (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal })

/**
 * Repeats `call` until it succeeds or the policy ends the attempts; then throws the last error. @param call gets the
 * number of the attempt, from 1
 */
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

/** True if a request answered with this status may succeed later. */
export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500

/** Parses the header `Retry-After` to milliseconds; null if missing or malformed. @param nowMs since 1970 */
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
