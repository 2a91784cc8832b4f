import { setMaxListeners } from 'node:events'

export interface LinkedSignal {
  readonly signal: AbortSignal
  /** True once the time limit has passed. */
  readonly isLate: boolean
  /** Detaches the signal from its sources and ends the time limit. Call this when the work has ended. */
  unlink(): void
}

/**
 * Returns a signal that aborts with the first of its sources, or after `limitMs`. The limit does not keep a process alive.
 *
 * `AbortSignal.any` does not suffice: on Node.js 20 and 22 a garbage collection can end the time limit of an
 * `AbortSignal.timeout` among its sources, and each call leaves an object at a source until the source is freed.
 */
export function linkedSignal(
  sources: readonly (AbortSignal | undefined)[],
  limitMs: number | null = null,
): LinkedSignal {
  const linked = new AbortController()
  const links: (() => void)[] = []
  let isLate = false
  const unlink = (): void => {
    for (const end of links.splice(0)) end()
  }
  const abort = (reason: unknown): void => {
    unlink()
    linked.abort(reason)
  }
  for (const source of sources) {
    if (source === undefined) continue
    if (source.aborted) {
      abort(source.reason)
      break
    }
    const follow = (): void => abort(source.reason)
    // Many calls may follow the signal of a module that lives as long as the process.
    setMaxListeners(0, source)
    source.addEventListener('abort', follow, { once: true })
    links.push(() => source.removeEventListener('abort', follow))
  }
  if (limitMs !== null && !linked.signal.aborted) {
    const timer = setTimeout(() => {
      isLate = true
      abort(new DOMException(`not ended within ${limitMs} ms`, 'TimeoutError'))
    }, limitMs)
    timer.unref()
    links.push(() => clearTimeout(timer))
  }
  return {
    signal: linked.signal,
    get isLate() {
      return isLate
    },
    unlink,
  }
}
