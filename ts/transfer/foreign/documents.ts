/** Turns documents of another engine into documents of this API. */
import { createHash } from 'node:crypto'
import { counted, type JsonNode, readJsonText, toText } from '../../parse/index.js'
import { type DocumentForm, ForeignError } from './foreign.js'
import { ID_BYTES_MAX } from './limits.js'

/** Field with the id of the source, if it is not allowed here. */
const ORIGINAL_ID = 'original_id'

const allowed = /^[A-Za-z0-9_-]+$/

/** Returns the id of a document here. Ids with other characters are encoded, since the API refuses them. */
export function documentId(id: string): string {
  if (allowed.test(id) && id.length <= ID_BYTES_MAX) return id
  const encoded = Buffer.from(id).toString('base64url')
  return encoded !== '' && encoded.length <= ID_BYTES_MAX
    ? encoded
    : createHash('sha256').update(id).digest('hex')
}

/** Converts documents of one index and counts what it changes. */
export class DocumentConverter {
  readonly #form: DocumentForm
  #encodedIds = 0
  #ownOriginals = 0
  #unusablePlaces = 0
  #unusableVectors = 0

  constructor(form: DocumentForm) {
    this.#form = form
  }

  /** Returns the document as JSON. Members that need no change keep their text, with all digits of their numbers. */
  convert(json: Buffer): string {
    const { idField, removed, geo, vectors } = this.#form
    const document = parsed(json)
    const before = { ...document }
    let isChanged = false
    const id = document[idField]
    if (typeof id !== 'string' && typeof id !== 'number')
      throw new ForeignError(`a document has no \`${idField}\`: ${json.toString().slice(0, 200)}`)
    const ownId = documentId(String(id))
    if (ownId !== String(id)) {
      document[idField] = ownId
      if (Object.hasOwn(document, ORIGINAL_ID)) this.#ownOriginals++
      else document[ORIGINAL_ID] = id
      this.#encodedIds++
      isChanged = true
    }
    for (const field of removed)
      if (field in document) {
        delete document[field]
        isChanged = true
      }
    if (geo !== null && geo.field in document) {
      const place = placeOf(document[geo.field], geo.order)
      if (place === null) this.#unusablePlaces++
      else document._geo = place
      if (geo.field !== '_geo') delete document[geo.field]
      isChanged = true
    }
    if (vectors.length > 0) {
      document._vectors = Object.fromEntries(vectors.map((field) => [field, this.#vector(document[field])]))
      for (const field of vectors) delete document[field]
      isChanged = true
    }
    return isChanged ? textOf(document, before, json) : json.toString()
  }

  #vector(value: unknown): readonly number[] | null {
    if (value === undefined || value === null) return null
    if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'number'))
      return value
    this.#unusableVectors++
    return null
  }

  /** Lines about documents that are not as they were. */
  remarks(): readonly string[] {
    const { idField, geo } = this.#form
    const lines: string[] = []
    if (this.#encodedIds > 0)
      lines.push(
        `the ids of ${counted(this.#encodedIds, 'document')}: they have characters that ids here cannot have, so \`${idField}\` is encoded and \`${ORIGINAL_ID}\` keeps them`,
      )
    if (this.#ownOriginals > 0)
      lines.push(
        `the original ids of ${counted(this.#ownOriginals, 'document')}: they have a field \`${ORIGINAL_ID}\` of their own, which is kept`,
      )
    if (this.#unusablePlaces > 0)
      lines.push(
        `the places of ${counted(this.#unusablePlaces, 'document')}: \`${geo?.field}\` is not one pair of numbers`,
      )
    if (this.#unusableVectors > 0)
      lines.push(`${counted(this.#unusableVectors, 'vector')}: not lists of numbers`)
    return lines
  }
}

/** Returns a changed document as JSON. @param before its members before the change @param json its text before */
function textOf(
  document: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
  json: Buffer,
): string {
  const texts = new Map(membersOf(json))
  const members = Object.entries(document).map(([name, value]) => {
    const kept = before[name] === value ? texts.get(name) : undefined
    return `${JSON.stringify(name)}:${kept === undefined ? JSON.stringify(value) : toText(kept)}`
  })
  return `{${members.join(',')}}`
}

function membersOf(json: Buffer): readonly (readonly [string, JsonNode])[] {
  try {
    const node = readJsonText(json.toString())
    return node.kind === 'object' ? node.entries : []
  } catch (error) {
    throw new ForeignError(`a document cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function parsed(json: Buffer): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(json.toString())
  } catch {
    throw new ForeignError(`a document is not valid JSON: ${json.toString().slice(0, 200)}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new ForeignError(`a document is not a JSON object: ${json.toString().slice(0, 200)}`)
}

function placeOf(
  value: unknown,
  order: 'pair' | 'object',
): { readonly lat: number; readonly lng: number } | null {
  // A list with one place is as good as a place.
  const single = Array.isArray(value) && value.length === 1 ? value[0] : value
  const [lat, lng] =
    order === 'pair'
      ? Array.isArray(single)
        ? (single as unknown[])
        : []
      : [(single as { lat?: unknown } | null)?.lat, (single as { lng?: unknown } | null)?.lng]
  return typeof lat === 'number' && typeof lng === 'number' ? { lat, lng } : null
}
