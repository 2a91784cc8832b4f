/** Bounds how much is done at the same time. */
export class Slots {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** Waits for a slot. @returns gives it back @throws the reason of the signal */
  async take(signal: AbortSignal): Promise<() => void> {
    while (this.#free === 0 && !signal.aborted) await this.#change(signal)
    signal.throwIfAborted()
    this.#free--
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#free++
      for (const goOn of [...this.#waiting]) goOn()
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        this.#waiting.delete(goOn)
        signal.removeEventListener('abort', goOn)
        resolve()
      }
      this.#waiting.add(goOn)
      signal.addEventListener('abort', goOn, { once: true })
    })
  }
}
