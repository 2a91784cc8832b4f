import type { ErrorCode } from '../errors/index.js'
import type { IndexSettings, Remakes } from '../settings/index.js'

/** Names an index on disk: the uuid of its directory. Uids live in the catalogue alone and may move. */
export type IndexId = string

export type PayloadFormat = 'json' | 'ndjson' | 'csv'

/** An uploaded body, decompressed, as it was received. */
export type Payload = {
  readonly format: PayloadFormat
  /** One ASCII character; CSV only, default `,`. */
  readonly csvDelimiter?: string
} & (
  | {
      /** Absolute path of a file in the spool. The engine only reads it. */
      readonly path: string
      /** CRC-32 of the file as it was received; absent in tasks of earlier versions. The queue looks at it. */
      readonly checksum?: number
    }
  | {
      /** The body itself, for small ones that are not worth a file. */
      readonly text: string
    }
)

/** What `inspect` found. With `error`, `documents` counts what came before it. */
export interface PayloadReport {
  readonly documents: number
  /** `missing_payload` or `malformed_payload`; the message names format, reason and position. */
  readonly error?: Failure
}

/** A user's mistake as a value. `code` is always one of the error table. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
}

/** One task's part of a batch, applied in order. */
export type Operation = { readonly taskUid: number } & (
  | {
      readonly kind: 'documents'
      /** `replace` swaps whole documents, `update` merges top-level fields. */
      readonly method: 'replace' | 'update'
      readonly payload: Payload
      /** The `primaryKey` query parameter, or null. */
      readonly primaryKey: string | null
      /** Drops documents whose id is not in the index yet. */
      readonly skipCreation: boolean
      /** How many `inspect` counted; only for progress, absent if it did not run. */
      readonly documents?: number
    }
  | { readonly kind: 'deleteByIds'; readonly ids: readonly string[] }
  /** `filter` is the JSON value of the request: a string or a (nested) array. */
  | { readonly kind: 'deleteByFilter'; readonly filter: unknown }
  /**
   * Documents that a script has edited or dropped, as `documents` and `deleteByIds` in one: `payload` replaces
   * whole documents, null replaces none.
   */
  | {
      readonly kind: 'edit'
      readonly payload: Payload | null
      readonly deleted: readonly string[]
      /** Documents that the script was run over, for the report. */
      readonly editedDocuments: number
    }
  | { readonly kind: 'clear' }
  /**
   * The complete settings the index shall have from here on, as JSON text of `IndexSettings`: merging is done by
   * `settings/`, which also knows which embedders have to look at their documents again. Absent: none.
   */
  | { readonly kind: 'settings'; readonly settings: string; readonly remakes?: Remakes }
  /** Declares the primary key (index creation and update); null changes nothing. */
  | { readonly kind: 'primaryKey'; readonly primaryKey: string | null }
)

/** What one commit carries. */
export interface Batch {
  /** Unique per instance and growing; kept in the commit so that a replay is recognised. */
  readonly uid: number
  /** The name in use when the batch runs: for error messages, and for a task store that has to be rebuilt. */
  readonly indexUid: string
  readonly operations: readonly Operation[]
}

