/** What a program of this process may ask of a data directory. */
import type { FeatureFlags } from '../instance/index.js'
import type { LaunchOptions } from '../launch/index.js'
import type { Explanation, FieldsPage } from '../searches/index.js'
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

/** The launch options of the server that mean something inside a process, each as `siftd --help` describes it. */
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
  /** Data directory, created when absent; one process at a time. The server's own may be used while it is down. */
  readonly directory: string
  /** Default `auto`: native where its binary loads. */
  readonly engine?: 'auto' | 'native' | 'fallback'
  /** Makes a new task store from the indexes if the old one is damaged or incomplete; the history of tasks is lost. */
  readonly rebuildTaskStore?: boolean
  /** Default `WARN`, on stderr. */
  readonly logLevel?: 'OFF' | 'ERROR' | 'WARN' | 'INFO' | 'DEBUG' | 'TRACE'
}

export interface AddOptions {
  /** Field that identifies documents; guessed from the first ones when absent. */
  readonly primaryKey?: string
}

/** Parameters of a search, as the body of POST /search has them. Others of the API are taken too. */
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

/** The answer of a search, as the HTTP API gives it. */
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

/** One query of several. */
export interface MultiSearchQuery extends SearchParameters {
  readonly indexUid: string
  readonly q?: string
  /** Along with `federation` only. */
  readonly federationOptions?: { readonly weight?: number }
}

/** How the hits of several queries are merged into one list. */
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

/** One index. It comes into being with its first write. Writes return a task; see `Siftd.waitForTask`. */
export interface Index {
  readonly uid: string
  /** Adds documents, replacing those with the same id. */
  addDocuments(
    documents: Iterable<Document> | AsyncIterable<Document>,
    options?: AddOptions,
  ): Promise<TaskSummary>
  /** Merges top-level fields into the documents with the same id, adding what is new. */
  updateDocuments(
    documents: Iterable<Document> | AsyncIterable<Document>,
    options?: AddOptions,
  ): Promise<TaskSummary>
  /** Deletes documents by their ids, or those that pass a filter. */
  deleteDocuments(which: readonly (string | number)[] | { readonly filter: Filter }): Promise<TaskSummary>
  deleteAllDocuments(): Promise<TaskSummary>
  /** Runs a function over documents. The experimental feature `editDocumentsByFunction` has to be on. */
  editDocuments(edition: Edition): Promise<TaskSummary>
  /** null if there is none. */
  document(id: string | number): Promise<Document | null>
  documents(parameters?: DocumentsParameters): Promise<DocumentsAnswer>
  search(q: string | null, parameters?: SearchParameters): Promise<SearchAnswer>
  /** Why a document is where it is among the hits of a search, or what keeps it from being one. */
  explain(id: string | number, q: string | null, parameters?: SearchParameters): Promise<Explanation>
  /** Searches the values of a facet. */
  facetSearch(parameters: FacetSearchParameters): Promise<FacetSearchAnswer>
  /** Documents like one, by the vectors of an embedder. */
  similar(parameters: SimilarParameters): Promise<SimilarAnswer>
  /** @param patch as the body of PATCH /settings */
  updateSettings(patch: Readonly<Record<string, unknown>>): Promise<TaskSummary>
  /** What `updateSettings` would change, and what that would cost. Nothing is stored. */
  compareSettings(patch: Readonly<Record<string, unknown>>): Promise<SettingsComparison>
  resetSettings(): Promise<TaskSummary>
  settings(): Promise<Readonly<Record<string, unknown>>>
  stats(): Promise<IndexStats>
  /** Creates the index without a document. */
  create(options?: AddOptions): Promise<TaskSummary>
  /** Sets the primary key of an index without documents, or renames it. */
  update(change: { readonly primaryKey?: string; readonly uid?: string }): Promise<TaskSummary>
  /** The fields of the documents, and what the settings say about each. */
  fields(parameters?: FieldsParameters): Promise<FieldsPage>
  /** Gives back disk space that the index no longer needs. */
  compact(): Promise<TaskSummary>
  /** Deletes the index. */
  delete(): Promise<TaskSummary>
}

/** A function that changes documents. */
export interface Edition {
  /** A script, as POST /documents/edit has it. */
  readonly function: string
  /** Default: all documents. */
  readonly filter?: Filter
  /** Values that the script reads as `context`. */
  readonly context?: Readonly<Record<string, unknown>>
}

