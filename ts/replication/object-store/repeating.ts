import { RETRY_MS_FIRST, RETRY_MS_MAX } from './limits.js'
import { BucketError, type ObjectStore } from './object-store.js'

/** Retry policy for calls that a store did not answer or was too busy for. */
export interface Repeating {
  /** Resolves after so many milliseconds; rejects when `signal` aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
  /** Called before each retry, with the backoff before it. */
  readonly onRetry: (error: BucketError, pauseMs: number) => void
}

/** Retries a call until the store answers or refuses it. @throws BucketError; the reason of the signal */
export async function repeated<T>(
  { wait, onRetry }: Repeating,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted()
    try {
      return await call()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof BucketError) || !error.isUnknown) throw error
      const ms = pauseMs(tries)
      onRetry(error, ms)
      await wait(ms, signal)
    }
  }
}

/** Backoff in milliseconds after a number of failed attempts. */
export const pauseMs = (tries: number): number =>
  Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** Math.min(tries, 20))

/** A store that retries reads and overwrites. Creates are not retried: only reading the object shows their outcome. */
export function repeatingStore(store: ObjectStore, repeating: Repeating): Pick<ObjectStore, 'put' | 'get'> {
  const never = new AbortController().signal
  return {
    put: (key, body, signal = never) => repeated(repeating, signal, () => store.put(key, body, signal)),
    get: (key, options) => repeated(repeating, options.signal ?? never, () => store.get(key, options)),
  }
}
