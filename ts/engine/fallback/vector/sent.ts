/**
 * Parses the `_vectors` of documents.
 *
 * Source: vectors §4.
 * 1. null and `[]`: no vectors, and none are generated.
 * 2. An array of numbers is a vector, an array of arrays several vectors; `regenerate` is then false.
 * 3. An object has `regenerate`, and optionally `embeddings` as above.
 */
import { OperationError } from '../indexing/primary-key.js'
import { VECTORS_MAX } from '../limits.js'
import { type Json, JsonNumber, type JsonObject } from '../store/json.js'
import { quantized } from './distance.js'
import type { Embedder } from './embedder.js'

/** Vectors that the client sent; null: none. */
export interface Sent {
  readonly regenerate: boolean
  readonly rows: Float32Array | null
}

/** Returns the `_vectors` of a document, null if missing. @throws OperationError if it is not an object */
export function vectorsIn(document: JsonObject, id: string): JsonObject | null {
  const vectors = document.get('_vectors')
  if (vectors === undefined) return null
  if (!(vectors instanceof Map)) throw bad(id, '', 'it must be an object of embedder names')
  return vectors
}

/** Checks the outer shape of an entry without a configured embedder, and returns it in its stored form. */
export function storedEntry(id: string, name: string, value: Json): Json {
  if (value === null) return []
  if (Array.isArray(value)) return value
  const { regenerate, embeddings } = entryMembers(id, name, value)
  return new Map<string, Json>([
    ['regenerate', regenerate],
    ['embeddings', embeddings ?? null],
  ])
}

/** Parses the entry of an embedder. @throws OperationError for a wrong shape, length or number */
export function readSent(id: string, embedder: Embedder, value: Json): Sent {
  const { name } = embedder
  if (value === null || Array.isArray(value))
    return { regenerate: false, rows: rowsOf(id, embedder, value ?? []) }
  const { regenerate, embeddings } = entryMembers(id, name, value)
  return {
    regenerate,
    rows: embeddings === undefined ? null : rowsOf(id, embedder, embeddings ?? []),
  }
}

/** Parses the entry of a new embedder in a stored document, where `embeddings` is null if the client sent none. */
export function readStored(id: string, embedder: Embedder, value: Json): Sent {
  const sent = readSent(id, embedder, value)
  return value instanceof Map && value.get('embeddings') === null ? { ...sent, rows: null } : sent
}

function entryMembers(
  id: string,
  name: string,
  value: Json,
): { regenerate: boolean; embeddings: Json | undefined } {
  if (!(value instanceof Map)) throw bad(id, name, 'expected an array, null or an object')
  for (const key of value.keys())
    if (key !== 'regenerate' && key !== 'embeddings')
      throw bad(id, name, `unknown key \`${key}\`, expected \`regenerate\` and \`embeddings\``)
  const regenerate = value.get('regenerate')
  if (typeof regenerate !== 'boolean') throw bad(id, name, '`regenerate` must be there and a boolean')
  return { regenerate, embeddings: value.get('embeddings') }
}

function rowsOf(id: string, embedder: Embedder, value: Json): Float32Array {
  if (!Array.isArray(value)) throw bad(id, embedder.name, '`embeddings` must be an array')
  const several = Array.isArray(value[0])
  const vectors = several ? value : value.length === 0 ? [] : [value]
  if (vectors.length > VECTORS_MAX)
    throw new OperationError(
      'too_many_vectors',
      `document \`${id}\` has ${vectors.length} vectors for the embedder \`${embedder.name}\`, at most ` +
        `${VECTORS_MAX} are possible`,
    )
  // Check all shapes before any length.
  const read = vectors.map((vector) => vectorOf(id, embedder, vector))
  for (const vector of read) checkLength(id, embedder, vector.length)
  const dimensions = read[0]?.length ?? 0
  const rows = new Float32Array(read.length * dimensions)
  for (const [at, vector] of read.entries()) rows.set(vector, at * dimensions)
  return embedder.binary ? quantized(rows) : rows
}

function vectorOf(id: string, embedder: Embedder, vector: Json): Float32Array {
  const { name } = embedder
  if (!Array.isArray(vector)) throw bad(id, name, 'vectors and numbers stand side by side')
  const numbers = new Float32Array(vector.length)
  for (const [at, component] of vector.entries()) {
    if (!(component instanceof JsonNumber)) throw bad(id, name, 'a vector holds something that is no number')
    numbers[at] = component.value
    if (!Number.isFinite(numbers[at]))
      throw bad(id, name, `\`${component.text}\` is beyond what 32-bit floats hold`)
  }
  return numbers
}

function checkLength(id: string, { name, dimensions }: Embedder, length: number): void {
  if (dimensions === null)
    throw new OperationError(
      'vector_embedding_error',
      `the number of dimensions of the embedder \`${name}\` is not known: set its \`dimensions\``,
    )
  if (length !== dimensions)
    throw new OperationError(
      'invalid_vector_dimensions',
      `document \`${id}\`: expected ${dimensions} dimensions for the embedder \`${name}\`, found ${length}`,
    )
}

const bad = (id: string, name: string, reason: string): OperationError =>
  new OperationError(
    'invalid_vectors_type',
    `document \`${id}\`: bad value at \`._vectors${name === '' ? '' : `.${name}`}\`: ${reason}`,
  )
