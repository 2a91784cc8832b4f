/** Reads that are kept for streams that ask for the same. */
const KEPT_MAX = 8

/**
 * Reads of what has changed, which streams share: all streams with one filter read the same after the same change, and
 * its JSON is made once.
 */
export class SharedReads<T> {
  readonly #reads = new Map<string, Promise<T>>()

  /**
   * The result of `read`, or of another call with the same key since the last change.
   * @param isLasting whether only changes alter the result; if not, only calls at the same time share it
   */
  read(key: string, isLasting: boolean, read: () => Promise<T>): Promise<T> {
    const known = this.#reads.get(key)
    if (known !== undefined) return known
    const reading = read()
    this.#reads.set(key, reading)
    const forget = (): void => {
      if (this.#reads.get(key) === reading) this.#reads.delete(key)
    }
    if (isLasting) reading.catch(forget)
    else reading.then(forget, forget)
    const [oldest] = this.#reads.keys()
    if (this.#reads.size > KEPT_MAX && oldest !== undefined) this.#reads.delete(oldest)
    return reading
  }

  /** Forgets all reads, which something has changed since. */
  clear(): void {
    this.#reads.clear()
  }
}
