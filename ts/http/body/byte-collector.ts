/**
 * Joins chunks into one buffer.
 *
 * Copies every chunk after the first. A chunk is an object of about a hundred bytes that may keep alive the 64 KiB
 * buffer of its socket read, and a client can send its body in chunks of one byte.
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

  /** Returns all bytes so far, as a view into the memory of this collector. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }
}
