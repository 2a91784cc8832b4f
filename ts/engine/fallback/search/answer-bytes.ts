/** What an answer may have beside its documents. Memory that is not written to is not taken from the system. */
const FRAME_BYTES = 16_384
/** What a hit may have beside its document, such as a score. */
const HIT_FRAME_BYTES = 64

/**
 * The bytes of an answer, written text by text into one run of memory: texts or parts of a whole answer would be garbage
 * of tens of megabytes, which goes when the collector next looks.
 */
export class AnswerBytes {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FRAME_BYTES)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Prepares for documents of these lengths, so that little has to be moved. */
  expect(lengths: readonly number[]): void {
    this.#require(lengths.reduce((sum, length) => sum + length + HIT_FRAME_BYTES, FRAME_BYTES))
  }

  write(text: string): void {
    // A character takes at most three bytes, and is counted only where that may not fit.
    if (this.#length + text.length * 3 > this.#bytes.length) this.#require(Buffer.byteLength(text))
    this.#length += this.#bytes.write(text, this.#length)
  }

  /** Writes what is UTF-8 already. */
  copy(bytes: Uint8Array): void {
    this.#require(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** The answer, in memory that nothing else shares. Nothing more may be written. */
  taken(): Uint8Array {
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
