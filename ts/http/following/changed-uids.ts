import { UNSENT_CHANGES_MAX } from '../limits.js'

/** Number of lists kept before they are joined. */
const LISTS_MAX = 1_000

/**
 * The uids of changes that a stream has not sent yet.
 *
 * A change of many tasks reaches all streams as one shared list. A round sorts all uids noted so far. Uids noted during
 * a round wait for the next one.
 */
export class ChangedUids {
  #noted: (readonly number[])[] = []
  #notedCount = 0
  /** Ascending, each uid once. */
  #round: Uint32Array = new Uint32Array()
  #at = 0

  get isEmpty(): boolean {
    return this.#notedCount === 0 && this.#at === this.#round.length
  }

  /** @returns false if more than `UNSENT_CHANGES_MAX` uids wait */
  add(uids: readonly number[]): boolean {
    this.#noted.push(uids)
    this.#notedCount += uids.length
    const isFull = this.#notedCount + this.#round.length - this.#at > UNSENT_CHANGES_MAX
    if (isFull || this.#noted.length > LISTS_MAX) this.#begin()
    return this.#round.length - this.#at + this.#notedCount <= UNSENT_CHANGES_MAX
  }

  /** Removes and returns the next uids, ascending within a round. */
  taken(max: number): readonly number[] {
    if (this.#at === this.#round.length) this.#begin()
    const uids = [...this.#round.subarray(this.#at, this.#at + max)]
    this.#at += uids.length
    return uids
  }

  clear(): void {
    this.#noted = []
    this.#notedCount = 0
    this.#round = new Uint32Array()
    this.#at = 0
  }

  /** Begins a round with all waiting uids. */
  #begin(): void {
    const left = this.#round.subarray(this.#at)
    const all = new Uint32Array(left.length + this.#notedCount)
    all.set(left)
    let end = left.length
    for (const uids of this.#noted) {
      all.set(uids, end)
      end += uids.length
    }
    all.sort()
    let distinct = 0
    for (const [at, uid] of all.entries()) if (at === 0 || uid !== all[at - 1]) all[distinct++] = uid
    this.clear()
    this.#round = all.slice(0, distinct)
  }
}
