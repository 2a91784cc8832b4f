import type { IndexId } from '../../index-id.js'

interface Changing {
  /** Number of the last change that began or ended. */
  number: number
  /** Changes in progress. */
  running: number
}

/** Numbers the changes of indexes, so that it is known which copies are up to date. */
export class Changes {
  readonly #indexes = new Map<IndexId, Changing>()
  #numbers = 0

  /** Returns the number of the newest change; null during a change, when the newest commit is not known. */
  newest(index: IndexId): number | null {
    const known = this.#indexes.get(index)
    if (known === undefined) return 0
    return known.running > 0 ? null : known.number
  }

  /** Forgets an index that is removed and has no copies. */
  forget(index: IndexId): void {
    this.#indexes.delete(index)
  }

  /** Runs a change. A copy from before it is out of date from its start on: a search must not see an older commit. */
  async during<T>(index: IndexId, change: () => Promise<T>): Promise<T> {
    const known = this.#indexes.get(index) ?? { number: 0, running: 0 }
    this.#indexes.set(index, known)
    known.running += 1
    try {
      return await change()
    } finally {
      known.running -= 1
      known.number = ++this.#numbers
    }
  }
}
