/** Here is a start that needs a bucket: for how long does it wait, and what then? */
import { BucketError } from '../../bucket/index.js'
import { LaunchError } from '../../launch/index.js'
import type { KeptRequest } from './kept.js'

/** Milliseconds for which a start waits for the first answers of a bucket. */
const START_MS = 10_000

type Waiting = Pick<KeptRequest, 'bucket' | 'signal' | 'log'>
/** @param unlimited ends the limit of the start: it waits for as long as the call takes */
type Call<T> = (signal: AbortSignal, unlimited: () => void) => Promise<T>

/**
 * Calls a bucket without which the server can start, since the data is here.
 * @returns null: the call takes longer than a start waits, and is made again while the server runs
 */
export async function withinStart<T>(
  request: Waiting,
  call: Call<T>,
  reason: () => string = () => 'the bucket does not answer: the server starts without it, and asks again',
): Promise<T | null> {
  const outcome = await limited(request, call)
  if ('value' in outcome) return outcome.value
  request.log.warn({ err: outcome.failure }, reason())
  return null
}

/** Calls a bucket without which the server cannot start. @throws LaunchError if it does not answer */
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
