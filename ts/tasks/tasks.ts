import type { IndexId, PayloadFormat } from '../engine/index.js'
import type { TaskChange } from './changes.js'
import type { PendingRuleTask, RuleBook } from './rules/index.js'
import type { StoredWebhook } from './store/stored-webhook.js'
import type { BatchView, Task, TaskContent, TaskStatus, TaskSummary, TaskType } from './task.js'
import type { WaitOptions } from './waiting.js'

/** An index in the catalogue. Dates are RFC 3339, UTC. */
export interface IndexEntry {
  readonly uid: string
  readonly id: IndexId
  readonly primaryKey: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** A change of the catalogue. */
export interface IndexesChange {
  /** True if `written` holds all indexes. */
  readonly isAll: boolean
  /** Uids. They are removed before `written` is added. */
  readonly removed: readonly string[]
  readonly written: readonly IndexEntry[]
}

/** Filters of the listings. Absent or null: no restriction. Lists are OR-ed, filters AND-ed. */
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
  /** Set for API keys limited to some indexes: patterns of uids (`boats`, `boats_*`). Other tasks are hidden. */
  readonly visibleIndexes?: readonly string[] | null
}

export interface TaskPaging {
  readonly limit: number
  readonly from: number | null
  readonly reverse: boolean
}

/** Envelope of the task and batch listings, keys in rendering order. */
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

/** The file that receives an upload, until a task names it or it is discarded. */
export interface SpoolSlot {
  /** Absolute path of a file that does not exist yet. */
  readonly path: string
  /** Syncs file and directory so that the body survives a crash. */
  sync(): Promise<void>
  discard(): Promise<void>
}

/** A damaged or missing file. */
export interface Finding {
  /** The uid of the index; null if the file belongs to none. */
  readonly indexUid: string | null
  /** The path of the file or directory. */
  readonly file: string
  readonly problem: string
  /** The loss, and the remedy. */
  readonly cost: string
  /** True if answers may be incomplete or refused. False if the server repairs it itself. */
  readonly isHarmful: boolean
  /** True if a second fault would go unnoticed, or could not be repaired, until a start writes the file again. */
  readonly isProtectionLost?: true
}

/** The durable queue and the catalogue of indexes, as `http/` uses them. */
export interface Tasks {
  /** Reserves a new spool file. Its name goes into the task's payload. */
  spool(format: PayloadFormat): Promise<SpoolSlot>

  /**
   * Checks that a script for editing documents compiles. Rejects with `bad_request`, or with `feature_not_enabled` if
   * no interpreter can be loaded.
   */
  checkFunction(source: string): Promise<void>

  /**
   * Appends a task durably: it survives a crash once the promise resolves. Concurrent calls share a sync.
   * Rejects with `no_space_left_on_device` if the disk or the task store is full, and with `payload_too_large` if a
   * record of the bucket's log cannot hold the task.
   */
  enqueue(task: NewTask): Promise<TaskSummary>

  get(uid: number, visibleIndexes: readonly string[] | null): Promise<Task | null>
  /**
   * Waits for the end of a task and returns it. Returns it unfinished at the timeout, at the signal, or when the queue
   * stops. Returns null if the task does not exist (any more).
   */
  wait(uid: number, visibleIndexes: readonly string[] | null, options: WaitOptions): Promise<Task | null>
  /** Calls `listener` when tasks arrive, begin, end or are re-queued. Returns a function that removes the listener. */
  onChange(listener: (change: TaskChange) => void): () => void
  /** Returns the documents of an unfinished task, one per line; null if it has none or has ended. */
  documents(uid: number): Promise<AsyncIterable<string> | null>
  /** Rewrites the task store without free pages. New tasks wait meanwhile. */
  compact(): Promise<{ readonly bytesBefore: number; readonly bytesAfter: number }>
  list(filter: TaskFilter, paging: TaskPaging): Promise<Page<Task>>
  /** Returns the uids that `filter` matches now, ascending. Cancelations and deletions of tasks apply to them. */
  match(filter: TaskFilter): Promise<readonly number[]>

  batch(uid: number, visibleIndexes: readonly string[] | null): Promise<BatchView | null>
  batches(filter: TaskFilter, paging: TaskPaging): Promise<Page<BatchView>>

