/**
 * Keeps commits apart from batches that read the whole instance. Batches prepare and wait for their embedders as they
 * like; what they change becomes visible, from the commit of an index to the record of its outcome, only within the
 * gate. A batch that reads the whole instance waits until none is within, and keeps others out as long as it reads.
 */
export class CommitGate {
  #inside = 0
  /** The readers, one after another. */
  #last: Promise<void> = Promise.resolve()
  #readers = 0
  #emptied: () => void = () => undefined
  readonly #waiting = new Set<() => void>()

  /**
   * Resolves once the caller is within; `leave` ends that.
   * @returns false if the signal was aborted first; then the caller is not within
   */
  async enter(signal: AbortSignal): Promise<boolean> {
    while (this.#readers > 0) {
      if (signal.aborted) return false
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#waiting.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        this.#waiting.add(done)
        signal.addEventListener('abort', done, { once: true })
      })
    }
    this.#inside++
    return true
  }

  leave(): void {
    this.#inside--
    if (this.#inside === 0) this.#emptied()
  }

  /** Runs `read` while nothing is within. */
  async keepOut<T>(read: () => Promise<T>): Promise<T> {
    this.#readers++
    const before = this.#last
    let end: () => void = () => undefined
    this.#last = new Promise((resolve) => {
      end = resolve
    })
    try {
      await before
      if (this.#inside > 0)
        await new Promise<void>((resolve) => {
          this.#emptied = resolve
        })
      return await read()
    } finally {
      this.#readers--
      end()
      if (this.#readers === 0) for (const goOn of [...this.#waiting]) goOn()
    }
  }
}

/** The passage of one batch through the gate. */
export class Passage {
  readonly #gate: CommitGate
  readonly #signal: AbortSignal
  #isWithin = false

  constructor(gate: CommitGate, signal: AbortSignal) {
    this.#gate = gate
    this.#signal = signal
  }

  /** Resolves once the batch is within the gate; false if it was interrupted first. */
  async enter(): Promise<boolean> {
    this.#isWithin ||= await this.#gate.enter(this.#signal)
    return this.#isWithin
  }

  leave(): void {
    if (this.#isWithin) this.#gate.leave()
    this.#isWithin = false
  }
}
