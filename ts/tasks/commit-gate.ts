/**
 * Keeps commits apart from batches that read several commits as one state. Batches prepare and wait for their embedders
 * as they like; what they change becomes visible, from the commit of an index to the record of its outcome, only within
 * the gate. A reader waits until no batch is within that changes what it reads, and keeps such batches out meanwhile.
 */
export class CommitGate {
  readonly #inside = new Set<Passage>()
  readonly #readers = new Set<Reader>()
  /** Those who wait for one of the two sets to change. */
  readonly #waiting = new Set<() => void>()

  /**
   * Runs `read` while no batch is within that changes one of these indexes.
   * @param names uids of indexes; null: nothing at all is within
   */
  async keepOut<T>(names: readonly string[] | null, read: () => Promise<T>): Promise<T> {
    const reader: Reader = { names }
    this.#readers.add(reader)
    try {
      while ([...this.#inside].some((passage) => conflict(passage, reader))) await this.#change()
      return await read()
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
        if (this.#inside.delete(passage)) this.#changed()
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
  /** Does nothing if the batch is not within. */
  leave(): void
}

const conflict = (passage: Passage, { names }: Reader): boolean =>
  names === null || passage.names.some((name) => names.includes(name))