/** A page of fields, and conditions that they must meet, as the body of POST /fields has them. */
export interface FieldsParameters {
  readonly offset?: number
  /** Default: 20. */
  readonly limit?: number
  readonly filter?: Readonly<Record<string, boolean | readonly string[]>>
}

/** What a change of settings would do. */
export interface SettingsComparison {
  /** Documents of the index. */
  readonly documents: number
  /** The settings that change, in the order of the API; secrets are masked. */
  readonly changes: readonly {
    readonly setting: string
    readonly before: unknown
    readonly after: unknown
    /** `metadata`: nothing is read; `columns`: columns are built when first used; `documents`: all are read anew. */
    readonly cost: 'metadata' | 'columns' | 'documents'
  }[]
  /** By embedder: the most documents that it would be given. */
  readonly embeddings: Readonly<Record<string, { readonly documentsMax: number }>>
}

/** Two indexes that exchange their content. */
export interface Swap {
  readonly indexes: readonly [string, string]
  /** Whether the first is renamed to the second, which must not exist. Default: false. */
  readonly rename?: boolean
}

/** Indexes to copy to another instance. */
export interface Export {
  readonly url: string
  readonly apiKey?: string
  /** Bytes, or text such as `24MiB`. */
  readonly payloadSize?: number | string
  /** By pattern of their uids. Default: all. */
  readonly indexes?: Readonly<
    Record<string, { readonly filter?: Filter; readonly overrideSettings?: boolean }>
  >
}

export interface TaskListOptions extends Omit<TaskFilter, 'visibleIndexes'> {
  /** Default: 20. */
  readonly limit?: number
  /** The uid of the first task to list. */
  readonly from?: number
  /** Lists the oldest first. */
  readonly reverse?: boolean
}

/** An opened data directory. Every method rejects with `ApiError` for a mistake of the caller. */
export interface Siftd {
  readonly engine: 'native' | 'fallback'
  index(uid: string): Index
  indexes(): readonly IndexEntry[]
  /** Searches several times, each with its own answer. */
  multiSearch(request: { readonly queries: readonly MultiSearchQuery[] }): Promise<MultiSearchAnswer>
  /** Searches several times, and merges the hits into one list. */
  multiSearch(request: {
    readonly queries: readonly MultiSearchQuery[]
    readonly federation: Federation
  }): Promise<FederatedAnswer>
  /** Tasks, newest first. */
  tasks(options?: TaskListOptions): Promise<Page<Task>>
  /** null if there is none. */
  task(taskUid: number): Promise<Task | null>
  /** Cancels tasks that have not ended. */
  cancelTasks(filter: Omit<TaskFilter, 'visibleIndexes'>): Promise<TaskSummary>
  /** Deletes tasks that have ended. */
  deleteTasks(filter: Omit<TaskFilter, 'visibleIndexes'>): Promise<TaskSummary>
  /** Batches, newest first. The filter selects those that hold a task it matches. */
  batches(options?: TaskListOptions): Promise<Page<BatchView>>
  /** null if there is none. */
  batch(batchUid: number): Promise<BatchView | null>
  /** Pairs of indexes exchange their content, all at once. */
  swapIndexes(swaps: readonly Swap[]): Promise<TaskSummary>
  /** Copies indexes to another instance. */
  export(request: Export): Promise<TaskSummary>
  /**
   * Resolves once the task has ended, however it did: look at its `status` and `error`.
   * Rejects with `task_not_found`, or with a plain error after `timeoutMs` (default: no limit).
   */
  waitForTask(taskUid: number, options?: { readonly timeoutMs?: number }): Promise<Task>
  /** `listener` is called whenever tasks arrive, begin or end. Returns how to stop that. */
  onTaskChange(listener: (change: TaskChange) => void): () => void
  /** Writes a dump into `dumpDir`. */
  createDump(): Promise<TaskSummary>
  /** Writes a snapshot into `snapshotDir`. */
  createSnapshot(): Promise<TaskSummary>
  /** The experimental features. */
  features(): FeatureFlags
  /** Switches experimental features on or off. */
  updateFeatures(changes: Partial<FeatureFlags>): Promise<FeatureFlags>
  /** Ends the batch under way and closes everything. */
  close(): Promise<void>
}
