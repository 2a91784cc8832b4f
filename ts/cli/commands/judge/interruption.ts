import { LaunchError } from '../../../launch/index.js'

/**
 * Calls `use` with a signal that SIGINT and SIGTERM abort, so that it can remove its files. A second signal ends the
 * process at once.
 * @throws LaunchError after an interruption
 */
export async function interruptible<T>(use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const interrupt = (): void => stop.abort(new LaunchError('judge: interrupted', 1))
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt)
  try {
    return await use(stop.signal)
  } catch (error) {
    // Aborted calls fail with messages of their own.
    throw stop.signal.aborted ? stop.signal.reason : error
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, interrupt)
  }
}