/** All that decides what an embedder gets to see of a document. */
export interface Rendering {
  /** The embedder's settings. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly searchableAttributes: readonly string[]
}

/** A document that may need other vectors than it has. */
export interface WorkItem {
  readonly docid: number
  /** Its document id, for messages. */
  readonly id: string
  readonly document: Readonly<Record<string, unknown>>
  /** The document its vectors were made of; null: they are made anew, whatever it was. */
  readonly before: Readonly<Record<string, unknown>> | null
  /** Whether the vectors it has were made from fragments, and can stay one by one. */
  readonly keeps: boolean
}

/** Documents of one embedder that have to be looked at before the commit, ascending docids. */
export interface WorkPage {
  readonly embedder: string
  readonly after: Rendering
  /** How `before` of the items was shown to it. */
  readonly before: Rendering
  readonly items: readonly WorkItem[]
  /** Where the next page begins, for `work`. */
  readonly next: string
}

/** Vectors for documents of one embedder. Documents of a `WorkPage` that are not named keep what they have. */
export interface VectorPage {
  readonly embedder: string
  readonly docids: Uint32Array
  /** Vectors of each document. */
  readonly counts: Uint8Array
  /** Per vector, the number of its fragment, or `NO_FRAGMENT`. */
  readonly fragments: Uint8Array
  /** Per vector: 1, the one it has of that fragment stays; 0, it is the next of `rows`. */
  readonly reused: Uint8Array
  /** Row-major. */
  readonly rows: Float32Array
}

/** Stands for the number of a fragment where a vector was made from the whole document. */
export const NO_FRAGMENT = 255

/** A batch merged and validated, not yet visible. Hand it to `commit` or to `abandon`, once. */
export interface Prepared {
  readonly index: IndexId
  /** Meaningful to the engine that made it. */
  readonly ticket: number
  /** Documents that `work` will name, once for each embedder. */
  readonly work: number
}

/**
 * What a change of a setting makes anew: columns of values, or all that is made of the texts of documents. `metadata`:
 * nothing.
 */
export type SettingCost = 'metadata' | 'columns' | 'documents'

/** What is being done, as clients read it, and how far along it is: so many of so many. */
export interface Step {
  readonly currentStep: string
  readonly finished: number
  readonly total: number
}

/** A commit of an index that is held for reading. */
export interface Pin {
  readonly index: IndexId
  /** Meaningful to the engine that made it. */
  readonly number: number
}

/** How one task of a batch ended inside the engine. */
export interface OperationOutcome {
  readonly taskUid: number
  /** Distinct ids accepted from this task's payload; `documents` operations only. */
  readonly indexedDocuments?: number
  /** Documents a script was run over; `edit` only. */
  readonly editedDocuments?: number
  /** Documents this task really removed; deletions and `clear` only. */
  readonly deletedDocuments?: number
  /** Whether the index's `updatedAt` moves because of this operation. */
  readonly touched: boolean
  /** Set if this task failed; then it left nothing behind. */
  readonly error?: Failure
}

/** What a commit did. The engine stores it inside the commit, so that it survives a crash. */
export interface BatchReport {
  readonly batchUid: number
  /** Name of the index when the batch ran, which may have another one since; absent in commits of earlier versions. */
  readonly indexUid?: string
  readonly outcomes: readonly OperationOutcome[]
  readonly primaryKey: string | null
  /** Documents in the index after the commit. */
  readonly documents: number
}

/** What metrics and telemetry need to know about an answer, beside its bytes. */
export interface SearchFacts {
  /** The search was cut off by its time budget. */
  readonly degraded: boolean
  readonly usedNegativeOperator: boolean
  /** Terms of the query that were used, at most 10. */
  readonly terms: number
  /** Hits that came from vectors; null for a pure keyword search. */
  readonly semanticHits: number | null
  /** A vector for the query would have been looked at: words alone did not settle it. */
  readonly lacksVector?: boolean
  /** Hits on the page. */
  readonly hits: number
  /** Time of each stage, in words, as the JSON text of an object. Absent unless they were asked for. */
  readonly stages?: string
}

/** UTF-8 JSON for the client, sent on unparsed, and facts about it. */
export interface Answer {
  readonly body: Uint8Array
  readonly facts: SearchFacts
  /** Of one search: the byte of the body at which the digits of `processingTimeMs` begin. */
  readonly timeAt?: number
}

/** One query of a multi-search: which index, and its request as UTF-8 JSON `SearchRequest`. */
export interface IndexedRequest {
  readonly index: IndexId
  readonly request: Uint8Array
  /** Indexes that its foreign keys lead to; absent: none. */
  readonly foreign?: readonly IndexId[]
}

/** What an index takes on disk, in bytes. */
export interface IndexSizes {
  /** Of stored documents, compressed. */
  readonly rawDocumentDbSize: number
  /** Of the index directory. */
  readonly indexSize: number
}

export interface IndexStats extends IndexSizes {
  readonly numberOfDocuments: number
  readonly numberOfEmbeddings: number
  readonly numberOfEmbeddedDocuments: number
  /** Top-level field → documents that have it, keys sorted; without `_vectors`. */
  readonly fieldDistribution: Readonly<Record<string, number>>
}

/** One kind of what an engine has cached. */
export interface CachedKind {
  /** In snake case, as metrics show it. */
  readonly kind: string
  /** How often an entry was found since the engine was opened, and how often none was. */
  readonly hits: number
  readonly misses: number
  /** Entries there are now. */
  readonly entries: number
  readonly bytes: number
}

/** What an engine has cached for all its indexes together. */
export interface CacheFigures {
  /** Bytes that all kinds may take together. */
  readonly bytesMax: number
  readonly kinds: readonly CachedKind[]
}

/** One problem found by `verify`. */
export interface Damage {
  readonly path: string
  readonly reason: string
  /** The file only saves time, and is made again without it. */
  readonly isHarmless?: boolean
}

/** What could be read of an index that may be damaged. */
export interface Rescued {
  /** Documents that were written. */
  readonly documents: number
  /**
   * What is lost or cannot be trusted, a line each for humans. None: documents, vectors and settings are all those of
   * the newest commit.
   */
  readonly losses: readonly string[]
  /** The newest settings that can be read, as JSON text of `IndexSettings`. */
  readonly settings: string
  readonly primaryKey: string | null
  /** Of the newest commit that can be read; null: none. */
  readonly report: BatchReport | null
}

/** Tells a search that its client has gone. An `AbortSignal` is one. */
export interface StopSignal {
  readonly aborted: boolean
  addEventListener(event: 'abort', listener: () => void): void
  removeEventListener(event: 'abort', listener: () => void): void
}

/**
 * Keeps indexes and answers searches. One per process, shared by all requests.
 *
 * Every method may reject with `EngineError` (the caller's mistake, code of the table); any other
 * rejection is ours and shows as `internal`. Requests and answers cross as UTF-8 JSON whose shapes are
 * in `requests.ts`; arrays given may be reused by the caller once the call returned its promise.
 * An index whose files do not decode, or are gone, is refused with `index_damaged`.
 */
export interface BareEngine {
  readonly kind: 'native' | 'fallback'

