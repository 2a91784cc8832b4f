/** Runs pieces of work one at a time. */
export class Lane {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs `work` when its turn comes, unless `signal` has aborted by then. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const turn = this.#last.then(() => {
      signal.throwIfAborted()
      return work()
    })
    this.#last = turn.catch(() => undefined)
    return turn
  }
}
