import type { Payload } from './batches.js'
import { documentsOf } from './fallback/indexing/payload.js'
import { writeJson } from './fallback/store/json.js'

/**
 * Yields the documents of an uploaded body of any format as NDJSON lines. Reads the body as a stream, so that memory is
 * bounded by the largest document.
 */
export async function* documentLines(payload: Payload): AsyncGenerator<string> {
  for await (const document of documentsOf(payload)) yield `${writeJson(document)}\n`
}
