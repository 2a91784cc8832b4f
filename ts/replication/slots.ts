/** A semaphore. */
export class Slots {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** Waits for a slot. Returns a function that releases it. @throws the reason of the signal */
  async take(signal: AbortSignal): Promise<() => void> {
    while (this.#free === 0 && !signal.aborted) await this.#change(signal)
    signal.throwIfAborted()
    this.#free--
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#free++
      for (const wake of [...this.#waiting]) wake()
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}
