/**
 * Flattens documents to leaves by dotted path.
 *
 * Source: search §3.1–3.2, documents §4.1. Arrays do not appear in paths, and a literal key `a.b` shares the field of
 * `b` below `a`.
 */
import { type Json, JsonNumber, type JsonObject } from '../store/json.js'

/** Receives leaves in document order. `text` is null for a visit without words. */
type LeafVisitor = (path: string, text: string | null) => void

/** Text of a scalar; null for null and containers. */
export function leafText(value: Json): string | null {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return value instanceof JsonNumber ? value.text : null
}

/** Visits all leaves. Containers count as visits as in search §3.2. */
export function visitLeaves(document: JsonObject, visit: LeafVisitor): void {
  for (const [key, value] of document) visitValue(key, value, visit, false)
}

function visitValue(path: string, value: Json, visit: LeafVisitor, keyed: boolean): void {
  if (Array.isArray(value)) {
    if (keyed) visit(path, null)
    if (value.length === 0) visit(path, null)
    for (const item of value) visitValue(path, item, visit, false)
  } else if (value instanceof Map) {
    if (keyed) visit(path, null)
    if (value.size === 0) visit(path, null)
    for (const [key, item] of value) visitValue(`${path}.${key}`, item, visit, true)
  } else visit(path, leafText(value))
}

/** Values of a document at a path. */
export interface FacetLeaf {
  readonly numbers: number[]
  readonly strings: string[]
  isNull: boolean
  isEmpty: boolean
}

/** All paths of a document, including parents, with their values. */
export function facetLeaves(document: JsonObject): Map<string, FacetLeaf> {
  const leaves = new Map<string, FacetLeaf>()
  for (const [key, value] of document) collect(leaves, key, value, false)
  return leaves
}

/** Visits all paths that `facetLeaves` returns, some of them repeatedly. */
export function visitPaths(document: JsonObject, visit: (path: string) => void): void {
  for (const [key, value] of document) visitPath(key, value, visit)
}

function visitPath(path: string, value: Json, visit: (path: string) => void): void {
  visit(path)
  visitInside(path, value, visit)
}

function visitInside(path: string, value: Json, visit: (path: string) => void): void {
  if (Array.isArray(value)) for (const item of value) visitInside(path, item, visit)
  else if (value instanceof Map) for (const [key, item] of value) visitPath(`${path}.${key}`, item, visit)
}

function leafAt(leaves: Map<string, FacetLeaf>, path: string): FacetLeaf {
  let leaf = leaves.get(path)
  if (leaf === undefined) {
    leaf = { numbers: [], strings: [], isNull: false, isEmpty: false }
    leaves.set(path, leaf)
  }
  return leaf
}

function collect(leaves: Map<string, FacetLeaf>, path: string, value: Json, inArray: boolean): void {
  const leaf = leafAt(leaves, path)
  if (value === null) leaf.isNull ||= !inArray
  else if (typeof value === 'boolean') leaf.strings.push(value ? 'true' : 'false')
  else if (value instanceof JsonNumber) leaf.numbers.push(value.value)
  else if (typeof value === 'string') {
    if (value === '') leaf.isEmpty ||= !inArray
    else leaf.strings.push(value)
  } else if (Array.isArray(value)) {
    if (value.length === 0) leaf.isEmpty ||= !inArray
    for (const item of value) collect(leaves, path, item, true)
  } else {
    if (value.size === 0) leaf.isEmpty ||= !inArray
    for (const [key, item] of value) collect(leaves, `${path}.${key}`, item, false)
  }
}

/** Source: documents §4.2; longer values are truncated, not dropped. */
const FACET_BYTES_MAX = 468

/** The first characters of a text that are not longer than a facet value may be. */
export function facetText(text: string): string {
  if (text.length * 3 <= FACET_BYTES_MAX || Buffer.byteLength(text) <= FACET_BYTES_MAX) return text
  let bytes = 0
  let end = 0
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > FACET_BYTES_MAX) break
    end += character.length
  }
  return text.slice(0, end)
}

/** Normalised form by which facet values are compared: trimmed, decomposed, lower case, with accents. */
export const facetForm = (value: string): string => facetText(operandForm(value))

/** Like `facetForm`, without truncation, for filter operands. */
export const operandForm = (value: string): string => untrimmedForm(trimmed(value.replaceAll('\0', '')))

/** Like `operandForm`, with white space at both ends, for facet queries. NUL is ignored: it separates values on disk. */
export const untrimmedForm = (value: string): string =>
  value.replaceAll('\0', '').normalize('NFKD').toLowerCase()

const WHITE_SPACE = /^\p{White_Space}$/u

/** Unlike `String.trim`, this removes U+0085 and keeps U+FEFF, as Unicode defines white space. */
export function trimmed(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && WHITE_SPACE.test(text[start]!)) start++
  while (start < end && WHITE_SPACE.test(text[end - 1]!)) end--
  return text.slice(start, end)
}
