/**
 * What does an index hold right now? Everything a search reads, in memory.
 *
 * It is changed only between two turns of the event loop, by `applied` below: a search, which runs within one
 * turn, never sees half a commit.
 */

import type { IndexSettings } from '../../../settings/index.js'
import { defaultIndexSettings } from '../../../settings/index.js'
import type { BatchReport } from '../../engine.js'
import { Tokenizer } from '../analysis/tokenize.js'
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

/** What text indexing keeps: replaced as a whole when a setting changes how text is cut. */
export interface TextIndex {
  readonly dictionary: TermDictionary
  /** Docid → pairs (field, stored words), for fields of at most 30 words. */
  readonly lengths: (Uint16Array | undefined)[]
}

/** What columns keep: replaced as a whole when a setting changes which fields need one. */
export interface ColumnIndex {
  readonly byPath: Map<string, Column>
  readonly points: (GeoPoint | undefined)[]
  /** What documents cover, from `_geojson`. */
  readonly shapes: (readonly Shape[] | undefined)[]
}

/** One index. */
export interface IndexData {
  /** Grows with every commit; caches are good for one version. */
  version: number
  settings: IndexSettings
  primaryKey: string | null
  report: BatchReport | null
  readonly documents: (StoredDocument | undefined)[]
  readonly docids: Map<string, number>
  /** All documents. */
  alive: DocSet
  /** Bytes of all sources. */
  sourceBytes: number
  tokenizer: Tokenizer
  /** Path → field number, never given back. */
  readonly fieldIds: Map<string, number>
  readonly fieldPaths: string[]
  /** Top-level name → documents that have it. */
  readonly fieldCounts: Map<string, number>
  /** Dotted path, parents included → documents that have it. */
  readonly pathCounts: Map<string, number>
  text: TextIndex
  columns: ColumnIndex
  /** Vectors by embedder. */
  readonly vectors: Map<string, VectorSet>
}

export function emptyIndex(settings: IndexSettings = defaultIndexSettings): IndexData {
  return {
    version: 0,
    settings,
    primaryKey: null,
    report: null,
    documents: [],
    docids: new Map(),
    alive: new DocSet(0),
    sourceBytes: 0,
    tokenizer: new Tokenizer(settings),
    fieldIds: new Map(),
    fieldPaths: [],
    fieldCounts: new Map(),
    pathCounts: new Map(),
    text: { dictionary: new TermDictionary(), lengths: [] },
    columns: { byPath: new Map(), points: [], shapes: [] },
    vectors: new Map(),
  }
}

/** The part of an index that filters read; its documents may be the elements of a field of other documents. */
export interface FilterView {
  /** Path of that field, empty for documents themselves; fields are named by whole paths. */
  readonly root: string
  readonly settings: IndexSettings
  readonly alive: DocSet
  readonly columns: ColumnIndex
  /** What is known of the documents' vectors under one embedder. */
  vectorStates(embedder: string): Iterable<readonly [docid: number, state: VectorState]>
  document(docid: number): JsonObject
  /** Documents that the filter has read for their elements so far, those of each `_element` counted anew. */
  readonly elementReads: { documents: number }
}

/** A whole index as one filter reads it. */
export const viewOf = ({ settings, alive, columns, vectors, documents }: IndexData): FilterView => ({
  root: '',
  settings,
  alive,
  columns,
  vectorStates: (embedder) => vectors.get(embedder)?.states() ?? [],
  document: (docid) => storedObject(documents[docid]!),
  elementReads: { documents: 0 },
})

/** A stored document, parsed. */
export const storedObject = ({ source }: StoredDocument): JsonObject =>
  parseJson(Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString()) as JsonObject

/** The number of a field, given at first sight. */
export function fieldId(index: Pick<IndexData, 'fieldIds' | 'fieldPaths'>, path: string): number {
  let id = index.fieldIds.get(path)
  if (id === undefined) {
    id = index.fieldPaths.length
    index.fieldIds.set(path, id)
    index.fieldPaths.push(path)
  }
  return id
}
