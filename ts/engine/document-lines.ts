import type { Payload } from './engine.js'
import { documentsOf } from './fallback/indexing/payload.js'
import { writeJson } from './fallback/store/json.js'

/**
 * The documents of an uploaded body as NDJSON, one line each, whatever its format. Read as a stream, so
 * that memory is bounded by the largest document.
 */
export async function* documentLines(payload: Payload): AsyncGenerator<string> {
  for await (const document of documentsOf(payload)) yield `${writeJson(document)}\n`
}
