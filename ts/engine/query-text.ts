import { QUERY_BYTES_MAX } from './limits.js'

/** Truncates a query at a character boundary, after at most `QUERY_BYTES_MAX` bytes. */
export function searchedText(text: string): string {
  // A UTF-16 unit takes up to three bytes in UTF-8.
  if (text.length * 3 <= QUERY_BYTES_MAX) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(QUERY_BYTES_MAX))
  return read === text.length ? text : text.slice(0, read)
}
