import { QUERY_BYTES_MAX } from './limits.js'

/** The part of a query that is searched for: it ends at a character, after at most `QUERY_BYTES_MAX` bytes. */
export function searchedText(text: string): string {
  // A unit of UTF-16 takes up to three bytes.
  if (text.length * 3 <= QUERY_BYTES_MAX) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(QUERY_BYTES_MAX))
  return read === text.length ? text : text.slice(0, read)
}