  /** Returns an index from memory; cheap enough for every search. */
  index(uid: string): IndexEntry | null
  /** All indexes, ascending by uid. */
  indexes(): readonly IndexEntry[]
  /** Calls `listener` with each change of the catalogue, before the change is reported to any client. */
  onIndexes(listener: (change: IndexesChange) => void): void
  /** Returns the dynamic search rules from memory; cheap enough for every search. */
  rules(): RuleBook
  /** Returns the oldest enqueued and processing tasks about rules, ascending by uid; see `PENDING_RULE_TASKS_MAX`. */
  pendingRuleTasks(): Promise<readonly PendingRuleTask[]>
  /** True while a task of this index is processed. */
  isIndexing(uid: string): boolean
  /** Date of the last change of any index; null if there was none. */
  lastUpdate(): string | null
  /** Finds damaged files of the indexes and the queue. Reads all files, changes nothing. */
  verify(): Promise<readonly Finding[]>
  /** Bytes of the task store and the spool. */
  bytes(): Promise<number>
  /** The totals of the listings by status, type and index, in one call to the store. */
  counts(): Promise<TaskCounts>
  /** Returns the waiting tasks and the fill level of the task store. @param indexesMax most indexes in `waiting` */
  load(indexesMax: number): Promise<QueueLoad>
}

/** Numbers of tasks by status, type and index uid. Zero counts may be missing. */
export interface TaskCounts {
  readonly statuses: ReadonlyMap<string, number>
  readonly types: ReadonlyMap<string, number>
  readonly indexes: ReadonlyMap<string, number>
}

/** The load of the queue, for monitoring. */
interface QueueLoad {
  /** Largest size of the task store, in bytes. */
  readonly storeBytesMax: number
  /** Bytes of the task store that are in use. */
  readonly storeBytesUsed: number
  /** Bytes that tasks may still use in the store before new tasks are refused; 0 while they are refused. */
  readonly storeBytesLeft: number
  /** The indexes with the most waiting tasks, most first. */
  readonly waiting: readonly WaitingTasks[]
}

/** Tasks of one index that have not begun. */
interface WaitingTasks {
  /** null: tasks without an index, or for several. */
  readonly indexUid: string | null
  readonly tasks: number
  /** Arrival date of the oldest of them, RFC 3339. */
  readonly oldestEnqueuedAt: string
}

/** A stored API key. Its value is computed from the master key. Dates are RFC 3339. */
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
  /** Returns a JSON value by name (`experimentalFeatures`, `network`, …); null if never set. */
  value(name: string): Promise<unknown>
  putValue(name: string, value: unknown): Promise<void>
  deleteValue(name: string): Promise<void>
  /** Returns the names of the values that begin with `prefix`, ascending. @param prefix ASCII */
  valueNames(prefix: string): Promise<readonly string[]>
  /** True if this is a copy of another server's data, where nothing may be written. */
  readonly isCopy: boolean
  /** Calls `read` again when keys or values have changed other than by these calls. */
  onReplaced(read: () => Promise<void>): void
}

/** Webhooks, each with a durable cursor: the last batch that it received. */
export interface WebhookStore {
  /** Webhooks created over HTTP, ascending by uuid. */
  all(): Promise<readonly StoredWebhook[]>
  /** Creates or replaces a webhook. Returns false if `webhooksMax` others exist already. */
  put(webhook: StoredWebhook, webhooksMax: number): Promise<boolean>
  /** Returns true if the webhook existed. */
  delete(uuid: string): Promise<boolean>
  /** Stores a cursor for the webhook of the command line if one is given; otherwise removes it. */
  launch(isGiven: boolean): Promise<void>
  /** Returns the oldest finished batch that this webhook has not received; null if none. */
  next(uuid: string): Promise<number | null>
  /** Returns at most `limit` tasks of a batch, ascending, after that uid. */
  tasks(batchUid: number, afterUid: number, limit: number): Promise<readonly Task[]>
  /** Moves the webhook's cursor past that batch. */
  delivered(uuid: string, batchUid: number): Promise<void>
  /** Calls `listener` when a batch has been recorded. Returns a function that removes the listener. */
  onBatch(listener: () => void): () => void
  /** Calls `read` again when webhooks have changed other than by these calls. */
  onReplaced(read: () => Promise<void>): void
}
