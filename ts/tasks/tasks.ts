import type { IndexId, PayloadFormat } from '../engine/index.js'
import type { RuleBook } from '../rules/index.js'
import type { TaskChange } from './changes.js'
import type { StoredWebhook } from './store/stored-webhook.js'
import type { BatchView, Task, TaskContent, TaskStatus, TaskSummary, TaskType } from './task.js'
import type { WaitOptions } from './waiting.js'

/** An index as the catalogue knows it. Dates are RFC 3339, UTC. */
export interface IndexEntry {
  readonly uid: string
  readonly id: IndexId
  readonly primaryKey: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** Filters of the listings; absent or null: no restriction. Lists are OR-ed, filters AND-ed. */
export interface TaskFilter {
  readonly uids?: readonly number[] | null
  readonly batchUids?: readonly number[] | null
  readonly canceledBy?: readonly number[] | null
  readonly types?: readonly TaskType[] | null
  readonly statuses?: readonly TaskStatus[] | null
  readonly indexUids?: readonly string[] | null
  /** RFC 3339; both bounds exclusive. */
  readonly beforeEnqueuedAt?: string | null
  readonly afterEnqueuedAt?: string | null
  readonly beforeStartedAt?: string | null
  readonly afterStartedAt?: string | null
  readonly beforeFinishedAt?: string | null
  readonly afterFinishedAt?: string | null
  /** Set for a key that may see some indexes only: patterns of uids (`boats`, `boats_*`); other tasks are hidden. */
  readonly visibleIndexes?: readonly string[] | null
}

export interface TaskPaging {
  readonly limit: number
  readonly from: number | null
  readonly reverse: boolean
}

/** Envelope of the task and batch listings, keys in the order they are rendered. */
export interface Page<T> {
  readonly results: readonly T[]
  readonly total: number
  readonly limit: number
  readonly from: number | null
  readonly next: number | null
}

export interface NewTask {
  readonly indexUid: string | null
  readonly type: TaskType
  readonly content: TaskContent
  readonly customMetadata?: string | undefined
}

/** The file that an upload is streamed into, until a task names it or it is discarded. */
export interface SpoolSlot {
  /** Absolute path of a file that does not exist yet. */
  readonly path: string
  /** Syncs file and directory so that the body survives a crash. */
  sync(): Promise<void>
  discard(): Promise<void>
}

/** Something that is not as it was written. */
export interface Finding {
  /** The uid of an index; null for what belongs to none. */
  readonly indexUid: string | null
  /** The path of the file or directory. */
  readonly file: string
  readonly problem: string
  /** What is lost by it, and what helps. */
  readonly cost: string
  /** Whether answers may lack something or be refused. If not, the server mends it by itself. */
  readonly isHarmful: boolean
  /** Whether a second fault would not be noticed, or could not be mended, until a start writes the file again. */
  readonly isProtectionLost?: true
}

/** The durable queue and the catalogue of indexes, as `http/` uses them. */
export interface Tasks {
  /** A new spool file; its name goes into the task's payload. */
  spool(format: PayloadFormat): Promise<SpoolSlot>

  /**
   * Checks that a script which edits documents compiles; rejects with `bad_request`, or with
   * `feature_not_enabled` where no interpreter can be loaded.
   */
  checkFunction(source: string): Promise<void>

  /**
   * Appends a task durably: once the promise resolves it survives a crash. Concurrent calls share a sync.
   * Rejects with `no_space_left_on_device` if the disk or the task store is full.
   */
  enqueue(task: NewTask): Promise<TaskSummary>

  get(uid: number, visibleIndexes: readonly string[] | null): Promise<Task | null>
  /**
   * The task once it has ended; as it stands when the time is over, at the signal, or when the queue stops. null if
   * there is no such task, or no longer.
   */
  wait(uid: number, visibleIndexes: readonly string[] | null, options: WaitOptions): Promise<Task | null>
  /** `listener` runs whenever tasks have arrived, begun, ended or gone back to the queue. Returns how to stop that. */
  onChange(listener: (change: TaskChange) => void): () => void
  /** The documents an unfinished task holds, one a line; null if it holds none or has ended. */
  documents(uid: number): Promise<AsyncIterable<string> | null>
  /** Rewrites the task store without its gaps; new tasks wait meanwhile. */
  compact(): Promise<{ readonly bytesBefore: number; readonly bytesAfter: number }>
  list(filter: TaskFilter, paging: TaskPaging): Promise<Page<Task>>
  /** Uids that `filter` matches now, ascending: what a request to cancel or delete tasks acts on. */
  match(filter: TaskFilter): Promise<readonly number[]>

