/** Time limit for calls to the bucket during startup. */

import { LaunchError } from '../launch/index.js'
import { BucketError } from './object-store/index.js'
import type { ReplicationRequest } from './replicated-instance.js'

/** Milliseconds for which a start waits for the bucket. */
const START_MS = 10_000

type Waiting = Pick<ReplicationRequest, 'bucket' | 'signal' | 'log'>
/** @param unlimited removes the time limit: the start waits until the call ends */
type Call<T> = (signal: AbortSignal, unlimited: () => void) => Promise<T>

/**
 * Calls the bucket when the server can start without it, since it has local data.
 * @returns null if the call exceeds the time limit; the running server retries it
 */
export async function withinStart<T>(
  request: Waiting,
  call: Call<T>,
  reason: () => string = () => 'the bucket does not answer: the server starts without it and retries',
): Promise<T | null> {
  const outcome = await limited(request, call)
  if ('value' in outcome) return outcome.value
  request.log.warn({ err: outcome.failure }, reason())
  return null
}

/** Calls the bucket when the server cannot start without it. @throws LaunchError if the bucket does not answer */
export async function requiredToStart<T>(request: Waiting, call: Call<T>): Promise<T> {
  const outcome = await limited(request, call)
  if ('value' in outcome) return outcome.value
  const { message } = outcome.failure
  throw new LaunchError(
    `--bucket: ${message}; a server without data of its own needs the bucket at its start`,
    1,
    { cause: outcome.failure },
  )
}

async function limited<T>(
  { bucket, signal }: Waiting,
  call: Call<T>,
): Promise<{ readonly value: T } | { readonly failure: Error }> {
  const limit = new AbortController()
  const end = (): void => limit.abort(signal.reason)
  const timer = setTimeout(() => limit.abort(), START_MS)
  signal.addEventListener('abort', end)
  let last: Error | null = null
  bucket.onFailure((error) => {
    last = error
  })
  try {
    return { value: await call(limit.signal, () => clearTimeout(timer)) }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BucketError && error.isUnknown) return { failure: error }
    if (!limit.signal.aborted) throw error
    return { failure: last ?? new Error('the bucket does not answer') }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    bucket.onFailure(null)
  }
}
