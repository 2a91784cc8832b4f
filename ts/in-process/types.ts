/** Types of the package API. */
import type { FeatureFlags } from '../instance/index.js'
import type { LaunchOptions } from '../launch/index.js'
import type { Explanation, FieldsPage } from '../operations/index.js'
import type {
  BatchView,
  IndexEntry,
  Page,
  Task,
  TaskChange,
  TaskFilter,
  TaskSummary,
} from '../tasks/index.js'

/** A document: any JSON object with a primary key. */
export type Document = Readonly<Record<string, unknown>>

/** A filter as text, or as a list of alternatives and conditions. */
export type Filter = string | readonly (string | readonly string[])[]

/** The server's launch options that apply inside a process. `siftd --help` describes them. */
export type ServerOptions = Pick<
  LaunchOptions,
  | 'upgradeDb'
  | 'maxIndexingMemory'
  | 'maxIndexingThreads'
  | 'cacheSize'
  | 'answerCacheSize'
  | 'dumpDir'
  | 'snapshotDir'
  | 'snapshotsKept'
  | 'openaiApiKey'
  | 'ollamaUrl'
  | 'modelsDir'
  | 'modelHubUrl'
  | 'modelHubToken'
  | 'maxEmbeddingThreads'
  | 'taskWebhookUrl'
  | 'taskWebhookAuthorizationHeader'
  | 'experimentalAllowedIpNetworks'
  | 'experimentalContainsFilter'
  | 'experimentalEmbeddingCacheEntries'
  | 'experimentalMaxNumberOfBatchedTasks'
  | 'experimentalLimitBatchedTasksTotalSize'
  | 'experimentalRestEmbedderTimeoutSeconds'
  | 'experimentalRestEmbedderMaxRetryDurationSeconds'
  | 'experimentalConfigEmbedderFailureModes'
>

export interface OpenOptions extends Partial<ServerOptions> {
  /** Data directory, created if absent; only one process at a time. May be the directory of a stopped server. */
  readonly directory: string
  /** Default `auto`: native if its binary can be loaded. */
  readonly engine?: 'auto' | 'native' | 'fallback'
  /** Replaces a damaged or incomplete task store by a new one made from the indexes. Loses the history of tasks. */
  readonly rebuildTaskStore?: boolean
  /** Log level on stderr. Default: `WARN`. */
  readonly logLevel?: 'OFF' | 'ERROR' | 'WARN' | 'INFO' | 'DEBUG' | 'TRACE'
}

export interface AddOptions {
  /** Field that identifies documents; guessed from the first documents if absent. */
  readonly primaryKey?: string
}

/** Parameters of a search, as in the body of POST /search. Other parameters of the API are accepted too. */
export interface SearchParameters {
  readonly filter?: Filter
  readonly sort?: readonly string[]
  readonly facets?: readonly string[]
  readonly distinct?: string
  readonly offset?: number
  readonly limit?: number
  readonly page?: number
  readonly hitsPerPage?: number
  readonly attributesToRetrieve?: readonly string[]
  readonly attributesToHighlight?: readonly string[]
  readonly attributesToCrop?: readonly string[]
  readonly attributesToSearchOn?: readonly string[]
  readonly matchingStrategy?: 'last' | 'all' | 'frequency'
  readonly rankingScoreThreshold?: number
  readonly hybrid?: { readonly embedder: string; readonly semanticRatio?: number }
  readonly vector?: readonly number[]
  readonly retrieveVectors?: boolean
  readonly showRankingScore?: boolean
  readonly showRankingScoreDetails?: boolean
  readonly [name: string]: unknown
}

/** The answer to a search, as in the HTTP API. */
export interface SearchAnswer {
  readonly hits: readonly Document[]
  readonly query: string
  readonly processingTimeMs: number
  readonly estimatedTotalHits?: number
  readonly totalHits?: number
  readonly facetDistribution?: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly [key: string]: unknown
}

export interface FacetSearchParameters {
  readonly facetName: string
  readonly facetQuery?: string
  readonly q?: string
  readonly filter?: Filter
  readonly exhaustiveFacetCount?: boolean
  readonly [name: string]: unknown
}

export interface FacetSearchAnswer {
  readonly facetHits: readonly { readonly value: string; readonly count: number }[]
  readonly facetQuery: string | null
  readonly processingTimeMs: number
}

export interface SimilarParameters {
  readonly id: string | number
  readonly embedder: string
  readonly offset?: number
  readonly limit?: number
  readonly filter?: Filter
  readonly rankingScoreThreshold?: number
  readonly showRankingScore?: boolean
  readonly [name: string]: unknown
}

