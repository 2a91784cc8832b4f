// Made by `napi build` of what the crate exports to JavaScript; CONTRIBUTING says how it is renewed.

/** All indexes of one directory, and the threads that serve them. */
export declare class EngineHandle {
  /**
   * Opens a directory of indexes, creating it if there is none. `report` is called with each fault of work in the
   * background, and does not keep the process alive.
   */
  constructor(setup: Setup, report: ReportFault)
  /** `payload`: `Payload`. Resolves to `PayloadReport`. */
  inspect(payload: Uint8Array): Promise<Reply>
  /** `filter`: `FilterCheck`. Resolves to nothing. */
  checkFilter(filter: Uint8Array): Promise<Reply>
  /**
   * `batch`: `Batch`. Resolves to its ticket, and how many documents have to be embedded before it is committed. One that
   * `is_small` does not wait for others, whatever they write.
   */
  prepare(index: string, batch: Uint8Array, isSmall: boolean, ticket?: Ticket | undefined | null): Promise<Reply>
  /** What has to be embedded before a prepared batch is committed: `WorkPage`, or nothing after the last. */
  work(index: string, ticket: number, isSmall: boolean, from?: string | undefined | null): Promise<Reply>
  /** Resolves to `BatchReport`. Segments are merged behind its back, if there are too many. */
  commit(index: string, ticket: number, isSmall: boolean, vectors: readonly Vectors[]): Promise<Reply>
  /** How far the batch being prepared or committed has come: `Step`s, outermost first, or nothing. */
  progress(index: string): Promise<Reply>
  /** Forgets a prepared batch. Resolves to nothing. */
  abandon(index: string, ticket: number): Promise<Reply>
  /** Takes back the newest commits of an index as long as they are of these batches. Resolves to nothing. */
  undo(index: string, batchUids: readonly number[]): Promise<Reply>
  /** Shows the newest commit that lies in the directory of an index. Resolves to nothing. */
  adopt(index: string): Promise<Reply>
  /** Resolves to `BatchReport`, or to nothing. */
  lastCommit(index: string): Promise<Reply>
  /** Resolves to `IndexSettings`, or to nothing if none were ever set. */
  settings(index: string): Promise<Reply>
  /** `settings`: `IndexSettings`. Resolves to the settings that would cost more than a commit without documents. */
  settingsCost(index: string, settings: string): Promise<Reply>
  /** `request`: `SearchRequest`. */
  search(index: string, request: Uint8Array, ticket?: Ticket | undefined | null): Promise<Reply>
  /** Several searches, each for itself, or merged as `federation` (`FederationRequest`) says. */
  multiSearch(requests: readonly IndexedRequest[], federation?: Uint8Array | undefined | null, ticket?: Ticket | undefined | null): Promise<Reply>
  /** `request`: `FacetSearchRequest`. */
  facetSearch(index: string, request: Uint8Array, ticket?: Ticket | undefined | null): Promise<Reply>
  /** `request`: `ExplainRequest`. Resolves to nothing if there is no such document. */
  explain(index: string, request: Uint8Array, ticket?: Ticket | undefined | null): Promise<Reply>
  /** Nothing waits for the call with this ticket any more: it gives up soon, and its answer is of no use. */
  stop(ticket: number): void
  /** `request`: `SimilarRequest`. */
  similar(index: string, request: Uint8Array): Promise<Reply>
  /** `request`: `DocumentsRequest`. */
  documents(index: string, request: Uint8Array): Promise<Reply>
  /** `request`: `DocumentRequest`. Resolves to nothing if there is no such document. */
  document(index: string, request: Uint8Array): Promise<Reply>
  /** Resolves to `IndexStats`. */
  stats(index: string): Promise<Reply>
  /** Resolves to `IndexSizes`. */
  sizes(index: string): Promise<Reply>
  /** Resolves to an array of names. */
  fields(index: string): Promise<Reply>
  /** Holds the newest commit of an index for reading. Resolves to the number of the pin as JSON. */
  pin(index: string): Promise<Reply>
  /** Resolves to `IndexSettings`, or to nothing if none were ever set. */
  pinnedSettings(pin: number): Promise<Reply>
  /** `request`: `DocumentsRequest`. */
  pinnedDocuments(pin: number, request: Uint8Array): Promise<Reply>
  /** Copies a pinned commit to `directory`, which must not exist. Resolves to nothing. */
  copyPinned(pin: number, directory: string): Promise<Reply>
  /** Lets go of a pinned commit. Resolves to nothing. */
  unpin(pin: number): Promise<Reply>
  /** Writes the files of an index anew without what was deleted or replaced. Resolves to nothing. */
  compact(index: string, ticket?: Ticket | undefined | null): Promise<Reply>
  /** Resolves to an array of `Damage`. */
  verify(index: string): Promise<Reply>
  /** Writes the documents of an index that can be read to a new file. Resolves to `Rescued`. */
  rescue(index: string, path: string): Promise<Reply>
  /** Removes an index. Resolves to nothing. */
  drop(index: string): Promise<Reply>
  /** Resolves to an array of ids. */
  list(): Promise<Reply>
  /** Resolves to `CacheFigures`. */
  cacheFigures(): Promise<Reply>
  /** Finishes what is being written and lets go of everything. Later calls fail. Resolves to nothing. */
  close(): Promise<Reply>
}

