import { RETRY_MS_FIRST, RETRY_MS_MAX } from './limits.js'
import { BucketError, type ObjectStore } from './object-store.js'

/** How calls are repeated that a store did not answer, or was too busy for. */
export interface Repeating {
  /** Resolves after so many milliseconds; rejects when `signal` aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
  /** Told of each call that is made again, with the pause before it. */
  readonly onRetry: (error: BucketError, pauseMs: number) => void
}

/** Repeats a call until the store answers it, or refuses it for good. @throws BucketError; the reason of the signal */
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

/** Milliseconds before a call is made again that has failed so many times. */
export const pauseMs = (tries: number): number =>
  Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** Math.min(tries, 20))

/** A store whose reads and overwrites are repeated. Creates are not: of these, only what stands there tells the outcome. */
export function repeatingStore(store: ObjectStore, repeating: Repeating): Pick<ObjectStore, 'put' | 'get'> {
  const never = new AbortController().signal
  return {
    put: (key, body, signal = never) => repeated(repeating, signal, () => store.put(key, body, signal)),
    get: (key, options) => repeated(repeating, options.signal ?? never, () => store.get(key, options)),
  }
}