export interface SimilarAnswer {
  readonly hits: readonly Document[]
  readonly id: string
  readonly processingTimeMs: number
  readonly estimatedTotalHits?: number
}

/** A query of a multi-search. */
export interface MultiSearchQuery extends SearchParameters {
  readonly indexUid: string
  readonly q?: string
  /** Only with `federation`. */
  readonly federationOptions?: { readonly weight?: number }
}

/** Options for merging the hits of several queries into one list. */
export interface Federation {
  readonly offset?: number
  readonly limit?: number
  readonly page?: number
  readonly hitsPerPage?: number
  readonly facetsByIndex?: Readonly<Record<string, readonly string[]>>
  readonly mergeFacets?: { readonly maxValuesPerFacet?: number }
  readonly distinct?: string
}

export interface MultiSearchAnswer {
  readonly results: readonly (SearchAnswer & { readonly indexUid: string })[]
}

export interface FederatedAnswer {
  readonly hits: readonly (Document & {
    readonly _federation: { readonly indexUid: string; readonly queriesPosition: number }
  })[]
  readonly processingTimeMs: number
  readonly estimatedTotalHits?: number
  readonly totalHits?: number
  readonly [key: string]: unknown
}

export interface DocumentsParameters {
  readonly offset?: number
  /** Default: 20. */
  readonly limit?: number
  readonly fields?: readonly string[]
  readonly ids?: readonly (string | number)[]
  readonly filter?: Filter
  readonly sort?: readonly string[]
  readonly retrieveVectors?: boolean
}

export interface DocumentsAnswer {
  readonly results: readonly Document[]
  readonly offset: number
  readonly limit: number
  readonly total: number
}

export interface IndexStats {
  readonly numberOfDocuments: number
  readonly numberOfEmbeddings: number
  readonly isIndexing: boolean
  readonly fieldDistribution: Readonly<Record<string, number>>
}

/** An index. Its first write creates it. Writes return a task; see `Siftd.waitForTask`. */
export interface Index {
  readonly uid: string
  /** Adds documents, replacing those with the same id. */
  addDocuments(
    documents: Iterable<Document> | AsyncIterable<Document>,
    options?: AddOptions,
  ): Promise<TaskSummary>
  /** Merges top-level fields into the documents with the same id. Adds new documents. */
  updateDocuments(
    documents: Iterable<Document> | AsyncIterable<Document>,
    options?: AddOptions,
  ): Promise<TaskSummary>
  /** Deletes documents by id or filter. */
  deleteDocuments(which: readonly (string | number)[] | { readonly filter: Filter }): Promise<TaskSummary>
  deleteAllDocuments(): Promise<TaskSummary>
  /** Runs a function over documents. Requires the experimental feature `editDocumentsByFunction`. */
  editDocuments(edition: Edition): Promise<TaskSummary>
  /** Returns null if there is no such document. */
  document(id: string | number): Promise<Document | null>
  documents(parameters?: DocumentsParameters): Promise<DocumentsAnswer>
  search(q: string | null, parameters?: SearchParameters): Promise<SearchAnswer>
  /** Explains the position of a document among the hits of a search, or its absence. */
  explain(id: string | number, q: string | null, parameters?: SearchParameters): Promise<Explanation>
  /** Searches the values of a facet. */
  facetSearch(parameters: FacetSearchParameters): Promise<FacetSearchAnswer>
  /** Finds similar documents by the vectors of an embedder. */
  similar(parameters: SimilarParameters): Promise<SimilarAnswer>
  /** @param patch as in the body of PATCH /settings */
  updateSettings(patch: Readonly<Record<string, unknown>>): Promise<TaskSummary>
  /** Returns the changes that `updateSettings` would make, and their cost. Stores nothing. */
  compareSettings(patch: Readonly<Record<string, unknown>>): Promise<SettingsComparison>
  resetSettings(): Promise<TaskSummary>
  settings(): Promise<Readonly<Record<string, unknown>>>
  stats(): Promise<IndexStats>
  /** Creates the index without documents. */
  create(options?: AddOptions): Promise<TaskSummary>
  /** Sets the primary key of an empty index, or renames the index. */
  update(change: { readonly primaryKey?: string; readonly uid?: string }): Promise<TaskSummary>
  /** Returns the fields of the documents with their settings. */
  fields(parameters?: FieldsParameters): Promise<FieldsPage>
  /** Frees disk space that the index no longer needs. */
  compact(): Promise<TaskSummary>
  /** Deletes the index. */
  delete(): Promise<TaskSummary>
}

