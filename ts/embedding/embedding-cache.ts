/** A least-recently-used cache of at most `max` values. */
export class EmbeddingCache<V> {
  readonly #values = new Map<string, V>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get(key: string): V | undefined {
    const value = this.#values.get(key)
    if (value !== undefined) {
      // A map iterates in insertion order, so its first key is the least recently used.
      this.#values.delete(key)
      this.#values.set(key, value)
    }
    return value
  }

  put(key: string, value: V): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    const [oldest] = this.#values.keys()
    if (this.#values.size > this.#max && oldest !== undefined) this.#values.delete(oldest)
  }
}
