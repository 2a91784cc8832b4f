import type { IndexSettings } from '../settings/index.js'
import type {
  Batch,
  BatchReport,
  Payload,
  PayloadReport,
  Prepared,
  Step,
  VectorPage,
  WorkPage,
} from './batches.js'
import type { IndexId } from './index-id.js'

/**
 * Cost of a settings change: it rebuilds nothing (`metadata`), columns of values, or everything derived from document
 * text.
 */
export type SettingCost = 'metadata' | 'columns' | 'documents'

/** An index commit that is pinned for reading. */
export interface Pin {
  readonly index: IndexId
  /** Chosen by the engine; opaque to callers. */
  readonly number: number
}

/** Facts about an answer for metrics and telemetry. */
export interface SearchFacts {
  /** True if the search was cut off by its time budget. */
  readonly degraded: boolean
  readonly usedNegativeOperator: boolean
  /** Number of query terms used, at most 10. */
  readonly terms: number
  /** Number of hits found by vectors; null for a keyword search. */
  readonly semanticHits: number | null
  /** True if the search would have used a query vector: words alone did not settle the result. */
  readonly lacksVector?: boolean
  /** Number of hits on the page. */
  readonly hits: number
  /** Duration of each stage as text, as the JSON text of an object. Absent unless requested. */
  readonly stages?: string
}

/** UTF-8 JSON for the client, forwarded unparsed, and facts about it. */
export interface Answer {
  readonly body: Uint8Array
  readonly facts: SearchFacts
  /** Single searches only: byte offset in the body of the digits of `processingTimeMs`. */
  readonly timeAt?: number
}

/** A query of a multi-search: the index, and a `SearchRequest` as UTF-8 JSON. */
export interface IndexedRequest {
  readonly index: IndexId
  readonly request: Uint8Array
  /** Indexes that its foreign keys refer to; absent: none. */
  readonly foreign?: readonly IndexId[]
}

/** Disk usage of an index, in bytes. */
export interface IndexSizes {
  /** Stored documents, compressed. */
  readonly rawDocumentDbSize: number
  /** The index directory. */
  readonly indexSize: number
}

/** Versions of everything that cuts texts into words, by component: segmenter, dictionaries, Unicode data and others. */
export type AnalysisVersion = Readonly<Record<string, string>>

/** They differ after an upgrade of the engine, until the documents are analysed again. */
export interface IndexAnalysis {
  /** Versions that cut the documents of the index into words. */
  readonly index: AnalysisVersion
  /** Versions that cut queries and new documents into words. */
  readonly engine: AnalysisVersion
}

export interface IndexStats extends IndexSizes {
  readonly numberOfDocuments: number
  readonly numberOfEmbeddings: number
  readonly numberOfEmbeddedDocuments: number
  /** Top-level field → number of documents with the field, keys sorted; without `_vectors`. */
  readonly fieldDistribution: Readonly<Record<string, number>>
  /** Three-letter code → name, version and checksum of the word dictionary that cuts this language. */
  readonly wordDictionaries: Readonly<Record<string, string>>
}

/** Statistics of one kind of cache entry. */
export interface CachedKind {
  /** Snake case, as metrics show it. */
  readonly kind: string
  /** Numbers of lookups with and without a result since the engine was opened. */
  readonly hits: number
  readonly misses: number
  /** Current number of entries. */
  readonly entries: number
  readonly bytes: number
}

/** Cache statistics of an engine, over all indexes. */
export interface CacheFigures {
  /** Maximum bytes of all kinds together. */
  readonly bytesMax: number
  readonly kinds: readonly CachedKind[]
}

/** A problem found by `verify`. */
export interface Damage {
  readonly path: string
  readonly reason: string
  /** True if the file only saves time and is rebuilt when missing. */
  readonly isHarmless?: boolean
}

/** Data recovered from an index that may be damaged. */
export interface Rescued {
  /** Number of documents written. */
  readonly documents: number
  /**
   * Losses and untrustworthy data, one line each, for humans. Empty: documents, vectors and settings are exactly those
   * of the newest commit.
   */
  readonly losses: readonly string[]
  /** The newest readable settings, as JSON text of `IndexSettings`. */
  readonly settings: string
  readonly primaryKey: string | null
  /** Report of the newest readable commit; null: none. */
  readonly report: BatchReport | null
}

/** Cancels a search whose client has disconnected. An `AbortSignal` is a valid `StopSignal`. */
export interface StopSignal {
  readonly aborted: boolean
  addEventListener(event: 'abort', listener: () => void): void
  removeEventListener(event: 'abort', listener: () => void): void
}

