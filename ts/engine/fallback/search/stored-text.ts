/** Decides if the stored bytes of a document can be shown without parsing. */

/**
 * Returns false if the document contains vectors from a client, which are shown only on request. Stored JSON is written
 * like answers, so both ways give the same bytes.
 */
export function isShownAsStored({ buffer, byteOffset, length }: Uint8Array): boolean {
  return !Buffer.from(buffer, byteOffset, length).includes('"_vectors"')
}
