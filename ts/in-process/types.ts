/** Types of the package API: an open directory and its indexes. */
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
import type {
  Attribute,
  Document,
  Pattern,
  ReservedAttribute,
  ReservedFields,
  Sent,
  SentPart,
} from './document-types.js'
import type { Checked, Filter } from './filter-types.js'
import type {
  FacetSearchAnswer,
  FacetSearchParameters,
  FederatedAnswer,
  Federation,
  MultiSearchAnswer,
  MultiSearchQuery,
  SearchAnswer,
  SearchParameters,
  SimilarAnswer,
  SimilarParameters,
  SortBy,
} from './search-types.js'
import type { Settings, SettingsPatch } from './settings-types.js'

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
  | 'embedderRequestsPerMinute'
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
  /**
   * True if nothing may change the directory, for example on a read-only file system. Writes then reject with a
   * `ReadOnlyError`, and waiting tasks stay as they are. Files that are not written once are copied to the temporary
   * directory of the system: of the native engine the task store, of the fallback also the indexes. Several processes can
   * have the directory open like this; none may write to it meanwhile. Default: false.
   */
  readonly readOnly?: boolean
  /** Log level on stderr. Default: `WARN`. */
  readonly logLevel?: 'OFF' | 'ERROR' | 'WARN' | 'INFO' | 'DEBUG' | 'TRACE'
  /**
   * True if the process stays alive until `close`. Default: false, only calls and batches under way keep it alive; what
   * the queue still holds then is carried out after the next `open`.
   */
  readonly keepAlive?: boolean
}

export interface AddOptions<T = Document> {
  /** Field that identifies documents; guessed from the first documents if absent. */
  readonly primaryKey?: Attribute<T>
}

export interface DocumentsParameters<T = Document, F extends Filter = Filter> {
  readonly offset?: number
  /** Default: 20. */
  readonly limit?: number
  readonly fields?: readonly (Attribute<T> | Pattern | ReservedAttribute)[] | null
  readonly ids?: readonly (string | number)[] | null
  readonly filter?: (F & Checked<T, F>) | null
  readonly sort?: readonly SortBy<T>[] | null
  readonly retrieveVectors?: boolean
}

/** A document as it is stored. `fields` leaves fields out, which the type does not show. */
export type Stored<T> = string extends keyof T ? T : T & ReservedFields

export interface DocumentsAnswer<T = Document> {
  readonly results: readonly Stored<T>[]
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

/**
 * An index with documents of type `T`. Its first write creates it. Writes return a task; see `Siftd.waitForTask`.
 * Nothing checks that stored documents are of the type.
 */
export interface Index<T extends object = Document> {
  readonly uid: string
  /** Adds documents, replacing those with the same id. */
  addDocuments(
    documents: Iterable<Sent<T>> | AsyncIterable<Sent<T>>,
    options?: AddOptions<T>,
  ): Promise<TaskSummary>
  /** Merges top-level fields into the documents with the same id. Adds new documents. */
  updateDocuments(
    documents: Iterable<SentPart<T>> | AsyncIterable<SentPart<T>>,
    options?: AddOptions<T>,
  ): Promise<TaskSummary>
  /** Deletes documents by id or filter. */
  deleteDocuments<const F extends Filter>(
    which: readonly (string | number)[] | { readonly filter: F & Checked<T, F> },
  ): Promise<TaskSummary>
  deleteAllDocuments(): Promise<TaskSummary>
  /** Runs a function over documents. Requires the experimental feature `editDocumentsByFunction`. */
  editDocuments<const F extends Filter>(edition: Edition<T, F>): Promise<TaskSummary>
  /** Returns null if there is no such document. */
  document(id: string | number): Promise<Stored<T> | null>
  documents<const F extends Filter>(parameters?: DocumentsParameters<T, F>): Promise<DocumentsAnswer<T>>
  search<const F extends Filter>(
    q: string | null,
    parameters?: SearchParameters<T, F>,
  ): Promise<SearchAnswer<T>>
  /** Explains the position of a document among the hits of a search, or its absence. */
  explain<const F extends Filter>(
    id: string | number,
    q: string | null,
    parameters?: SearchParameters<T, F>,
  ): Promise<Explanation>
  /** Searches the values of a facet. */
  facetSearch<const F extends Filter>(parameters: FacetSearchParameters<T, F>): Promise<FacetSearchAnswer>
  /** Finds similar documents by the vectors of an embedder. */
  similar<const F extends Filter>(parameters: SimilarParameters<T, F>): Promise<SimilarAnswer<T>>
  /** @param patch as in the body of PATCH /settings */
  updateSettings(patch: SettingsPatch<T>): Promise<TaskSummary>
  /** Returns the changes that `updateSettings` would make, and their cost. Stores nothing. */
  compareSettings(patch: SettingsPatch<T>): Promise<SettingsComparison>
  resetSettings(): Promise<TaskSummary>
  settings(): Promise<Settings<T>>
  stats(): Promise<IndexStats>
  /** Creates the index without documents. */
  create(options?: AddOptions<T>): Promise<TaskSummary>
  /** Sets the primary key of an empty index, or renames the index. */
  update(change: { readonly primaryKey?: Attribute<T>; readonly uid?: string }): Promise<TaskSummary>
  /** Returns the fields of the documents with their settings. */
  fields(parameters?: FieldsParameters): Promise<FieldsPage>
  /** Frees disk space that the index no longer needs. */
  compact(): Promise<TaskSummary>
  /** Cuts all documents into words again, for example after an upgrade. */
  reindex(): Promise<TaskSummary>
  /** Deletes the index. */
  delete(): Promise<TaskSummary>
}

/** A function that changes documents. */
export interface Edition<T = Document, F extends Filter = Filter> {
  /** A script, as in POST /documents/edit. */
  readonly function: string
  /** Default: all documents. */
  readonly filter?: (F & Checked<T, F>) | null
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

/**
 * An open data directory. Every method rejects with an `ApiError` for invalid input, and with a `ClosedError` after
 * `close`. `await using` closes it at the end of its block.
 */
export interface Siftd extends AsyncDisposable {
  readonly engine: 'native' | 'fallback'
  /** Returns an index, whether it exists or not. Its documents are of type `T`. @throws ApiError `invalid_index_uid` */
  index<T extends object = Document>(uid: string): Index<T>
  indexes(): readonly IndexEntry[]
  /** Runs several searches, each with its own answer. */
  multiSearch<T extends object = Document>(request: {
    readonly queries: readonly MultiSearchQuery<T>[]
    readonly federation?: null
  }): Promise<MultiSearchAnswer<T>>
  /** Runs several searches and merges their hits into one list. */
  multiSearch<T extends object = Document>(request: {
    readonly queries: readonly MultiSearchQuery<T>[]
    readonly federation: Federation
  }): Promise<FederatedAnswer<T>>
  /** Returns tasks, newest first. */
  tasks(options?: TaskListOptions): Promise<Page<Task>>
  /** Returns null if there is no such task. */
  task(taskUid: number): Promise<Task | null>
  /** Cancels unfinished tasks that match. @throws ApiError `missing_task_filters` if the filter has no value */
  cancelTasks(filter: Omit<TaskFilter, 'visibleIndexes'>): Promise<TaskSummary>
  /** Deletes finished tasks that match. @throws ApiError `missing_task_filters` if the filter has no value */
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
   * Rejects with `task_not_found`, with a `TaskTimeoutError` after `timeoutMs` (default: no limit), and with a
   * `ClosedError` if the directory is closed meanwhile.
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
  /** Stops the running batch and closes everything. A second call does nothing. */
  close(): Promise<void>
}
