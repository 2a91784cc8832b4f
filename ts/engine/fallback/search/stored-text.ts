/** Here is a stored document: may its text be shown as it is, without being parsed? */

/**
 * The text of a document, null if it must be parsed: vectors that a client sent lie in it, and are shown on request
 * alone. Stored texts are written as answers are, so that both ways give the same bytes.
 */
export function storedText(source: Uint8Array): string | null {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.length)
  return bytes.includes('"_vectors"') ? null : bytes.toString()
}
