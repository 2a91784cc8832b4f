import type { BatchLimits, Busy, PickedBatch } from '../batching.js'
import type { TaskContent, TaskStatus, TaskType } from '../task.js'
import type { StoredKey, TaskCounts, TaskFilter, TaskPaging } from '../tasks.js'
import type { Micros } from '../time.js'
import type { OutboxFacts, OutgoingPage, RowChanges } from './row-changes.js'
import type { StoredWebhook } from './stored-webhook.js'

/** A task as stored; `details` and `error` are JSON text. */
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
  /** Further indexes this task acts on, as JSON text: swaps and renames. */
  readonly touches: string | null
  /** Number of tasks that a cancelation or deletion names, null for other kinds. */
  readonly matched: number | null
}

/** A task about to run, or to be canceled. The row of settings has no details: they may be as long as the settings. */
export interface PendingTask {
  readonly row: TaskRow
  readonly content: TaskContent
}

/** A batch as stored; `details` and `stats` are JSON text. */
export interface BatchRow {
  readonly uid: number
  readonly startedAt: Micros
  readonly finishedAt: Micros | null
  readonly strategy: string
  readonly details: string
  readonly stats: string
}

/** A batch about to run. */
export type NewBatch = Pick<BatchRow, 'uid' | 'startedAt' | 'strategy'>

/** An index as stored. */
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
  /** null: those it has. */
  readonly details: string | null
  readonly error: string | null
  readonly canceledBy: number | null
  /** Second name under which a finished rename is listed. */
  readonly newIndexUid: string | null
}

/** Changes the index name of all tasks with uids below `before`. */
export interface Relabel {
  readonly from: string
  readonly to: string
  /** `from` and `to` are exchanged; otherwise `from` becomes `to`. */
  readonly swap: boolean
  readonly before: number
}

/** Everything that changes when a batch has ended; written as one transaction. */
export interface Conclusion {
  /** Where `details` is null, they are made of the details of its tasks. */
  readonly batch: Omit<BatchRow, 'details'> & { readonly details: string | null }
  /** Tasks of the batch without an ending wait again. */
  readonly endings: readonly Ending[]
  /** Entries of the catalogue to write, after those of `removed` were deleted. */
  readonly written: readonly CatalogueRow[]
  readonly removed: readonly string[]
  /** Directories of deleted indexes. */
  readonly dropped: readonly string[]
  readonly relabels: readonly Relabel[]
  /** Indexes whose commit failed in this batch. A failing disk may have stored it. */
  readonly failedCommits: readonly string[]
  /** Uids of finished tasks to delete. */
  readonly deletedTasks: readonly number[]
  /** Paths of uploads to remove after the transaction, before its caller gets the answer. */
  readonly uploads: readonly string[]
}

/** Changes of the catalogue that no batch makes. */
export type Amendment = Pick<Conclusion, 'removed' | 'written' | 'relabels'>

/** Finished tasks to delete. `before` is later than the arrival of each. */
export interface Surplus {
  readonly uids: readonly number[]
  readonly before: Micros
}