  batch(uid: number, visibleIndexes: readonly string[] | null): Promise<BatchView | null>
  batches(filter: TaskFilter, paging: TaskPaging): Promise<Page<BatchView>>

  /** The index of that uid, from memory: cheap enough for every search. */
  index(uid: string): IndexEntry | null
  /** All indexes, ascending by uid. */
  indexes(): readonly IndexEntry[]
  /** The dynamic search rules, from memory: cheap enough for every search. */
  rules(): RuleBook
  /** Whether a task of this index is being processed. */
  isIndexing(uid: string): boolean
  /** When any index last changed, null on an untouched instance. */
  lastUpdate(): string | null
  /** Which files of the indexes and the queue are damaged. Reads all of them, changes nothing. */
  verify(): Promise<readonly Finding[]>
  /** Bytes of the task store and the spool. */
  bytes(): Promise<number>
  /** The totals of the listings by each status, type and index, in one call of the store. */
  counts(): Promise<TaskCounts>
  /** What waits, and how full the task store is. @param indexesMax the most indexes to name in `waiting` */
  load(indexesMax: number): Promise<QueueLoad>
}

/** Numbers of tasks by status, by type and by uid of an index; what no task has may be missing. */
export interface TaskCounts {
  readonly statuses: ReadonlyMap<string, number>
  readonly types: ReadonlyMap<string, number>
  readonly indexes: ReadonlyMap<string, number>
}

/** How much the queue holds, for monitoring. */
export interface QueueLoad {
  /** Largest size of the task store, in bytes. */
  readonly storeBytesMax: number
  /** Bytes of the task store that are in use. */
  readonly storeBytesUsed: number
  /** Bytes that tasks may still take in the store before new ones are refused; 0 while they are. */
  readonly storeBytesLeft: number
  /** The indexes with the most waiting tasks, most first. */
  readonly waiting: readonly WaitingTasks[]
}

/** Tasks of one index that have not begun. */
export interface WaitingTasks {
  /** null: tasks that concern no index, or several. */
  readonly indexUid: string | null
  readonly tasks: number
  /** When the oldest of them arrived, RFC 3339. */
  readonly oldestEnqueuedAt: string
}

/** An API key as stored; its value is computed from the master key. Dates are RFC 3339. */
export interface StoredKey {
  readonly uid: string
  readonly name: string | null
  readonly description: string | null
  readonly actions: readonly string[]
  readonly indexes: readonly string[]
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** API keys and named values, in the same store as the tasks. */
export interface InstanceStore {
  keys(): Promise<readonly StoredKey[]>
  putKey(key: StoredKey): Promise<void>
  deleteKey(uid: string): Promise<void>
  /** A JSON value by name (`experimentalFeatures`, `network`, …), null if never set. */
  value(name: string): Promise<unknown>
  putValue(name: string, value: unknown): Promise<void>
  /** Whether another server writes, of which this one has a copy: nothing may be written here. */
  readonly isCopy: boolean
  /** Calls `read` again whenever keys or values have changed otherwise than by these calls. */
  onReplaced(read: () => Promise<void>): void
}

/** Webhooks, each with a durable cursor: the last batch it was told of. */
export interface WebhookStore {
  /** Webhooks made over HTTP, ascending by uuid. */
  all(): Promise<readonly StoredWebhook[]>
  /** Makes or replaces a webhook; false if there are `webhooksMax` others already. */
  put(webhook: StoredWebhook, webhooksMax: number): Promise<boolean>
  /** Whether there was such a webhook. */
  delete(uuid: string): Promise<boolean>
  /** Stores a cursor for the webhook of the command line if one is given, and removes it otherwise. */
  launch(isGiven: boolean): Promise<void>
  /** The oldest finished batch that this webhook has not been told of, null if there is none. */
  next(uuid: string): Promise<number | null>
  /** At most `limit` tasks of a batch, ascending, after that uid. */
  tasks(batchUid: number, afterUid: number, limit: number): Promise<readonly Task[]>
  /** Moves the webhook's cursor behind that batch. */
  delivered(uuid: string, batchUid: number): Promise<void>
  /** `listener` runs whenever a batch has been recorded. Returns how to stop that. */
  onBatch(listener: () => void): () => void
  /** Calls `read` again whenever webhooks have changed otherwise than by these calls. */
  onReplaced(read: () => Promise<void>): void
}