/**
 * Stores indexes and answers searches. One per process, shared by all requests.
 *
 * Every method may reject with `EngineError`, a mistake of the caller with a code from the error table. Any other
 * rejection is our own fault and is reported as `internal`. Requests and answers are UTF-8 JSON; their shapes are in
 * `requests.ts`. The caller may reuse array arguments once the call has returned its promise. An index with missing or
 * undecodable files is refused with `index_damaged`.
 */
export interface BareEngine {
  readonly kind: 'native' | 'fallback'

  /** Reads a spooled body as a stream, off the main thread. Returns format, document count and first error. */
  inspect(payload: Payload): Promise<PayloadReport>

  /**
   * Checks the syntax of a filter without an index; rejects with `invalid_search_filter`, or with
   * `feature_not_enabled` if it needs a feature that is off.
   * @param request `FilterCheck`
   */
  checkFilter(request: Uint8Array): Promise<void>

  /**
   * Merges and validates `batch`, and reports what has to be embedded. Creates the index directory if missing. An
   * abandoned batch leaves no trace. Only one prepared batch per index at a time.
   * @param stop when aborted, the call soon rejects, and nothing has to be abandoned
   */
  prepare(index: IndexId, batch: Batch, stop?: StopSignal): Promise<Prepared>

  /**
   * Returns the next page of documents to embed before the commit; null after the last page.
   * @param from `next` of the previous page, null for the first
   */
  work(prepared: Prepared, from: string | null): Promise<WorkPage | null>

  /**
   * Makes a prepared batch visible as one commit. Resolves once the commit would survive a crash.
   * @param vectors the vectors made for the pages of `work`
   * Tasks that failed on their own are in the report. If the commit itself fails, the promise rejects and nothing of
   * the batch becomes visible, also not with the next commit. After a restart it may be visible, until `undo`.
   */
  commit(prepared: Prepared, vectors: readonly VectorPage[]): Promise<BatchReport>

  /**
   * Progress of the batch that is being prepared or committed, outermost step first; null if no work is in progress.
   * Counters are maintained along with the work, so calling this does not slow it down.
   */
  progress(index: IndexId): Promise<readonly Step[] | null>

  /** Discards a prepared batch. */
  abandon(prepared: Prepared): Promise<void>

  /**
   * Reverts the newest commits of an index as long as they belong to these batches. Resolves once they are permanently
   * gone. Used for commits whose promise was rejected, because a failed disk sync may leave them behind. Must be the
   * first call for the index in this process.
   */
  undo(index: IndexId, batchUids: readonly number[]): Promise<void>

  /** The report stored in the newest commit; null for a directory without a commit. Used on recovery. */
  lastCommit(index: IndexId): Promise<BatchReport | null>

  /** The complete settings of the newest commit, as JSON text of `IndexSettings`. */
  settings(index: IndexId): Promise<string>

  /**
   * Cost of changing the settings to `settings`: the settings that differ and cost more than `metadata`.
   * @param settings JSON text of `IndexSettings`
   */
  settingsCost(index: IndexId, settings: string): Promise<Readonly<Record<string, SettingCost>>>

