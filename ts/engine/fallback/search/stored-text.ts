/** Here is a stored document: may its bytes be shown as they are, without being parsed? */

/**
 * Not if vectors that a client sent lie in it, which are shown on request alone. Stored texts are written as answers are,
 * so that both ways give the same bytes.
 */
export function isShownAsStored({ buffer, byteOffset, length }: Uint8Array): boolean {
  return !Buffer.from(buffer, byteOffset, length).includes('"_vectors"')
}
