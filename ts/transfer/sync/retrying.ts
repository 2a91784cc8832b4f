/** Calls that are repeated until they succeed. */
import { isTransientStatus, pauseMs, waitOnTimer } from '../../outbound/index.js'
import { PeerError } from '../peer/index.js'
import { PAUSE_FIRST_MS, PAUSE_LAST_MS } from './limits.js'

export interface Patience {
  log(line: string): void
  readonly signal: AbortSignal
}

/** Repeats a call while the target is unreachable, overloaded, full, or refuses the key. Throws when the signal aborts. */
export async function patiently<T>({ log, signal }: Patience, call: () => Promise<T>): Promise<T> {
  let said = ''
  for (let failures = 1; ; failures++) {
    signal.throwIfAborted()
    try {
      return await call()
    } catch (error) {
      signal.throwIfAborted()
      if (!isWorthRepeating(error)) throw error
      const { message } = error as Error
      if (message !== said) log(`${message}; trying again until it succeeds`)
      said = message
      await waitOnTimer(pauseMs(failures, { firstMs: PAUSE_FIRST_MS, lastMs: PAUSE_LAST_MS }), signal)
    }
  }
}

/** Thrown for a task that failed although its documents are valid. */
export class TransientTaskError extends Error {}

/** A wrong key is repeated too: keys are replaced while a sync runs. */
const isWorthRepeating = (error: unknown): boolean =>
  error instanceof TransientTaskError ||
  (error instanceof PeerError &&
    (error.status === null || isTransientStatus(error.status) || [401, 403].includes(error.status)))
