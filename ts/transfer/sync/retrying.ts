/** Calls that are repeated until they succeed. */
import { isTransientStatus, pauseMs, waitOnTimer } from '../../outbound/index.js'
import { PeerError } from '../peer/index.js'
import { PAUSE_FIRST_MS, PAUSE_LAST_MS } from './limits.js'
import { isSourceError } from './source.js'

export interface Patience {
  log(line: string): void
  readonly signal: AbortSignal
}

/** Repeats a call while the database cannot be reached. @throws SourceError if it refuses the call */
export function onceReachable<T>(call: () => Promise<T>, patience: Patience): Promise<T> {
  return repeating(patience, call, (error) => isSourceError(error) && error.isTransient)
}

/** Repeats a call while the target is unreachable, overloaded, full, or refuses the key. Throws when the signal aborts. */
export const patiently = <T>(patience: Patience, call: () => Promise<T>): Promise<T> =>
  repeating(patience, call, isWorthRepeating)

async function repeating<T>(
  { log, signal }: Patience,
  call: () => Promise<T>,
  isTransient: (error: unknown) => boolean,
): Promise<T> {
  let said = ''
  for (let failures = 1; ; failures++) {
    signal.throwIfAborted()
    try {
      return await call()
    } catch (error) {
      signal.throwIfAborted()
      if (!isTransient(error)) throw error
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