  /**
   * @param request `SearchRequest`
   * @param stop aborted when the client disconnects: the search soon ends, and its answer is not used
   * @param foreign indexes that the foreign keys of the request refer to; damaged indexes among them are refused too
   */
  search(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Answer>

  /**
   * Explains the position of a document among the hits of a search. Returns `ExplainFacts` as JSON; null if the
   * document does not exist.
   * @param request `ExplainRequest`
   * @param foreign see `search`
   */
  explain(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Uint8Array | null>

  /** Without `federation`: `{"results":[…]}`. With `federation` (`FederationRequest`): one merged list. */
  multiSearch(
    requests: readonly IndexedRequest[],
    federation: Uint8Array | null,
    stop?: StopSignal,
  ): Promise<Answer>

  /** @param request `FacetSearchRequest` @param foreign see `search` */
  facetSearch(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Answer>

  /** @param request `SimilarRequest` @param foreign see `search` */
  similar(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Answer>

  /**
   * Lists documents: `{"results":[…],"offset","limit","total"}`.
   * @param request `DocumentsRequest`
   * @param foreign see `search`
   */
  documents(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Uint8Array>

  /** A single document as bare JSON, null if it does not exist. @param request `DocumentRequest` */
  document(index: IndexId, request: Uint8Array): Promise<Uint8Array | null>

  stats(index: IndexId): Promise<IndexStats>

  /** Does not read documents. */
  analysis(index: IndexId): Promise<IndexAnalysis>

  /** The part of `stats` that does not read documents. */
  sizes(index: IndexId): Promise<IndexSizes>

  /** Sorted names of all fields of all documents, including dotted paths. */
  fields(index: IndexId): Promise<readonly string[]>

  /**
   * Pins the newest commit of an index until `unpin`. It stays readable after later commits and compactions, and after
   * the index is dropped.
   * @param listing `DocumentsRequest` with the filter for `pinnedDocuments`; absent: all documents
   */
  pin(index: IndexId, listing?: Uint8Array): Promise<Pin>

  /** Settings of a pinned commit, in the format of `settings`. */
  pinnedSettings(pin: Pin): Promise<string>

  /**
   * Lists documents of a pinned commit.
   * @param request `DocumentsRequest` with the filter of the pin, without ids and sort
   */
  pinnedDocuments(pin: Pin, request: Uint8Array): Promise<Uint8Array>

  /**
   * Copies a pinned commit into `directory`, which must not exist. A copied file may be a hard link to a file of the
   * index, so its bytes must not be changed.
   */
  snapshot(pin: Pin, directory: string): Promise<void>

  /** Releases a pinned commit; does nothing if it is not pinned. */
  unpin(pin: Pin): Promise<void>

  /**
   * Rewrites the files of an index without deleted and replaced data. Searches continue meanwhile.
   * @param stop when aborted, the call soon rejects; work completed by then is kept
   */
  compact(index: IndexId, stop?: StopSignal): Promise<void>

  /** Path of the file that holds the newest commit, for messages; null if there is none. Opens nothing. */
  newestCommitFile(index: IndexId): Promise<string | null>

  /** Reads everything and reports what does not decode; empty if all is well. */
  verify(index: IndexId): Promise<readonly Damage[]>

  /**
   * Writes all readable documents of an index that may be damaged: NDJSON with vectors, in ascending docid order. Does
   * not change the index.
   * @param path of the output file, which must not exist
   */
  rescue(index: IndexId, path: string): Promise<Rescued>

  /**
   * Switches to the newest commit in the directory of an index, which another process has written. Running searches
   * finish on the commit they started with, later searches see the new commit, and none waits. After the promise
   * resolves, files that the new commit does not name are no longer needed; pins hold their own files. If the new
   * commit does not open, the promise rejects and the previous commit stays in use. Does nothing for an index that was
   * not opened yet. Only for an engine with `followsFiles`, which refuses `prepare`, `commit`, `undo` and `compact`.
   */
  adopt(index: IndexId): Promise<void>

  /** Closes the index and removes its directory; does nothing if there is none. */
  drop(index: IndexId): Promise<void>

  /** Ids of all index directories, in no particular order. */
  list(): Promise<readonly IndexId[]>

  /** Current cache statistics; does not read any index. */
  cacheFigures(): Promise<CacheFigures>

  close(): Promise<void>
}

/**
 * Remembers damaged indexes and refuses them with `index_damaged` until they are dropped or adopted with other files.
 */
export interface Engine extends BareEngine {
  /**
   * Describes the damage of an index and names the file; null: no damage is known. Damage is detected at the first use
   * of an index, so null also stands for an index that was not used yet.
   */
  damage(index: IndexId): string | null

  /** Marks an index as damaged for a reason the engine cannot detect. @param damage names the file, if any */
  condemn(index: IndexId, damage: string): void

  /**
   * Number of the newest commit made or adopted for an index. It increases before the promise of that call settles,
   * also if the call fails. Results computed at a revision stay valid while the revision is the same.
   */
  revision(index: IndexId): number

  /** Returns a number by which other threads can attach to this engine. Absent: they cannot. */
  publish?: () => number

  /**
   * Prepares, in the background, the indexes that searches of earlier processes used, so that first searches are not
   * slower than later ones. Call it once `undo` is called no more. Absent: no part of a search waits for such work.
   */
  warmUp?: () => void

  /** True if the index has no known damage and no registered check that was not run yet. */
  isTrusted(index: IndexId): boolean

  /** Calls `listener` when `revision` or `isTrusted` of an index changes, before the call that caused it settles. */
  onChange(listener: (index: IndexId) => void): void

  /** The setting `foreignKeys` of the newest commit; read once per revision. */
  foreignKeys(index: IndexId): Promise<IndexSettings['foreignKeys']>

  /**
   * Registers a check of an index, run at its first use: the index counts as damaged if `check` finds its newest commit
   * incomplete. Adopting an index removes the check.
   * @param check takes the report of the newest commit (null: no commit) and returns the problem; null: none
   */
  expect(index: IndexId, check: (report: BatchReport | null) => string | null): void
}
