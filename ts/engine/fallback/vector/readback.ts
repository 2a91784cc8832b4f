/** Builds the displayed `_vectors`. Source: vectors §4, readback. */

import type { IndexSettings } from '../../../settings/index.js'
import { floatText, type Json, JsonNumber, type JsonObject } from '../store/json.js'
import { embeddersOf } from './embedder.js'
import type { DocumentVectors, VectorSet } from './set.js'

const number = (component: number): JsonNumber => new JsonNumber(floatText(component), component)

/** Vectors of a document for an embedder, always an array of arrays. */
export function vectorEntry({ skipRegenerate, rows }: DocumentVectors, dimensions: number): JsonObject {
  const embeddings: Json[] = []
  for (let at = 0; at < rows.length; at += dimensions)
    embeddings.push(Array.from(rows.subarray(at, at + dimensions), number))
  return new Map<string, Json>([
    ['embeddings', embeddings],
    ['regenerate', !skipRegenerate],
  ])
}

const NOTHING: DocumentVectors = {
  userProvided: false,
  skipRegenerate: false,
  rows: new Float32Array(0),
  fragments: null,
}

/** All vectors of a document: one entry per embedder, then stored entries without an embedder. */
export function shownVectors(
  index: { readonly settings: IndexSettings; readonly vectors: ReadonlyMap<string, VectorSet> },
  docid: number,
  raw: Json | undefined,
): JsonObject {
  const shown: JsonObject = new Map()
  for (const name of embeddersOf(index.settings).keys()) {
    const set = index.vectors.get(name)
    shown.set(name, vectorEntry(set?.get(docid) ?? NOTHING, set?.dimensions ?? 0))
  }
  if (raw instanceof Map) for (const [name, value] of raw) if (!shown.has(name)) shown.set(name, value)
  return shown
}
