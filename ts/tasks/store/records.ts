import type { CallRules, Request as StoreRequest } from '../../sqlite/index.js'
import type { BatchLimits, Busy, PickedBatch } from '../batching.js'
import type { OutboxFacts, OutgoingPage, RowChanges } from '../replicated/row-changes.js'
import type { ContentHead, TaskContent, TaskStatus, TaskType } from '../task.js'
import type { StoredKey, TaskCounts, TaskFilter, TaskPaging } from '../tasks.js'
import type { Micros } from '../time.js'
import type { StoredWebhook } from './stored-webhook.js'

/** A stored task. `details` and `error` are JSON text. */
export interface TaskRow {
  readonly uid: number
  readonly batchUid: number | null
  readonly indexUid: string | null
  readonly status: TaskStatus
  readonly type: TaskType
  readonly canceledBy: number | null
  readonly enqueuedAt: Micros
  readonly startedAt: Micros | null
  readonly finishedAt: Micros | null
  readonly details: string | null
  readonly error: string | null
  readonly customMetadata: string | null
}

/** The row of a new task. The store adds uid and date. */
export interface NewRow {
  readonly indexUid: string | null
  readonly type: TaskType
  readonly details: string | null
  readonly customMetadata: string | null
  readonly content: string
  readonly kind: TaskContent['kind']
  readonly payload: string | null
  readonly payloadBytes: number
  readonly primaryKey: string | null
  readonly mayCreateIndex: boolean
  /** JSON list of the other indexes that a swap or rename changes. */
  readonly touches: string | null
  /** Number of tasks that a cancelation or deletion names; null for other kinds. */
  readonly matched: number | null
}

/** A task to run or cancel. The row of a settings task has no details, as they may be as long as the settings. */
export interface PendingTask {
  readonly row: TaskRow
  readonly content: TaskContent
}

/** A task that ends. Its complete content may be megabytes. */
export interface EndingTask {
  readonly row: TaskRow
  readonly content: ContentHead
}

/** A stored batch. `details` and `stats` are JSON text. */
export interface BatchRow {
  readonly uid: number
  readonly startedAt: Micros
  readonly finishedAt: Micros | null
  readonly strategy: string
  readonly details: string
  readonly stats: string
}

/** A batch that is about to run. */
export type NewBatch = Pick<BatchRow, 'uid' | 'startedAt' | 'strategy'>

/** A stored index. */
export interface CatalogueRow {
  readonly uid: string
  readonly id: string
  readonly primaryKey: string | null
  readonly createdAt: Micros
  readonly updatedAt: Micros
  /** Batch of the newest recorded commit of the index; null if none is known. */
  readonly lastBatch: number | null
}

/** How a task ended. */
export interface Ending {
  readonly uid: number
  readonly status: 'succeeded' | 'failed' | 'canceled'
  /** null: unchanged. */
  readonly details: string | null
  readonly error: string | null
  readonly canceledBy: number | null
  /** Second name that lists a finished rename. */
  readonly newIndexUid: string | null
}

/** Changes the index name of all tasks with uids below `before`. */
export interface Relabel {
  readonly from: string
  readonly to: string
  /** True to exchange `from` and `to`; false to rename `from` to `to`. */
  readonly swap: boolean
  readonly before: number
}

/** All changes at the end of a batch, written as one transaction. */
export interface Conclusion {
  /** If `details` is null, they are merged from the details of its tasks. */
  readonly batch: Omit<BatchRow, 'details'> & { readonly details: string | null }
  /** Tasks of the batch without an ending are re-queued. */
  readonly endings: readonly Ending[]
  /** Catalogue rows to write, after those in `removed` are deleted. */
  readonly written: readonly CatalogueRow[]
  readonly removed: readonly string[]
  /** Directories of deleted indexes. */
  readonly dropped: readonly string[]
  readonly relabels: readonly Relabel[]
  /** Indexes whose commit failed in this batch. A failing disk may have stored the commit. */
  readonly failedCommits: readonly string[]
  /** Uids of finished tasks to delete. */
  readonly deletedTasks: readonly number[]
  /** Paths of uploads to remove after the transaction, before the caller receives the answer. */
  readonly uploads: readonly string[]
}

/** Changes of the catalogue outside of a batch. */
export type Amendment = Pick<Conclusion, 'removed' | 'written' | 'relabels'>

/** Finished tasks to delete. All arrived before `before`. */
export interface Surplus {
  readonly uids: readonly number[]
  readonly before: Micros
}

