/**
 * Replaces ids of foreign documents in hits by the documents.
 *
 * Source: search §20.1.
 * 1. First, ids are collected from all hits of an answer: the value of the field, or the values of its array up to the
 *    first value that is not an id.
 * 2. Then each collected id at or below the field becomes the document, or `{}` if the request may not read it or it
 *    does not exist.
 * 3. With `legacySearch`, a search replaces every id at or below the field, collected or not.
 */
import { EngineError } from '../../engine-error.js'
import type { ForeignKey, RequestFeatures, SearchRequest } from '../../requests.js'
import { covers } from '../fields/patterns.js'
import { displaysEverything } from '../fields/rules.js'
import { type ForeignIndexes, foreignIndexNotFound, readableDocuments } from '../filter/index.js'
import { type IndexData, storedObject } from '../index-data/index-data.js'
import { isValidId } from '../indexing/primary-key.js'
import { FOREIGN_SHOWN_MAX } from '../limits.js'
import type { DocSet } from '../store/docid-set.js'
import { type Json, JsonNumber, type JsonObject, writeJson } from '../store/json.js'
import { type Bounds, filterClock } from './bounds.js'
import type { FilterContext } from './candidates.js'
import { selectPaths } from './projection.js'

type Granted = Extract<ForeignKey['access'], { readonly kind: 'granted' }>

/** A document of another index as shown in hits, and its size as JSON. */
interface ShownDocument {
  readonly shown: JsonObject
  readonly bytes: number
}

const NOTHING_BYTES = 2

interface HydrationSetup {
  readonly indexes: ForeignIndexes
  readonly features: RequestFeatures
  /** True if all ids are replaced, collected or not. */
  readonly replacesAll: boolean
  readonly bounds: Bounds
  readonly check: () => void
}

/** Creates the hydration of a request; null without foreign keys. @param replacesAll see `HydrationSetup` */
export function hydrationOf(
  { foreignKeys = [], foreign, features, stop }: SearchRequest & FilterContext,
  replacesAll: boolean,
  bounds: Bounds,
): Hydration | null {
  if (foreignKeys.length === 0 || foreign === undefined) return null
  const check = filterClock(stop, 'invalid_search_filter')
  return new Hydration({ indexes: foreign, features, replacesAll, bounds, check })
}

/** Inserts documents of other indexes into the hits of an answer. */
export class Hydration {
  readonly #setup: HydrationSetup
  /** Keys of index and id. */
  readonly #collected = new Set<string>()
  readonly #documents = new Map<string, ShownDocument>()
  readonly #readable = new Map<string, DocSet>()
  /** Bytes of the documents inserted so far into the current object. */
  #bytes = 0

  constructor(setup: HydrationSetup) {
    this.#setup = setup
  }

