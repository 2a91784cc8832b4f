import type { FilePart, Log, ObjectStore, ReadPart } from '../bucket/index.js'
import { decodeBody } from './body.js'

/** Reads parts of files from objects and from entries of the log; the entry that was read last is not read again. */
export function partReader(log: Log, store: Pick<ObjectStore, 'get'>, signal: AbortSignal): ReadPart {
  let last: { readonly seq: number; readonly inline: Uint8Array } | null = null
  return async ({ location, bytes }: FilePart) => {
    if ('key' in location) {
      const { key, offset } = location
      const range = offset === undefined ? {} : { range: [offset, offset + bytes - 1] as const }
      return store.get(key, { bytesMax: bytes, ...range, signal })
    }
    if (last?.seq !== location.seq) {
      const entry = await log.read(location.seq, signal)
      if (entry === null) return null
      last = { seq: location.seq, inline: decodeBody(entry.body).inline }
    }
    return last.inline.subarray(location.offset, location.offset + bytes)
  }
}
