import { decodeBody, type FilePart, type Log, type ObjectStore, type ReadPart } from '../bucket/index.js'

/** Reads parts of files from objects and from entries of the log; the entry that was read last is not read again. */
export function partReader(log: Log, store: ObjectStore, signal: AbortSignal): ReadPart {
  let last: { readonly seq: number; readonly inline: Uint8Array } | null = null
  return async ({ place, bytes }: FilePart) => {
    if ('key' in place) {
      const { key, at } = place
      // No range is empty.
      if (bytes === 0) return new Uint8Array()
      const range = at === undefined ? {} : { range: [at, at + bytes - 1] as const }
      return store.get(key, { bytesMax: bytes, ...range, signal })
    }
    if (last?.seq !== place.seq) {
      const entry = await log.read(place.seq, signal)
      if (entry === null) return null
      last = { seq: place.seq, inline: decodeBody(entry.body).inline }
    }
    return last.inline.subarray(place.at, place.at + bytes)
  }
}
