/**
 * Finds the primary key of an index and the id of a document.
 *
 * Source: documents §2.
 */
import type { ErrorCode } from '../../../errors/index.js'
import { cutText } from '../../../parse/index.js'
import { ID_BYTES_MAX } from '../limits.js'
import { type Json, JsonNumber, type JsonObject, writeJson } from '../store/json.js'

/** An operation that fails because of a user's mistake. */
export class OperationError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** The only top-level name of `document` that ends with `id`. @throws OperationError if there is not exactly one */
export function inferPrimaryKey(document: JsonObject): string {
  const candidates = [...document.keys()].filter((name) => name.toLowerCase().endsWith('id')).sort()
  if (candidates.length === 1) return candidates[0]!
  if (candidates.length === 0)
    throw new OperationError(
      'index_primary_key_no_candidate_found',
      'no field of the first document ends with `id`, so there is no candidate for the primary key; ' +
        'name it with the `primaryKey` parameter',
    )
  throw new OperationError(
    'index_primary_key_multiple_candidates_found',
    `${candidates.length} fields of the first document end with \`id\` and could be the primary key, ` +
      `among them \`${candidates[0]}\` and \`${candidates[1]}\`; name it with the \`primaryKey\` parameter`,
  )
}

/** Returns true for a valid document id. */
export const isValidId = (id: string): boolean =>
  /^[A-Za-z0-9_-]+$/.test(id) && Buffer.byteLength(id) <= ID_BYTES_MAX

/** All values at a dotted key: the flat field and every nesting of it, but not through arrays. */
function valuesAt(object: JsonObject, key: string): Json[] {
  const found: Json[] = []
  const flat = object.get(key)
  if (flat !== undefined) found.push(flat)
  for (let dot = key.indexOf('.'); dot !== -1; dot = key.indexOf('.', dot + 1)) {
    const child = object.get(key.slice(0, dot))
    if (child instanceof Map) found.push(...valuesAt(child, key.slice(dot + 1)))
  }
  return found
}

/** Id of a document as text; numbers and strings with the same text are equal. @throws OperationError */
export function documentId(document: JsonObject, primaryKey: string): string {
  const values = valuesAt(document, primaryKey)
  if (values.length === 0)
    throw new OperationError(
      'missing_document_id',
      `the document lacks its primary key \`${primaryKey}\`: ${shortened(document)}`,
    )
  if (values.length > 1)
    throw new OperationError(
      'invalid_document_id',
      `the primary key \`${primaryKey}\` leads to several values in the document ${shortened(document)}`,
    )
  const value = values[0]!
  const id =
    typeof value === 'string'
      ? value
      : value instanceof JsonNumber && /^-?\d+$/.test(value.text)
        ? value.text
        : null
  if (id === null || !isValidId(id))
    throw new OperationError(
      'invalid_document_id',
      `${shortened(value)} is no document id: integers, and strings of at most ${ID_BYTES_MAX} characters ` +
        'out of a-z A-Z 0-9 - _ are',
    )
  return id
}

/** JSON for a message, truncated to a readable length. */
function shortened(value: Json): string {
  const text = writeJson(value)
  return `\`${text.length > 200 ? `${cutText(text, 200)}…` : text}\``
}