/** A function that changes documents. */
export interface Edition {
  /** A script, as in POST /documents/edit. */
  readonly function: string
  /** Default: all documents. */
  readonly filter?: Filter
  /** Values that the script reads as `context`. */
  readonly context?: Readonly<Record<string, unknown>>
}

/** Paging and conditions for fields, as in the body of POST /fields. */
export interface FieldsParameters {
  readonly offset?: number
  /** Default: 20. */
  readonly limit?: number
  readonly filter?: Readonly<Record<string, boolean | readonly string[]>>
}

/** The changes and cost of new settings. */
export interface SettingsComparison {
  /** Number of documents in the index. */
  readonly documents: number
  /** The changed settings, in the order of the API; secrets are masked. */
  readonly changes: readonly {
    readonly setting: string
    readonly before: unknown
    readonly after: unknown
    /** `metadata`: reads nothing; `columns`: columns are built at first use; `documents`: reindexes all documents. */
    readonly cost: 'metadata' | 'columns' | 'documents'
  }[]
  /** By embedder: upper bound of the documents to embed. */
  readonly embeddings: Readonly<Record<string, { readonly documentsMax: number }>>
}

/** Two indexes that swap their contents. */
export interface Swap {
  readonly indexes: readonly [string, string]
  /** True if the first is renamed to the second, which must not exist. Default: false. */
  readonly rename?: boolean
}

/** Indexes to copy to another instance. */
export interface Export {
  readonly url: string
  readonly apiKey?: string
  /** Bytes, or text such as `24MiB`. */
  readonly payloadSize?: number | string
  /** By index uid pattern. Default: all indexes. */
  readonly indexes?: Readonly<
    Record<string, { readonly filter?: Filter; readonly overrideSettings?: boolean }>
  >
}

export interface TaskListOptions extends Omit<TaskFilter, 'visibleIndexes'> {
  /** Default: 20. */
  readonly limit?: number
  /** The uid of the first task to list. */
  readonly from?: number
  /** True: oldest first. */
  readonly reverse?: boolean
}

/** An open data directory. Every method rejects with an `ApiError` for invalid input. */
export interface Siftd {
  readonly engine: 'native' | 'fallback'
  index(uid: string): Index
  indexes(): readonly IndexEntry[]
  /** Runs several searches, each with its own answer. */
  multiSearch(request: { readonly queries: readonly MultiSearchQuery[] }): Promise<MultiSearchAnswer>
  /** Runs several searches and merges their hits into one list. */
  multiSearch(request: {
    readonly queries: readonly MultiSearchQuery[]
    readonly federation: Federation
  }): Promise<FederatedAnswer>
  /** Returns tasks, newest first. */
  tasks(options?: TaskListOptions): Promise<Page<Task>>
  /** Returns null if there is no such task. */
  task(taskUid: number): Promise<Task | null>
  /** Cancels unfinished tasks. */
  cancelTasks(filter: Omit<TaskFilter, 'visibleIndexes'>): Promise<TaskSummary>
  /** Deletes finished tasks. */
  deleteTasks(filter: Omit<TaskFilter, 'visibleIndexes'>): Promise<TaskSummary>
  /** Returns batches, newest first. A batch is listed if the filter matches one of its tasks. */
  batches(options?: TaskListOptions): Promise<Page<BatchView>>
  /** Returns null if there is no such batch. */
  batch(batchUid: number): Promise<BatchView | null>
  /** Swaps the contents of all pairs of indexes atomically. */
  swapIndexes(swaps: readonly Swap[]): Promise<TaskSummary>
  /** Copies indexes to another instance. */
  export(request: Export): Promise<TaskSummary>
  /**
   * Resolves when the task has finished; check its `status` and `error`.
   * Rejects with `task_not_found`, or with a plain error after `timeoutMs` (default: no limit).
   */
  waitForTask(taskUid: number, options?: { readonly timeoutMs?: number }): Promise<Task>
  /** Calls `listener` whenever tasks are enqueued, start or finish. Returns a function that removes the listener. */
  onTaskChange(listener: (change: TaskChange) => void): () => void
  /** Writes a dump into `dumpDir`. */
  createDump(): Promise<TaskSummary>
  /** Writes a snapshot into `snapshotDir`. */
  createSnapshot(): Promise<TaskSummary>
  /** Returns the experimental features. */
  features(): FeatureFlags
  /** Switches experimental features on or off. */
  updateFeatures(changes: Partial<FeatureFlags>): Promise<FeatureFlags>
  /** Stops the running batch and closes everything. */
  close(): Promise<void>
}
