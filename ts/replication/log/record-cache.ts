import type { LogRecord } from './log-record.js'

/** Estimated bytes of a record in memory without its body. */
const HEAD_BYTES = 512

/** Log records in memory, up to a number of bytes. A record never changes once it is in the log. */
export class RecordCache {
  readonly #records = new Map<number, LogRecord>()
  #bytesMax = 0
  #bytes = 0

  /** Sets the limit. Drops all records if it is 0. */
  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax
    if (bytesMax > 0) return
    this.#records.clear()
    this.#bytes = 0
  }

  get(seq: number): LogRecord | undefined {
    return this.#records.get(seq)
  }

  /** Adds a record if it fits. */
  add(seq: number, record: LogRecord): void {
    const bytes = HEAD_BYTES + record.body.length
    if (this.#records.has(seq) || this.#bytes + bytes > this.#bytesMax) return
    this.#records.set(seq, record)
    this.#bytes += bytes
  }
}