  /** Format, document count and first error of a spooled body, read as a stream off the main thread. */
  inspect(payload: Payload): Promise<PayloadReport>

  /**
   * Checks the syntax of a filter without an index; rejects with `invalid_search_filter`, or with
   * `feature_not_enabled` if it needs a feature that is off.
   * @param request `FilterCheck`
   */
  checkFilter(request: Uint8Array): Promise<void>

  /**
   * Merges and validates `batch`; says what has to be embedded. Creates the index directory if there is
   * none. Leaves no trace if abandoned. One prepared batch per index at a time.
   * @param stop once aborted, the preparation ends soon: it rejects, and nothing has to be abandoned
   */
  prepare(index: IndexId, batch: Batch, stop?: StopSignal): Promise<Prepared>

  /**
   * What has to be embedded before the commit, page by page; null after the last one.
   * @param from `next` of the page before, null for the first
   */
  work(prepared: Prepared, from: string | null): Promise<WorkPage | null>

  /**
   * Makes a prepared batch visible as one commit; resolves once it would survive a crash.
   * @param vectors what came of its work
   * Tasks that failed alone are in the report; if the commit itself fails the promise rejects and
   * nothing of the batch is visible, now or after the next commit. After a restart it may be, until `undo`.
   */
  commit(prepared: Prepared, vectors: readonly VectorPage[]): Promise<BatchReport>

  /**
   * How far the batch being prepared or committed has come, outermost step first; null if nothing is done for
   * it at the moment. Counted along with the work, so that asking costs it nothing.
   */
  progress(index: IndexId): Promise<readonly Step[] | null>

  /** Forgets a prepared batch. */
  abandon(prepared: Prepared): Promise<void>

  /**
   * Takes back the newest commits of an index as long as they are of these batches; resolves once they are gone for
   * good. For commits whose promise was rejected: a disk that fails to sync may leave them behind. Asked before
   * anything else of the index in this process.
   */
  undo(index: IndexId, batchUids: readonly number[]): Promise<void>

  /** The report inside the index's newest commit, null for a directory without one. Used on recovery. */
  lastCommit(index: IndexId): Promise<BatchReport | null>

  /** The complete settings of the newest commit, as JSON text of `IndexSettings`. */
  settings(index: IndexId): Promise<string>

  /**
   * What a change to `settings` would cost: the settings that differ, if they cost more than `metadata`.
   * @param settings JSON text of `IndexSettings`
   */
  settingsCost(index: IndexId, settings: string): Promise<Readonly<Record<string, SettingCost>>>

  /**
   * @param request `SearchRequest`
   * @param stop once aborted, the client has gone: the search gives up soon, and its answer is not used
   */
  search(index: IndexId, request: Uint8Array, stop?: StopSignal): Promise<Answer>

  /**
   * Why a document is where it is among the hits of a search: `ExplainFacts` as JSON; null if there is no such document.
   * @param request `ExplainRequest`
   */
  explain(index: IndexId, request: Uint8Array, stop?: StopSignal): Promise<Uint8Array | null>

  /** Without `federation`: `{"results":[…]}`. With it (`FederationRequest`): one merged list. */
  multiSearch(
    requests: readonly IndexedRequest[],
    federation: Uint8Array | null,
    stop?: StopSignal,
  ): Promise<Answer>

  /** @param request `FacetSearchRequest` */
  facetSearch(index: IndexId, request: Uint8Array, stop?: StopSignal): Promise<Answer>

  /** @param request `SimilarRequest` */
  similar(index: IndexId, request: Uint8Array, stop?: StopSignal): Promise<Answer>

  /** Lists documents: `{"results":[…],"offset","limit","total"}`. @param request `DocumentsRequest` */
  documents(index: IndexId, request: Uint8Array, stop?: StopSignal): Promise<Uint8Array>

  /** One document as bare JSON, null if there is none. @param request `DocumentRequest` */
  document(index: IndexId, request: Uint8Array): Promise<Uint8Array | null>