  /** @throws EngineError `index_not_found` if `replacesAll` and a key refers to a missing index */
  requireIndexes(keys: readonly ForeignKey[]): void {
    const missing = keys.find(({ access }) => access.kind === 'missing')
    if (this.#setup.replacesAll && missing !== undefined) throw foreignIndexNotFound(missing.foreignIndexUid)
  }

  /**
   * Collects the ids in a hit.
   * @throws EngineError `index_not_found` if an id refers to a missing index, `answer_too_large` for too many ids
   */
  collect(keys: readonly ForeignKey[], hit: JsonObject): void {
    if (this.#setup.replacesAll) return
    for (const { fieldName, foreignIndexUid, access } of keys) {
      if (access.kind === 'refused') continue
      for (const id of idsAt(hit, fieldName)) {
        if (access.kind === 'missing') throw foreignIndexNotFound(foreignIndexUid)
        this.#collected.add(keyOf(access, id))
        requireFew(this.#collected.size)
      }
    }
  }

  /** Returns the object with ids replaced by documents. */
  hydrated(keys: readonly ForeignKey[], object: JsonObject): JsonObject {
    this.#bytes = 0
    let hydrated = object
    for (const { fieldName, access } of keys)
      if (access.kind === 'granted') hydrated = this.#within(hydrated, fieldName, access)
    return hydrated
  }

  #within(object: JsonObject, path: string, access: Granted): JsonObject {
    const hydrated: JsonObject = new Map()
    for (const [name, value] of object)
      hydrated.set(
        name,
        covers(path, name)
          ? this.#below(value, access)
          : covers(name, path)
            ? this.#towards(value, path.slice(name.length + 1), access)
            : value,
      )
    return hydrated
  }

  #towards(value: Json, path: string, access: Granted): Json {
    if (value instanceof Map) return this.#within(value, path, access)
    return Array.isArray(value) ? value.map((item) => this.#towards(item, path, access)) : value
  }

  #below(value: Json, access: Granted): Json {
    if (Array.isArray(value)) return value.map((item) => this.#below(item, access))
    if (value instanceof Map)
      return new Map(Array.from(value, ([name, item]) => [name, this.#below(item, access)]))
    const id = idOf(value)
    if (id === null || !(this.#setup.replacesAll || this.#collected.has(keyOf(access, id)))) return value
    return this.#document(access, id)
  }

  /** @throws EngineError `answer_too_large`, because a document may be inserted many times */
  #document(access: Granted, id: string): JsonObject {
    const key = keyOf(access, id)
    let document = this.#documents.get(key)
    if (document === undefined) {
      requireFew(this.#documents.size + 1)
      document = this.#shown(access, id)
      this.#documents.set(key, document)
    }
    this.#bytes += document.bytes
    this.#setup.bounds.check(this.#bytes)
    return document.shown
  }

  #shown(access: Granted, id: string): ShownDocument {
    const { indexes } = this.#setup
    const data = indexes.data.get(access.index)
    const docid = data?.docids.get(id)
    if (data === undefined || docid === undefined || !this.#readableIn(data, access).has(docid))
      return { shown: new Map(), bytes: NOTHING_BYTES }
    const document = storedObject(data.documents[docid]!)
    document.delete('_vectors')
    const { settings } = data
    const shown = displaysEverything(settings)
      ? document
      : selectPaths(document, settings.displayedAttributes)
    return { shown, bytes: Buffer.byteLength(writeJson(shown)) }
  }

  #readableIn(data: IndexData, { index, filter }: Granted): DocSet {
    let readable = this.#readable.get(index)
    if (readable === undefined) {
      readable = readableDocuments(data, filter, this.#setup)
      this.#readable.set(index, readable)
    }
    return readable
  }
}

const keyOf = ({ index }: Granted, id: string): string => `${index} ${id}`

function requireFew(documents: number): void {
  if (documents <= FOREIGN_SHOWN_MAX) return
  throw new EngineError(
    'answer_too_large',
    `the hits refer to more than ${FOREIGN_SHOWN_MAX} documents of other indexes; ask for fewer hits, or leave ` +
      'fields that refer to them out of `attributesToRetrieve`',
  )
}

/** Returns the document id of a value: a string with valid characters, or an integer. */
function idOf(value: Json): string | null {
  if (typeof value === 'string') return isValidId(value) ? value : null
  return value instanceof JsonNumber && /^-?\d+$/.test(value.text) ? value.text : null
}

/** Ids at a dotted path, through objects and arrays of objects. Field names may contain dots. */
function idsAt(object: JsonObject, path: string): readonly string[] {
  const found: string[] = []
  for (const [name, value] of object) {
    if (!covers(name, path)) continue
    if (name === path) for (const id of idsIn(value)) found.push(id)
    else
      for (const item of Array.isArray(value) ? value : [value])
        if (item instanceof Map) for (const id of idsAt(item, path.slice(name.length + 1))) found.push(id)
  }
  return found
}

function idsIn(value: Json): readonly string[] {
  const ids = (Array.isArray(value) ? value : [value]).map(idOf)
  const end = ids.indexOf(null)
  return (end === -1 ? ids : ids.slice(0, end)) as readonly string[]
}