/** Bytes of the store's file. */
export interface Compaction {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** The state of the store at a start. */
export interface Start {
  readonly catalogue: readonly CatalogueRow[]
  readonly nextBatchUid: number
  /**
   * Batches that were running when the process ended, ascending by uid, with their start. Their tasks are enqueued
   * again; their rows stay until they are concluded or reverted.
   */
  readonly interrupted: readonly { readonly uid: number; readonly startedAt: Micros }[]
  /** Directories of indexes that may be removed unless the catalogue names them. */
  readonly disposable: readonly string[]
  /** Commits that failed. If a disk has stored them, they are taken back before the indexes are used. */
  readonly failedCommits: readonly { readonly index: string; readonly batchUids: readonly number[] }[]
}

/** A task as a dump holds it, with its content unless it has ended. */
export interface DumpedTaskRow {
  readonly row: TaskRow
  /** Second name under which a finished rename is listed. */
  readonly newIndexUid: string | null
  readonly content: TaskContent | null
  /** As `DumpedTask.foreign`, as JSON text. */
  readonly foreign: string | null
}

/** A finished batch as a dump holds it: with the arrival of its oldest and its newest task. */
export interface DumpedBatchRow {
  readonly row: BatchRow
  readonly oldestEnqueuedAt: Micros
  readonly newestEnqueuedAt: Micros
}

/** Rows for `taskRows` or `batchRows`, as JSON text: passing one text between threads is faster than many rows. */
export interface RowPage {
  /** The rows of the page, and the first row of the next page if there is one. */
  readonly rows: string
  /** Number of rows of the page. It is less than was asked for if the rows are large. */
  readonly shown: number
  readonly total: number
}

/** The waiting tasks of one index. */
export interface WaitingRow {
  /** null: tasks that concern no index, or several. */
  readonly indexUid: string | null
  readonly tasks: number
  /** When the oldest of them arrived. */
  readonly oldestEnqueuedAt: Micros
}

/** The calls that cross into the worker: arguments and results are structured clones. */
export interface StoreCalls {
  start(): Start
  catalogue(): readonly CatalogueRow[]
  /** Stops to keep changes and forgets those that were kept, but not up to where the bucket has them. */
  endKeeping(): void
  /** Uploads of tasks that have not ended. */
  uploads(): readonly NeededUpload[]
  append(row: NewRow): { readonly uid: number; readonly enqueuedAt: Micros }
  /** The next batch and its tasks, as `nextBatch` chooses it; null if none can begin. */
  pick(
    limits: BatchLimits,
    busy: Busy,
  ): { readonly batch: PickedBatch; readonly tasks: readonly PendingTask[] } | null
  /** Waiting tasks of this index, ascending by uid. */
  waitingOf(indexUid: string): readonly { readonly uid: number; readonly kind: TaskContent['kind'] }[]
  /** Notes that a directory of that id is about to be made. Until the catalogue names it, a start may remove it. */
  announce(id: string): void
  /** Deletes the notes of announced or dropped directories that no longer exist. */
  removed(ids: readonly string[]): void
  /** Marks tasks as processing. The write is not durable, since a restart undoes it. */
  begin(batch: NewBatch, uids: readonly number[]): void
  /** Undoes `begin`. @param failedCommits as in `Conclusion` */
  revert(batchUid: number, failedCommits: readonly string[]): void
  /** Notes that the failed commits of an index have been taken back. */
  undone(index: string): void
  /** Tasks among `uids` that have not ended, with their content. */
  pending(uids: readonly number[]): readonly PendingTask[]
  /** Uids among `uids` whose tasks have ended. A failed upgrade has not: the next start tries it again. */
  ended(uids: readonly number[]): readonly number[]
  /** @returns number of deleted tasks that a webhook will never be told of */
  conclude(conclusion: Conclusion): number
  /** Changes the catalogue of a directory that is being repaired. */
  amend(amendment: Amendment): void
  /** The oldest finished tasks, at most `limit`, if at least `storedMin` tasks are stored. */
  surplus(storedMin: number, limit: number): Surplus | null
  /** Rewrites the file without its gaps. */
  compact(): Compaction
  /**
   * Writes a copy to `path`, which must not exist, with the running tasks as they would be found after a restart, unless the
   * copy is for following.
   * @param omitted uids of running tasks that are not in the copy
   */
  copyTo(path: string, purpose: CopyPurpose, omitted: readonly number[]): void
  task(uid: number, visible: readonly string[] | null): TaskRow | null
  /** Returns one row more than asked for, if there is one. The next page starts with it. */
  tasks(filter: TaskFilter, paging: TaskPaging): RowPage
  match(filter: TaskFilter): readonly number[]
  batch(uid: number, visible: readonly string[] | null): BatchRow | null
  batches(filter: TaskFilter, paging: TaskPaging): RowPage
  counts(): TaskCounts
  /** @param indexesMax the most indexes to name among those with waiting tasks */
  load(indexesMax: number): { readonly bytesUsed: number; readonly waiting: readonly WaitingRow[] }
  /** The oldest changes that are kept and synced, null without any. @param charsMax, after see `Outbox.page` */
  changes(charsMax: number, after: number): OutgoingPage | null
  /** The bucket has the changes up to transaction `last`. @param position the entry of its log that has them */
  changesSent(last: number, position: number): void
  /** null: no changes are kept. */
  outbox(): OutboxFacts | null
  /** Copies the store as `copyTo` does for a start. @returns the last transaction that was kept, 0 without any */
  image(path: string): { readonly last: number; readonly outbox: string }
  /** Changes nothing, and is durable, as is then what came before. */
  sync(): void
  /** Makes rows those of another store. @param position the entry of the log that has these changes */
  applyChanges(changes: RowChanges, position: number): void
  keys(): readonly StoredKey[]
  putKey(key: StoredKey): void
  deleteKey(uid: string): void
  value(name: string): unknown
  putValue(name: string, value: unknown): void
  webhooks(): readonly StoredWebhook[]
  /** False if there are `webhooksMax` others already. */
  putWebhook(webhook: StoredWebhook, webhooksMax: number): boolean
  /** Whether there was such a webhook. */
  deleteWebhook(uuid: string): boolean
  launchWebhook(isGiven: boolean): void
  nextDelivery(uuid: string): number | null
  deliveryRows(batchUid: number, afterUid: number, limit: number): readonly TaskRow[]
  delivered(uuid: string, batchUid: number): void
  /** Ascending by uid, from behind `afterUid`. */
  dumpedTasks(afterUid: number, limit: number): readonly DumpedTaskRow[]
  /** Ascending by uid, from behind `afterUid`. */
  dumpedBatches(afterUid: number, limit: number): readonly DumpedBatchRow[]
  /** For a new store only. `waiting` is null for tasks that have ended. */
  restoreTasks(tasks: readonly { readonly dumped: DumpedTaskRow; readonly waiting: NewRow | null }[]): void
  /** Ascending by uid, called after all tasks are restored. */
  restoreBatches(batches: readonly BatchRow[]): void
  restoreIndex(row: CatalogueRow): void
  /** Brings batches and sets in step with the tasks, once all are restored. */
  endRestore(): void
}

/** What a copy of the store is for: a process that starts from it, `openStoreCopy`, or one that goes on with the changes after it. */
export type CopyPurpose = 'starting' | 'reading' | 'following'

/** An uploaded body that lies in a file of its own, which its task needs until it has ended. */
export interface NeededUpload {
  /** Of the file, without its directory. */
  readonly name: string
  readonly bytes: number
}

export type StoreCall = keyof StoreCalls

/** Calls that write, and whether their caller waits until the transaction is durable. */
export const writingCalls: Readonly<Partial<Record<StoreCall, 'durable' | 'relaxed'>>> = {
  start: 'durable',
  append: 'durable',
  // Survives a crash of the process. A power cut may take it, and the directory as well.
  announce: 'relaxed',
  removed: 'relaxed',
  begin: 'relaxed',
  revert: 'relaxed',
  // If it is lost, the next start takes the commits back once more.
  undone: 'relaxed',
  conclude: 'durable',
  amend: 'durable',
  putKey: 'durable',
  deleteKey: 'durable',
  putValue: 'durable',
  putWebhook: 'durable',
  deleteWebhook: 'durable',
  launchWebhook: 'durable',
  restoreTasks: 'durable',
  restoreBatches: 'durable',
  restoreIndex: 'durable',
  endRestore: 'durable',
  // If it is lost, they are sent once more.
  changesSent: 'relaxed',
  sync: 'durable',
  applyChanges: 'durable',
  endKeeping: 'durable',
  // If it is lost in a power cut, the webhook is told of the batch once more.
  delivered: 'relaxed',
}

/** New tasks that free no space. They are the first to be refused when the disk or the store becomes full. */
export function isOrdinary({ call, arguments: [row] }: Request): boolean {
  if (call !== 'append') return false
  const { kind, matched } = row as NewRow
  const frees = kind === 'taskCancelation' || kind === 'taskDeletion' || kind === 'indexDeletion'
  return !frees || matched === 0
}

export interface Request {
  readonly id: number
  readonly call: StoreCall
  readonly arguments: readonly unknown[]
}

export type Reply =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | {
      readonly id: number
      readonly ok: false
      /** `doubtful`: the disk failed, and the write may be there after a restart. */
      readonly fault: 'full' | 'readonly' | 'doubtful' | 'other'
      readonly message: string
    }