  stats(index: IndexId): Promise<IndexStats>

  /** The part of `stats` that takes no look at documents. */
  sizes(index: IndexId): Promise<IndexSizes>

  /** Names of all fields of all documents, dotted paths included, sorted. */
  fields(index: IndexId): Promise<readonly string[]>

  /**
   * Holds the newest commit of an index until `unpin`: it can be read whatever later commits and compactions do, and
   * after the index was dropped.
   * @param listing `DocumentsRequest` whose filter selects the documents that `pinnedDocuments` lists; absent: all
   */
  pin(index: IndexId, listing?: Uint8Array): Promise<Pin>

  /** The settings of a pinned commit, as `settings` gives them. */
  pinnedSettings(pin: Pin): Promise<string>

  /** Lists documents of a pinned commit. @param request `DocumentsRequest` with the filter of the pin, without ids and sort */
  pinnedDocuments(pin: Pin, request: Uint8Array): Promise<Uint8Array>

  /**
   * Copies a pinned commit into `directory`, which must not exist. A file of the copy may be a second name of one of the
   * index, so its bytes must not be changed.
   */
  snapshot(pin: Pin, directory: string): Promise<void>

  /** Lets go of a pinned commit; does nothing if it is not held. */
  unpin(pin: Pin): Promise<void>

  /**
   * Writes the files of an index anew, without what was deleted or replaced. Searches go on.
   * @param stop ends it soon, with a rejection; what was done by then stays
   */
  compact(index: IndexId, stop?: StopSignal): Promise<void>

  /** Path of the file that holds the newest commit, for messages; null if there is none. Opens nothing. */
  newestCommitFile(index: IndexId): Promise<string | null>

  /** Reads everything and reports what does not decode; empty if all is well. */
  verify(index: IndexId): Promise<readonly Damage[]>

  /**
   * Writes the documents of an index, which may be damaged, that can be read: NDJSON with vectors, ascending docids.
   * Changes nothing of the index.
   * @param path of the file, which must not exist
   */
  rescue(index: IndexId, path: string): Promise<Rescued>

  /**
   * Takes the newest commit that lies in the directory of an index, where another process has written it. Searches under way
   * end on the commit they began with, later ones see the new one, and none waits. Once it resolves, no file is needed any
   * more that the new commit does not name; pins hold what they need. If that commit does not open the promise rejects, and
   * the one before it is served on. Does nothing for an index that was not opened yet. Only of an engine with
   * `followsFiles`, which refuses `prepare`, `commit`, `undo` and `compact`.
   */
  adopt(index: IndexId): Promise<void>

  /** Closes the index and removes its directory; does nothing if there is none. */
  drop(index: IndexId): Promise<void>

  /** Ids of all index directories found, in no order. */
  list(): Promise<readonly IndexId[]>

  /** What is cached now; takes no look at any index. */
  cacheFigures(): Promise<CacheFigures>

  close(): Promise<void>
}

/**
 * An engine that remembers which indexes are damaged, and refuses them with `index_damaged` until they are dropped, or
 * adopted with other files.
 */
export interface Engine extends BareEngine {
  /**
   * The damage of an index, naming the file. Damage is found at an index's first use, so that null stands for a sound
   * index and for one that was not used yet.
   */
  damage(index: IndexId): string | null

  /** Makes an index known as damaged, for reasons the engine cannot see. @param damage names the file, if there is one */
  condemn(index: IndexId, damage: string): void

  /**
   * A number that grows with each commit of an index that is made or adopted, before the promise of that call settles,
   * whatever its outcome.
   * What was found under one number holds as long as the index has that number.
   */
  revision(index: IndexId): number

  /** The setting `foreignKeys` of the newest commit; read once for each revision. */
  foreignKeys(index: IndexId): Promise<IndexSettings['foreignKeys']>

  /** @param foreign indexes that the request's foreign keys lead to: they are not used either if they are damaged */
  search(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Answer>

  /** @param foreign as of `search` */
  explain(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Uint8Array | null>

  /** @param foreign as of `search` */
  facetSearch(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Answer>

  /** @param foreign as of `search` */
  similar(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Answer>

  /** @param foreign as of `search` */
  documents(
    index: IndexId,
    request: Uint8Array,
    stop?: StopSignal,
    foreign?: readonly IndexId[],
  ): Promise<Uint8Array>

  /**
   * Has an index looked at when it is first used: it counts as damaged if `lacks` says so of its newest commit. Nothing is
   * expected any more of one that was adopted.
   * @param lacks given the report of that commit, null without any, what is wrong with it; null: nothing
   */
  expect(index: IndexId, lacks: (report: BatchReport | null) => string | null): void
}
