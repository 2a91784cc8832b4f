/** Work that was refused because too much is waiting. */
export class LaneFullError extends Error {
  override readonly name = 'LaneFullError'
}

/** Runs pieces of work one at a time. */
export class Lane {
  readonly #waiting = new Set<() => void>()
  #isBusy = false

  /** @param waitingMax pieces of work that may wait for their turn */
  constructor(private readonly waitingMax = Number.POSITIVE_INFINITY) {}

  /**
   * Runs `work` when its turn comes. Work whose `signal` aborts before no longer waits.
   * @throws LaneFullError, the reason of `signal`, or the error of `work`
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    if (this.#isBusy) await this.#turn(signal)
    this.#isBusy = true
    try {
      return await work()
    } finally {
      const [next] = this.#waiting
      if (next === undefined) this.#isBusy = false
      // The lane stays busy, so that no other work overtakes the next.
      else next()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.waitingMax) throw new LaneFullError('too much work is waiting')
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(begin)
        signal.removeEventListener('abort', abort)
      }
      const begin = (): void => {
        leave()
        resolve()
      }
      const abort = (): void => {
        leave()
        reject(signal.reason)
      }
      this.#waiting.add(begin)
      signal.addEventListener('abort', abort)
    })
  }
}
