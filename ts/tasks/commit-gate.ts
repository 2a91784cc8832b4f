/**
 * Keeps commits apart from batches that read several commits as one state. Batches prepare and wait for their embedders
 * as they like; what they change becomes visible, from the commit of an index to the record of its outcome, only within
 * the gate. A reader waits until no batch is within that changes what it reads, and keeps such batches out meanwhile.
 */
export class CommitGate {
  readonly #inside = new Set<Passage>()
  /** Those within that never leave. */
  readonly #broken = new Set<Passage>()
  readonly #readers = new Set<Reader>()
  /** Those who wait for one of the two sets to change. */
  readonly #waiting = new Set<() => void>()

  /**
   * Runs `read` while no batch is within that changes one of these indexes.
   * @param names uids of indexes; null: nothing at all is within
   * @throws Error if one of them has a commit whose outcome will not be recorded before the next start
   */
  async keepOut<T>(names: readonly string[] | null, read: () => Promise<T>): Promise<T> {
    const reader: Reader = { names }
    this.#readers.add(reader)
    try {
      for (;;) {
        const inside = [...this.#inside].filter((passage) => conflict(passage, reader))
        if (inside.some((passage) => this.#broken.has(passage)))
          throw new Error(
            'what a batch did could not be recorded, so that its index cannot be copied: start again',
          )
        if (inside.length === 0) return await read()
        await this.#change()
      }
    } finally {
      this.#readers.delete(reader)
      this.#changed()
    }
  }

  /** The way of one batch through the gate. @param names uids of the indexes that it changes */
  passage(names: readonly string[], signal: AbortSignal): Passage {
    const passage: Passage = {
      names,
      enter: async () => {
        while (!this.#inside.has(passage)) {
          if (![...this.#readers].some((reader) => conflict(passage, reader))) this.#inside.add(passage)
          else if (signal.aborted) return false
          else await this.#change(signal)
        }
        return true
      },
      leave: () => {
        if (!this.#broken.has(passage) && this.#inside.delete(passage)) this.#changed()
      },
      breakOff: () => {
        if (!this.#inside.has(passage)) return
        this.#broken.add(passage)
        this.#changed()
      },
    }
    return passage
  }

  #changed(): void {
    for (const goOn of [...this.#waiting]) goOn()
  }

  /** Resolves at the next change, or once the signal is aborted. */
  #change(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      signal?.addEventListener('abort', done, { once: true })
    })
  }
}

interface Reader {
  readonly names: readonly string[] | null
}

/** The way of one batch through the gate. */
export interface Passage {
  readonly names: readonly string[]
  /** Resolves once the batch is within the gate; false if it was interrupted first. */
  enter(): Promise<boolean>
  /** Does nothing if the batch is not within, or was broken off. */
  leave(): void
  /** The outcome of the batch, if it is within, will not be recorded by this process: its indexes may not be read. */
  breakOff(): void
}

const conflict = (passage: Passage, { names }: Reader): boolean =>
  names === null || passage.names.some((name) => names.includes(name))
