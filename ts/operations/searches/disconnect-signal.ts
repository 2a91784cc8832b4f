import type { StopSignal } from '../../engine/index.js'

/**
 * Signals that the client of a search has disconnected.
 *
 * Creating an `AbortSignal` takes 20 µs, so it is created only on request.
 */
export class DisconnectSignal implements StopSignal {
  readonly #listeners: (() => void)[] = []
  #controller: AbortController | null = null
  #aborted = false

  /** Waits for another service, such as an embedder. A search in the queue frees its slot meanwhile. */
  waitFor<T>(service: () => Promise<T>): Promise<T> {
    return service()
  }

  get aborted(): boolean {
    return this.#aborted
  }

  /** An `AbortSignal` that aborts at the same time, for Node.js functions. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted) this.#controller.abort()
    return this.#controller.signal
  }

  addEventListener(_: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener)
    if (at !== -1) this.#listeners.splice(at, 1)
  }

  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    for (const listener of [...this.#listeners]) listener()
    this.#controller?.abort()
  }
}
