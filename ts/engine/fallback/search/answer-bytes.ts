/**
 * Estimated bytes of an answer in addition to its documents. The system does not allocate memory that is not written
 * to.
 */
const FRAME_BYTES = 16_384
/** Estimated bytes of a hit in addition to its document, such as a score. */
const HIT_FRAME_BYTES = 64

/**
 * Builds an answer in a single buffer. Strings or parts of a complete answer would leave tens of megabytes of garbage
 * until the next collection.
 */
export class AnswerBytes {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FRAME_BYTES)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Reserves memory for documents of these lengths, so that little has to be copied. */
  expect(lengths: readonly number[]): void {
    this.#require(lengths.reduce((sum, length) => sum + length + HIT_FRAME_BYTES, FRAME_BYTES))
  }

  write(text: string): void {
    // A UTF-16 unit takes at most three bytes. The exact length is only computed if that may not fit.
    if (this.#length + text.length * 3 > this.#bytes.length) this.#require(Buffer.byteLength(text))
    this.#length += this.#bytes.write(text, this.#length)
  }

  /** Writes bytes that are already UTF-8. */
  copy(bytes: Uint8Array): void {
    this.#require(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** Returns the answer in at most twice its memory. Nothing may be written afterwards. */
  finish(): Uint8Array {
    const answer = this.#bytes.subarray(0, this.#length)
    return this.#length * 2 > this.#bytes.length ? answer : Buffer.from(answer)
  }

  #require(more: number): void {
    const length = this.#length + more
    if (length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
