/** Number of results kept. */
const KEPT_MAX = 8

/**
 * Caches reads of changes so that streams share them: after a change, all streams with one filter read the same, and
 * its JSON is made once.
 */
export class SharedReads<T> {
  readonly #reads = new Map<string, Promise<T>>()

  /**
   * Returns the result of `read`, or of another call with the same key since the last change.
   * @param isLasting true: the result stays valid until the next change; false: only concurrent calls share it
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

  /** Forgets all reads after a change. */
  clear(): void {
    this.#reads.clear()
  }
}
