/**
 * The data of an index in memory, which searches read.
 *
 * It only changes between two turns of the event loop, in `applyPlan`. A search runs within one turn, so it never sees
 * a partial commit.
 */

import type { IndexSettings } from '../../../settings/index.js'
import type { BatchReport } from '../../batches.js'
import type { AnalysisVersion } from '../../engine.js'
import { Tokenizer } from '../analysis/tokenize.js'
import { analysisVersion } from '../analysis/version.js'
import { Dictionaries, type DictionaryIds } from '../analysis/words/index.js'
import type { Column } from '../facets/columns.js'
import type { Shape } from '../facets/geojson.js'
import { TermDictionary } from '../postings/postings.js'
import { DocSet } from '../store/docid-set.js'
import { type JsonObject, parseJson } from '../store/json.js'
import type { VectorSet, VectorState } from '../vector/index.js'

/** A stored document: its id as text and its JSON as bytes. */
export interface StoredDocument {
  readonly id: string
  readonly source: Uint8Array
}

/** Latitude and longitude in degrees. */
export type GeoPoint = readonly [lat: number, lng: number]

/** Result of text indexing, replaced completely when a setting affects tokenizing. */
export interface TextIndex {
  readonly dictionary: TermDictionary
  /** Docid → pairs (field, stored words), for fields of at most 30 words. */
  readonly lengths: (Uint16Array | undefined)[]
}

/** All columns, replaced completely when a setting changes which fields need a column. */
export interface ColumnIndex {
  readonly byPath: Map<string, Column>
  readonly points: (GeoPoint | undefined)[]
  /** Shapes of documents, from `_geojson`. */
  readonly shapes: (readonly Shape[] | undefined)[]
}

export interface IndexData {
  /** Increases with every commit; caches are valid for a single version. */
  version: number
  settings: IndexSettings
  primaryKey: string | null
  report: BatchReport | null
  readonly documents: (StoredDocument | undefined)[]
  readonly docids: Map<string, number>
  /** All existing documents. */
  alive: DocSet
  /** Total bytes of all sources. */
  sourceBytes: number
  tokenizer: Tokenizer
  readonly installed: Dictionaries
  /** Dictionaries that cut its texts. */
  dictionaries: DictionaryIds
  /** Path → field number, never reused. */
  readonly fieldIds: Map<string, number>
  readonly fieldPaths: string[]
  /** Top-level name → documents that have it. */
  readonly fieldCounts: Map<string, number>
  /** Dotted path, parents included → documents that have it. */
  readonly pathCounts: Map<string, number>
  text: TextIndex
  /** Versions of what cut the documents into words. */
  analysis: AnalysisVersion
  columns: ColumnIndex
  /** Vectors by embedder. */
  readonly vectors: Map<string, VectorSet>
}

export function emptyIndex(
  settings: IndexSettings,
  installed: Dictionaries = Dictionaries.none,
  dictionaries: DictionaryIds = {},
): IndexData {
  return {
    version: 0,
    settings,
    primaryKey: null,
    report: null,
    documents: [],
    docids: new Map(),
    alive: new DocSet(0),
    sourceBytes: 0,
    tokenizer: new Tokenizer(settings, installed.ofLanguages(dictionaries)),
    installed,
    dictionaries,
    fieldIds: new Map(),
    fieldPaths: [],
    fieldCounts: new Map(),
    pathCounts: new Map(),
    text: { dictionary: new TermDictionary(), lengths: [] },
    analysis: analysisVersion,
    columns: { byPath: new Map(), points: [], shapes: [] },
    vectors: new Map(),
  }
}

/** The part of an index that filters read. Its documents may be the elements of a field of other documents. */
export interface FilterView {
  /** Path of that field, empty for documents themselves. Fields are named by complete paths. */
  readonly root: string
  readonly settings: IndexSettings
  readonly alive: DocSet
  readonly columns: ColumnIndex
  /** Vector states of the documents for an embedder. */
  vectorStates(embedder: string): Iterable<readonly [docid: number, state: VectorState]>
  document(docid: number): JsonObject
  /** Number of documents whose elements the filter has read. Each `_element` counts its documents again. */
  readonly elementReads: { documents: number }
}

/** An index as seen by a single filter. */
export const viewOf = ({ settings, alive, columns, vectors, documents }: IndexData): FilterView => ({
  root: '',
  settings,
  alive,
  columns,
  vectorStates: (embedder) => vectors.get(embedder)?.states() ?? [],
  document: (docid) => storedObject(documents[docid]!),
  elementReads: { documents: 0 },
})

/** Parses a stored document. */
export const storedObject = ({ source }: StoredDocument): JsonObject =>
  parseJson(Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString()) as JsonObject

/** Returns the number of a field, assigned at first use. */
export function fieldId(index: Pick<IndexData, 'fieldIds' | 'fieldPaths'>, path: string): number {
  let id = index.fieldIds.get(path)
  if (id === undefined) {
    id = index.fieldPaths.length
    index.fieldIds.set(path, id)
    index.fieldPaths.push(path)
  }
  return id
}
