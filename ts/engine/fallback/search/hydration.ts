/**
 * Here are hits with ids of documents of other indexes: what do they look like with those documents in their place?
 *
 * Source: search §20.1.
 *  1. Ids are collected from all hits of an answer first: the values of the field, or of its array up to the first value
 *     that is no id.
 *  2. Then each scalar at or below the field that was collected for that index becomes the document, or `{}` if there is
 *     none that the request may read.
 *  3. With `legacySearch`, a search replaces each id at or below the field, collected or not.
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

/** A document of another index as hits show it, and its bytes as JSON. */
interface ShownDocument {
  readonly shown: JsonObject
  readonly bytes: number
}

/** Of `{}`. */
const NOTHING_BYTES = 2

interface HydrationSetup {
  readonly indexes: ForeignIndexes
  readonly features: RequestFeatures
  /** Whether ids need not be collected. */
  readonly replacesAll: boolean
  readonly bounds: Bounds
  readonly check: () => void
}

/** For a request with foreign keys; null without any. @param replacesAll whether ids need not be collected */
export function hydrationOf(
  { foreignKeys = [], foreign, features, stop }: SearchRequest & FilterContext,
  replacesAll: boolean,
  bounds: Bounds,
): Hydration | null {
  if (foreignKeys.length === 0 || foreign === undefined) return null
  const check = filterClock(stop, 'invalid_search_filter')
  return new Hydration({ indexes: foreign, features, replacesAll, bounds, check })
}

/** Puts documents of other indexes into the hits of one answer. */
export class Hydration {
  readonly #setup: HydrationSetup
  /** Index and id. */
  readonly #collected = new Set<string>()
  readonly #documents = new Map<string, ShownDocument>()
  readonly #readable = new Map<string, DocSet>()
  /** Of the documents that the object being hydrated has so far. */
  #bytes = 0

  constructor(setup: HydrationSetup) {
    this.#setup = setup
  }

  /** @throws EngineError `index_not_found` if ids are not collected first and a key leads to no index */
  requireIndexes(keys: readonly ForeignKey[]): void {
    const missing = keys.find(({ access }) => access.kind === 'missing')
    if (this.#setup.replacesAll && missing !== undefined) throw foreignIndexNotFound(missing.foreignIndexUid)
  }

  /**
   * Notes the ids in a hit.
   * @throws EngineError `index_not_found` if there is an id and no index, `answer_too_large` if there are too many
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

  /** The object with documents in place of ids. */
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

  /** @throws EngineError `answer_too_large`, since one document may stand in many places */
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

/** The document id that a value is: a string of the characters of ids, or an integer. */
function idOf(value: Json): string | null {
  if (typeof value === 'string') return isValidId(value) ? value : null
  return value instanceof JsonNumber && /^-?\d+$/.test(value.text) ? value.text : null
}

/** Ids that a dotted path leads to, through objects and objects in arrays; names may have dots in them. */
function idsAt(object: JsonObject, path: string): readonly string[] {
  const found: string[] = []
  for (const [name, value] of object) {
    if (!covers(name, path)) continue
    if (name === path) for (const id of idsIn(value)) found.push(id)
    else
      for (const one of Array.isArray(value) ? value : [value])
        if (one instanceof Map) for (const id of idsAt(one, path.slice(name.length + 1))) found.push(id)
  }
  return found
}

function idsIn(value: Json): readonly string[] {
  const ids = (Array.isArray(value) ? value : [value]).map(idOf)
  const end = ids.indexOf(null)
  return (end === -1 ? ids : ids.slice(0, end)) as readonly string[]
}
