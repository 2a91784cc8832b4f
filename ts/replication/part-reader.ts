import type { FilePart, Log, ObjectStore, ReadPart } from '../bucket/index.js'
import { decodeBody } from './body.js'
import { INLINE_KEPT_BYTES } from './limits.js'

/** Reads parts of files from objects and from entries of the log. Entries that were read of late are not read again. */
export class PartReader {
  readonly #log: Log
  readonly #store: Pick<ObjectStore, 'get'>
  /** Number of an entry → its short parts, the oldest first. */
  readonly #inline = new Map<number, Uint8Array>()
  #bytes = 0
  /** Entries that are being read, so that each is read once for all of its parts. */
  readonly #reading = new Map<number, Promise<Uint8Array | null>>()

  constructor(log: Log, store: Pick<ObjectStore, 'get'>) {
    this.#log = log
    this.#store = store
  }

  /** Keeps the short parts of an entry that was read already. */
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
        const range = offset === undefined ? {} : { range: [offset, offset + bytes - 1] as const }
        return this.#store.get(key, { bytesMax: bytes, ...range, signal })
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
    const entry = await this.#log.read(seq, signal)
    if (entry === null) return null
    const { inline } = decodeBody(seq, entry.body)
    this.remember(seq, inline)
    return inline
  }
}
