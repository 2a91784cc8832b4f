import { INLINE_KEPT_BYTES } from '../limits.js'
import { decodeBody } from '../log/body.js'
import type { FilePart, Log, ObjectStore, ReadPart } from '../object-store/index.js'

/** Reads parts of files from objects and from log records. Caches the inline parts of recent records. */
export class PartReader {
  readonly #log: Log
  readonly #store: Pick<ObjectStore, 'get'>
  /** Number of a log record → its inline parts, oldest first. */
  readonly #inline = new Map<number, Uint8Array>()
  #bytes = 0
  /** Reads in progress, so that a record is read once for all of its parts. */
  readonly #reading = new Map<number, Promise<Uint8Array | null>>()

  constructor(log: Log, store: Pick<ObjectStore, 'get'>) {
    this.#log = log
    this.#store = store
  }

  /** Caches the inline parts of a record that was read already. */
  remember(seq: number, inline: Uint8Array): void {
    if (inline.length === 0 || this.#inline.has(seq)) return
    this.#inline.set(seq, inline)
    this.#bytes += inline.length
    for (const [oldest, bytes] of this.#inline) {
      if (this.#bytes <= INLINE_KEPT_BYTES || oldest === seq) break
      this.#inline.delete(oldest)
      this.#bytes -= bytes.length
    }
  }

  reading(signal: AbortSignal): ReadPart {
    return async ({ location, bytes }: FilePart) => {
      if ('key' in location) {
        const { key, offset } = location
        const range = offset === undefined ? undefined : ([offset, offset + bytes - 1] as const)
        return this.#store.get(key, { bytesMax: bytes, range, signal })
      }
      const inline = await this.#inlineOf(location.seq, signal)
      return inline?.subarray(location.offset, location.offset + bytes) ?? null
    }
  }

  async #inlineOf(seq: number, signal: AbortSignal): Promise<Uint8Array | null> {
    const known = this.#inline.get(seq)
    if (known !== undefined) return known
    const reading = this.#reading.get(seq) ?? this.#read(seq, signal)
    this.#reading.set(seq, reading)
    try {
      return await reading
    } finally {
      this.#reading.delete(seq)
    }
  }

  async #read(seq: number, signal: AbortSignal): Promise<Uint8Array | null> {
    const record = await this.#log.read(seq, signal)
    if (record === null) return null
    const { inline } = decodeBody(seq, record.body)
    this.remember(seq, inline)
    return inline
  }
}
