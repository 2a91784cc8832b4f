import { BucketError } from '../../bucket/index.js'
import type { KeptRequest } from './kept.js'

/** Milliseconds for which a start waits for the bucket if the data is here. Then the server starts without it. */
const START_MS = 10_000

/** @returns null: the bucket does not answer, and is asked again while the server runs */
export async function withinStart<T>(
  { signal, log }: Pick<KeptRequest, 'signal' | 'log'>,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const limit = new AbortController()
  const end = (): void => limit.abort(signal.reason)
  const timer = setTimeout(() => limit.abort(), START_MS)
  signal.addEventListener('abort', end)
  try {
    return await call(limit.signal)
  } catch (error) {
    signal.throwIfAborted()
    const isAway = limit.signal.aborted || (error instanceof BucketError && error.isUnknown)
    if (!isAway) throw error
    log.warn({ err: error }, 'the bucket does not answer: the server starts without it, and asks again')
    return null
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}
