/** Groups documents into batches, one request each. */

import { BATCH_DOCUMENTS_MAX } from './limits.js'
import type { Format, Source } from './source.js'

/** Consecutive documents of an input. */
export interface Batch {
  readonly format: Format
  readonly header: Buffer
  readonly documents: readonly Buffer[]
  /** Position of the first document in the input, from 0. */
  readonly offset: number
  /** Bytes of the input that were read when the batch was complete. */
  readonly readBytes: number
}

/**
 * Yields the documents of a source in batches of about `bytesMax` bytes.
 * @param skipped number of documents to skip at the beginning
 */
export async function* batchesOf(source: Source, bytesMax: number, skipped: number): AsyncGenerator<Batch> {
  let documents: Buffer[] = []
  let [bytes, offset, position] = [0, skipped, 0]
  const { format, header } = source
  const taken = (): Batch => ({ format, header, documents, offset, readBytes: source.readBytes() })
  for await (const document of source.documents()) {
    position++
    if (position <= skipped) continue
    const isFull = bytes + document.length > bytesMax || documents.length === BATCH_DOCUMENTS_MAX
    if (documents.length > 0 && isFull) {
      yield taken()
      ;[documents, bytes, offset] = [[], 0, position - 1]
    }
    // Copied, so that the document does not keep the chunk of the file in memory.
    documents.push(Buffer.from(document))
    bytes += document.length
  }
  if (documents.length > 0) yield taken()
}

/** Splits a batch of several documents into halves. */
export function halvesOf(batch: Batch): readonly [Batch, Batch] {
  const half = Math.ceil(batch.documents.length / 2)
  return [
    { ...batch, documents: batch.documents.slice(0, half) },
    { ...batch, documents: batch.documents.slice(half), offset: batch.offset + half },
  ]
}

const separators: Readonly<Record<Format, string>> = { ndjson: '\n', json: ',', csv: '' }

/** The body of a request, and its content type. */
export function payloadOf({ format, header, documents }: Batch): {
  readonly body: Buffer
  readonly contentType: string
} {
  const separator = Buffer.from(separators[format])
  const parts = documents.flatMap((document) => [separator, document]).slice(1)
  const body = Buffer.concat(
    format === 'json' ? [Buffer.from('['), ...parts, Buffer.from(']')] : [header, ...parts],
  )
  return { body, contentType: contentTypes[format] }
}

const contentTypes: Readonly<Record<Format, string>> = {
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  csv: 'text/csv',
}