/** Sizes of the store's file. */
export interface Compaction {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** The state of the store at a start. */
export interface Start {
  readonly catalogue: readonly CatalogueRow[]
  readonly nextBatchUid: number
  /**
   * Batches that were running when the process ended, ascending by uid. Their tasks are enqueued again. Their rows stay
   * until they are concluded or reverted.
   */
  readonly interrupted: readonly { readonly uid: number; readonly startedAt: Micros }[]
  /** Index directories that may be removed unless the catalogue names them. */
  readonly disposable: readonly string[]
  /** Failed commits. If a disk has stored them, they are reverted before the indexes are used. */
  readonly failedCommits: readonly { readonly index: string; readonly batchUids: readonly number[] }[]
}

/** A task for a dump. Has its content unless it has ended. */
export interface DumpedTaskRow {
  readonly row: TaskRow
  /** Second name that lists a finished rename. */
  readonly newIndexUid: string | null
  readonly content: TaskContent | null
  /** JSON text of `DumpedTask.foreign`. */
  readonly foreign: string | null
}

/** A finished batch for a dump, with the arrival dates of its oldest and newest task. */
export interface DumpedBatchRow {
  readonly row: BatchRow
  readonly oldestEnqueuedAt: Micros
  readonly newestEnqueuedAt: Micros
}

/** Rows for `taskRows` or `batchRows`, as JSON text. Passing one text between threads is faster than many rows. */
export interface RowPage {
  /** The rows of the page, and the first row of the next page if it exists. */
  readonly rows: string
  /** Number of rows of the page. Lower than requested if the rows are large. */
  readonly shown: number
  readonly total: number
}

/** The waiting tasks of one index. */
export interface WaitingRow {
  /** null: tasks without an index, or for several. */
  readonly indexUid: string | null
  readonly tasks: number
  /** Arrival date of the oldest of them. */
  readonly oldestEnqueuedAt: Micros
}

/** The calls to the store's thread. Arguments and results are structured clones. */
export interface StoreCalls {
  start(): Start
  catalogue(): readonly CatalogueRow[]
  /** Stops keeping changes, and drops the kept ones and the identity of the outbox. Keeps the position in the log. */
  endKeeping(): void
  /** Uploads of tasks that have not ended. */
  uploads(): readonly NeededUpload[]
  append(row: NewRow): { readonly uid: number; readonly enqueuedAt: Micros }
  /** Returns the next batch and its tasks, as chosen by `nextBatch`; null if none can begin. */
  pick(
    limits: BatchLimits,
    busy: Busy,
  ): { readonly batch: PickedBatch; readonly tasks: readonly PendingTask[] } | null
  /** Waiting tasks of this index, ascending by uid. */
  waitingOf(indexUid: string): readonly { readonly uid: number; readonly kind: TaskContent['kind'] }[]
  /** Records a directory before it is created. A start may remove it if the catalogue lacks it. */
  announce(id: string): void
  /** Deletes the records of announced or dropped directories that no longer exist. */
  removed(ids: readonly string[]): void
  /** Marks tasks as processing. The write is not durable, since a restart undoes it anyway. */
  begin(batch: NewBatch, uids: readonly number[]): void
  /** Undoes `begin`. @param failedCommits as in `Conclusion` */
  revert(batchUid: number, failedCommits: readonly string[]): void
  /** Records that the failed commits of an index have been reverted. */
  undone(index: string): void
  /** Returns the tasks among `uids` that have not ended, with their content. */
  pending(uids: readonly number[]): readonly PendingTask[]
  /** Like `pending`, without the contents. */
  unended(uids: readonly number[]): readonly EndingTask[]
  /** Returns the `uids` of ended tasks. A failed upgrade has not ended, as the next start retries it. */
  ended(uids: readonly number[]): readonly number[]
  /** @returns number of deleted tasks that a webhook will never receive */
  conclude(conclusion: Conclusion): number
  /** Changes the catalogue of a directory that is being repaired. */
  amend(amendment: Amendment): void
  /** Returns the oldest finished tasks, at most `limit`; null unless at least `storedMin` tasks are stored. */
  surplus(storedMin: number, limit: number): Surplus | null
  /** Rewrites the file without free pages. */
  compact(): Compaction
  /**
   * Prepares the file of the store for a copy to `path`, see `StoreClient.copyTo`. @returns the last kept transaction, 0 if
   * none
   */
  beginCopy(path: string): { readonly last: number; readonly outbox: string }
  /** Changes the copy at `path` to suit its purpose. @param omitted uids of running tasks to omit from the copy */
  finishCopy(path: string, purpose: CopyPurpose, omitted: readonly number[]): void
  abandonCopy(): void
  task(uid: number, visible: readonly string[] | null): TaskRow | null
  /** Returns one more row than requested, if it exists: the start of the next page. */
  tasks(filter: TaskFilter, paging: TaskPaging): RowPage
  match(filter: TaskFilter): readonly number[]
  batch(uid: number, visible: readonly string[] | null): BatchRow | null
  batches(filter: TaskFilter, paging: TaskPaging): RowPage
  counts(): TaskCounts
  /** @param indexesMax most indexes with waiting tasks to return */
  load(indexesMax: number): { readonly bytesUsed: number; readonly waiting: readonly WaitingRow[] }
  /** Returns the oldest kept and synced changes; null if none. @param charsMax, after see `Outbox.page` */
  changes(charsMax: number, after: number): OutgoingPage | null
  /** Notes that the bucket has the changes up to transaction `last`. @param position their log record */
  changesSent(last: number, position: number): void
  /** Returns null if no changes are kept. */
  outbox(): OutboxFacts | null
  /** Writes nothing, but is durable, and so makes all earlier writes durable. */
  sync(): void
  /**
   * Applies row changes of another store.
   * @param position log record that holds them
   * @returns the new catalogue; null if they do not change it
   */
  applyChanges(changes: RowChanges, position: number): readonly CatalogueRow[] | null
  keys(): readonly StoredKey[]
  putKey(key: StoredKey): void
  deleteKey(uid: string): void
  value(name: string): unknown
  putValue(name: string, value: unknown): void
  deleteValue(name: string): void
  valueNames(prefix: string): readonly string[]
  webhooks(): readonly StoredWebhook[]
  /** Returns false if `webhooksMax` other webhooks exist already. */
  putWebhook(webhook: StoredWebhook, webhooksMax: number): boolean
  /** Returns true if the webhook existed. */
  deleteWebhook(uuid: string): boolean
  launchWebhook(isGiven: boolean): void
  nextDelivery(uuid: string): number | null
  deliveryRows(batchUid: number, afterUid: number, limit: number): readonly TaskRow[]
  delivered(uuid: string, batchUid: number): void
  /** Ascending by uid, after `afterUid`. */
  dumpedTasks(afterUid: number, limit: number): readonly DumpedTaskRow[]
  /** Ascending by uid, after `afterUid`. */
  dumpedBatches(afterUid: number, limit: number): readonly DumpedBatchRow[]
  /** For a new store only. `waiting` is null for tasks that have ended. */
  restoreTasks(tasks: readonly { readonly dumped: DumpedTaskRow; readonly waiting: NewRow | null }[]): void
  /** Ascending by uid, called after all tasks are restored. */
  restoreBatches(batches: readonly BatchRow[]): void
  restoreIndex(row: CatalogueRow): void
  /** Makes batches and sets consistent with the tasks, once all are restored. */
  endRestore(): void
}

/** Purpose of a copy: a process starts from it, `openStoreCopy` reads it, or a follower applies later changes. */
export type CopyPurpose = 'starting' | 'reading' | 'following'

/** An uploaded body in its own file, which is needed until its task has ended. */
export interface NeededUpload {
  /** File name without directory. */
  readonly name: string
  readonly bytes: number
}

type StoreCall = keyof StoreCalls

export type Request = StoreRequest<StoreCalls>

/** Calls that write. `durable`: the caller waits until the transaction is synced. */
export const writingCalls: Readonly<Partial<Record<StoreCall, 'durable' | 'relaxed'>>> = {
  start: 'durable',
  append: 'durable',
  // Survives a crash of the process. A power cut may lose it together with the directory.
  announce: 'relaxed',
  removed: 'relaxed',
  begin: 'relaxed',
  revert: 'relaxed',
  // If it is lost, the next start reverts the commits again.
  undone: 'relaxed',
  conclude: 'durable',
  amend: 'durable',
  putKey: 'durable',
  deleteKey: 'durable',
  putValue: 'durable',
  deleteValue: 'durable',
  putWebhook: 'durable',
  deleteWebhook: 'durable',
  launchWebhook: 'durable',
  restoreTasks: 'durable',
  restoreBatches: 'durable',
  restoreIndex: 'durable',
  endRestore: 'durable',
  // If it is lost, the changes are sent again.
  changesSent: 'relaxed',
  sync: 'durable',
  applyChanges: 'durable',
  endKeeping: 'durable',
  // If a power cut loses it, the webhook receives the batch again.
  delivered: 'relaxed',
}

/** True for new tasks that free no space. They are refused first when the disk or the store becomes full. */
function isOrdinary({ call, arguments: [row] }: Request): boolean {
  if (call !== 'append') return false
  const { kind, matched } = row as NewRow
  const frees = kind === 'taskCancelation' || kind === 'taskDeletion' || kind === 'indexDeletion'
  return !frees || matched === 0
}

/** Paths of uploads that no task needs after a call. */
function uploadsAfter({ call, arguments: given }: Request): readonly string[] {
  if (call !== 'conclude') return []
  const [{ uploads }] = given as Parameters<StoreCalls['conclude']>
  return uploads
}

export const storeRules: CallRules<StoreCalls> = {
  writing: writingCalls,
  isOrdinary,
  filesAfter: uploadsAfter,
}
