/**
 * Puts chunks together into one run of bytes.
 *
 * A client can send its body in chunks of one byte, and each chunk is an object of a hundred bytes that may hold on to
 * the 64 KiB it was read in; so what they hold is copied as they come.
 */
export class ByteCollector {
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0

  push(chunk: Buffer): void {
    if (this.#length === 0) {
      // Most bodies are one chunk, which needs no copy.
      this.#bytes = chunk
      this.#length = chunk.length
      return
    }
    const length = this.#length + chunk.length
    if (length > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length))
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    chunk.copy(this.#bytes, this.#length)
    this.#length = length
  }

  /** All of it so far; what is pushed later may or may not show. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }
}
