/** Hooks that load data and track its state: loaded, loading, failed. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { Failure, isAbort } from '../api/client.ts'

export interface Loaded<T> {
  /** The last answer. Stays until the next one arrives, so that the layout does not jump. */
  readonly value: T | null
  readonly failure: Failure | null
  readonly isLoading: boolean
  readonly reload: () => void
}

/**
 * Loads when a dependency changes, and drops outdated answers.
 * @param load null loads nothing
 * @param delayMs delay before loading, restarted by each change
 */
export function useLoaded<T>(
  load: ((signal: AbortSignal) => Promise<T>) | null,
  dependencies: readonly unknown[],
  delayMs = 0,
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: null,
    failure: null,
    isLoading: load !== null,
  })
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    if (latest.current === null) {
      setState({ value: null, failure: null, isLoading: false })
      return
    }
    const abort = new AbortController()
    setState((now) => ({ ...now, isLoading: true }))
    const timer = setTimeout(() => {
      latest.current?.(abort.signal).then(
        (value) => !abort.signal.aborted && setState({ value, failure: null, isLoading: false }),
        (error: unknown) =>
          isAbort(error) ||
          abort.signal.aborted ||
          setState((now) => ({ ...now, failure: asFailure(error), isLoading: false })),
      )
    }, delayMs)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [...dependencies, round])
  return { ...state, reload: useCallback(() => setRound((now) => now + 1), []) }
}

/** Like `useLoaded`, but repeats `everyMs` after each answer while the tab is visible. */
export function usePolled<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
  everyMs: number,
): Loaded<T> {
  const loaded = useLoaded(load, dependencies)
  const { isLoading, reload } = loaded
  useEffect(() => {
    if (isLoading) return
    const next = (): void => {
      if (!document.hidden) reload()
    }
    const timer = setTimeout(next, everyMs)
    document.addEventListener('visibilitychange', next)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', next)
    }
  }, [isLoading, reload, everyMs])
  return loaded
}

export function asFailure(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure(0, 'page', String((error as Error)?.message ?? error))
}
