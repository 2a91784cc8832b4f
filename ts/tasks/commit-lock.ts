/**
 * Lets a reader see several indexes and the task store as one consistent state. Batches may prepare and embed at any
 * time. From the commit of an index until its outcome is recorded, they hold a guard. A reader waits until no batch
 * holds a guard for an index that it reads, and blocks new guards for these indexes while it reads.
 */
export class CommitLock {
  readonly #held = new Set<CommitGuard>()
  /** Guards of batches whose outcome could not be recorded. They are held until restart. */
  readonly #poisoned = new Set<CommitGuard>()
  readonly #readers = new Set<Reader>()
  /** Callbacks for the next change of these sets. */
  readonly #waiting = new Set<() => void>()

  /**
   * Runs `read` while no batch commits to one of these indexes.
   * @param names uids of indexes; null: all
   * @throws Error if an index has a commit whose outcome cannot be recorded before the next start
   */
  async holdCommits<T>(names: readonly string[] | null, read: () => Promise<T>): Promise<T> {
    const reader: Reader = { names }
    this.#readers.add(reader)
    try {
      for (;;) {
        const conflicting = [...this.#held].filter((guard) => conflict(guard, reader))
        if (conflicting.some((guard) => this.#poisoned.has(guard)))
          throw new Error(
            'the outcome of a batch could not be recorded, so its index cannot be copied: restart the server',
          )
        if (conflicting.length === 0) return await read()
        await this.#change()
      }
    } finally {
      this.#readers.delete(reader)
      this.#changed()
    }
  }

  /** Returns the guard of a batch, not yet held. @param names uids of the indexes that the batch changes */
  guard(names: readonly string[], signal: AbortSignal): CommitGuard {
    const guard: CommitGuard = {
      names,
      acquire: async () => {
        while (!this.#held.has(guard)) {
          if (![...this.#readers].some((reader) => conflict(guard, reader))) this.#held.add(guard)
          else if (signal.aborted) return false
          else await this.#change(signal)
        }
        return true
      },
      release: () => {
        if (!this.#poisoned.has(guard) && this.#held.delete(guard)) this.#changed()
      },
      poison: () => {
        if (!this.#held.has(guard)) return
        this.#poisoned.add(guard)
        this.#changed()
      },
    }
    return guard
  }

  #changed(): void {
    for (const resume of [...this.#waiting]) resume()
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

/** Held by one batch while the state of its indexes and of the task store may differ. */
export interface CommitGuard {
  readonly names: readonly string[]
  /** Resolves to true once the guard is held, or to false if the batch was interrupted first. */
  acquire(): Promise<boolean>
  /** Does nothing if the guard is not held or is poisoned. */
  release(): void
  /** Keeps a held guard until restart, because the outcome of its batch cannot be recorded. */
  poison(): void
}

const conflict = (guard: CommitGuard, { names }: Reader): boolean =>
  names === null || guard.names.some((name) => names.includes(name))