/** What is known of an answer beside its bytes. */
export interface Facts {
  /** The search was cut off by its time budget. */
  degraded: boolean
  /** Something was ruled out with `-`. */
  usedNegativeOperator: boolean
  /** Terms of the query. */
  terms: number
  /** Hits that came from vectors; absent for a search by words alone. */
  semanticHits?: number
  /** A vector for the query would have been looked at. */
  lacksVector: boolean
  /** Hits on the page. */
  hits: number
  /** Of one search: the byte of the body at which the digits of `processingTimeMs` begin. */
  timeAt?: number
}

/** What a caller can act on, or `internal`. */
export interface Failure {
  /** Of the API's error table. */
  code: string
  /** Shown as is, unless the code is `internal`. */
  message: string
}

/** A failure of work in the background. Shape: `BackgroundFault` in `ts/engine/background-faults.ts`. */
export interface Fault {
  /** The kind of work that failed, one of `backgroundFaultKinds`. */
  kind: string
  /** Id of the index; null for work for all indexes. */
  index: string | null
  /** The file or directory that the work was on. */
  file: string
  /** The error in one line. */
  reason: string
}

/** One query of a multi-search. */
export interface IndexedRequest {
  /** Which index. */
  index: string
  /** `SearchRequest` as UTF-8 JSON. */
  request: Uint8Array
}

/** The outcome of any call: a failure, or bytes where there are any. */
export interface Reply {
  /** UTF-8 JSON. */
  body?: Buffer
  /** Of searches only. */
  facts?: Facts
  /** Set if the call failed. */
  failure?: Failure
}

/** A JavaScript function that any thread may call with a fault. The function is weak: it does not keep the event loop alive. */
export type ReportFault = ((arg: Fault) => void)

/** What an engine needs to open. */
export interface Setup {
  /** Absolute path of the directory that holds one directory per index. */
  directory: string
  /** Bytes that indexing may use beside mapped files. */
  indexingMemoryBytes: number
  /** Threads that indexing may use. */
  indexingThreads: number
  /** Bytes of what is cached for all indexes together. */
  cacheBytes: number
  /** Whether another process writes the files of the indexes. */
  followsFiles: boolean
}

/** What a call can be stopped by. */
export interface Ticket {
  /** Chosen by the caller, different for all calls under way. */
  number: number
  /** The answer is not waited for from the start. */
  isStopped: boolean
}

/** Vectors made for documents of one embedder: `VectorPage`. */
export interface Vectors {
  /** Which embedder. */
  embedder: string
  /** Whose vectors. */
  docids: Uint32Array
  /** Vectors of each document. */
  counts: Uint8Array
  /** Per vector, the number of its fragment. */
  fragments: Uint8Array
  /** Per vector, whether it stays. */
  reused: Uint8Array
  /** Row-major. */
  rows: Float32Array
}
