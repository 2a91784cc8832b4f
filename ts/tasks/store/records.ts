import type { BatchLimits, PickedBatch } from '../batching.js'
import type { TaskContent, TaskStatus, TaskType } from '../task.js'
import type { StoredKey, TaskFilter, TaskPaging } from '../tasks.js'
import type { Micros } from '../time.js'
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

/** What is appended for a new task; uid and date are given by the store. */
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
  /** Tasks that a cancelation or deletion is about, null for other kinds. */
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
  /** Batch of a commit that the index has at least; null if none is known. */
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

/** Exchanges or moves the index name of all tasks older than `before`. */
export interface Relabel {
  readonly from: string
  readonly to: string
  /** `from` and `to` trade places; otherwise `from` becomes `to`. */
  readonly swap: boolean
  readonly before: number
}

/** Everything that changes when a batch has ended; written as one transaction. */
export interface Conclusion {
  /** `details` null: what those of its tasks make together. */
  readonly batch: Omit<BatchRow, 'details'> & { readonly details: string | null }
  /** Tasks of the batch that are not among them wait again. */
  readonly endings: readonly Ending[]
  /** The whole catalogue entries to write, after `removed` were taken out. */
  readonly written: readonly CatalogueRow[]
  readonly removed: readonly string[]
  /** Directories of indexes that hold nothing any more. */
  readonly dropped: readonly string[]
  readonly relabels: readonly Relabel[]
  /** Indexes whose commit failed in this batch, which a failing disk may have kept all the same. */
  readonly failedCommits: readonly string[]
  /** Uids of finished tasks to forget. */
  readonly deletedTasks: readonly number[]
  /** Paths of uploads that nobody needs once it is written: they go before anybody is told of it. */
  readonly uploads: readonly string[]
}

/** Finished tasks to delete, and a moment after the arrival of the last of them. */
export interface Surplus {
  readonly uids: readonly number[]
  readonly before: Micros
}

/** Bytes of the store's file. */
export interface Compaction {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** What a fresh start finds. */
export interface Start {
  readonly catalogue: readonly CatalogueRow[]
  readonly nextBatchUid: number
  /** Batches that were running when the process ended, with their start. Their tasks are enqueued again. */
  readonly interrupted: readonly { readonly uid: number; readonly startedAt: Micros }[]
  /** Directories of indexes that may be removed unless the catalogue names them. */
  readonly disposable: readonly string[]
  /** Commits that failed: if they are there all the same, they are taken back before anything else is done. */
  readonly failedCommits: readonly { readonly index: string; readonly batchUids: readonly number[] }[]
}

/** A task as a dump holds it: with what it was to do, unless it has ended. */
export interface DumpedTaskRow {
  readonly row: TaskRow
  /** Second name under which a finished rename is listed. */
  readonly newIndexUid: string | null
  readonly content: TaskContent | null
}

/** A finished batch as a dump holds it: with the arrival of its oldest and its newest task. */
export interface DumpedBatchRow {
  readonly row: BatchRow
  readonly oldestEnqueuedAt: Micros
  readonly newestEnqueuedAt: Micros
}

/** Rows for `taskRows` or `batchRows`, as a text: threads hand over one text sooner than many rows. */
export interface RowPage {
  /** Those of the page, and the one behind it if there is one. */
  readonly rows: string
  /** Rows of the page: as many as were asked for, or fewer where they are large. */
  readonly shown: number
  readonly total: number
}

/** The calls that cross into the worker: arguments and results are structured clones. */
export interface StoreCalls {
  start(): Start
  /** File names of all payloads that are still needed. */
  payloads(): readonly string[]
  append(row: NewRow): { readonly uid: number; readonly enqueuedAt: Micros }
  /** What to do next, and what its tasks are to do; null if there is nothing. See `nextBatch`. */
  pick(limits: BatchLimits): { readonly batch: PickedBatch; readonly tasks: readonly PendingTask[] } | null
  /** Whether anything of this index waits, and what: uids with their kinds, ascending. */
  waitingOf(indexUid: string): readonly { readonly uid: number; readonly kind: TaskContent['kind'] }[]
  /** Says that a directory of that id is about to be made, which counts once the catalogue names it. */
  announce(id: string): void
  /** Forgets directories that are gone, of those that were announced or dropped. */
  removed(ids: readonly string[]): void
  /** Marks tasks as processing, without waiting for the disk: a restart undoes it anyway. */
  begin(batch: NewBatch, uids: readonly number[]): void
  /** Undoes `begin`. @param failedCommits as in `Conclusion` */
  revert(batchUid: number, failedCommits: readonly string[]): void
  /** Says that the failed commits of an index are gone for good. */
  undone(index: string): void
  /** Tasks among `uids` that have not ended, with what they were to do. */
  pending(uids: readonly number[]): readonly PendingTask[]
  /** Uids among `uids` whose tasks have ended. */
  ended(uids: readonly number[]): readonly number[]
  /** @returns deleted tasks that some webhook will now never be told of */
  conclude(conclusion: Conclusion): number
  /** Oldest finished tasks, once at least `storedMin` tasks are stored: what the next cleanup deletes. */
  surplus(storedMin: number, limit: number): Surplus | null
  /** Rewrites the file without its gaps. */
  compact(): Compaction
  task(uid: number, visible: readonly string[] | null): TaskRow | null
  /** One row more than asked for, if there is one: it tells where the next page starts. */
  tasks(filter: TaskFilter, paging: TaskPaging): RowPage
  match(filter: TaskFilter): readonly number[]
  batch(uid: number, visible: readonly string[] | null): BatchRow | null
  batches(filter: TaskFilter, paging: TaskPaging): RowPage
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
  /** Ascending by uid, from behind `afterUid` up to `lastUid`. */
  dumpedTasks(afterUid: number, lastUid: number, limit: number): readonly DumpedTaskRow[]
  /** Ascending by uid, from behind `afterUid`. */
  dumpedBatches(afterUid: number, limit: number): readonly DumpedBatchRow[]
  /** Into a new store only; `waiting` is null for tasks that have ended. */
  restoreTasks(tasks: readonly { readonly dumped: DumpedTaskRow; readonly waiting: NewRow | null }[]): void
  /** Ascending by uid, after all tasks. */
  restoreBatches(batches: readonly BatchRow[]): void
  restoreIndex(row: CatalogueRow): void
  /** Brings tasks and batches in step, once all are there. */
  endRestore(): void
}

export type StoreCall = keyof StoreCalls

/** Calls that need a transaction, and whether their caller waits until it is on disk. */
export const writingCalls: Readonly<Partial<Record<StoreCall, 'durable' | 'relaxed'>>> = {
  start: 'durable',
  append: 'durable',
  // Read again after a crash of the process; after a power cut the directory may be gone as well.
  announce: 'relaxed',
  removed: 'relaxed',
  begin: 'relaxed',
  revert: 'relaxed',
  // Said again at the next start if it is lost.
  undone: 'relaxed',
  conclude: 'durable',
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
  // Lost with the power, it is said once more.
  delivered: 'relaxed',
}

/** New tasks that make no room: the first to be refused when it becomes scarce. */
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
      /** `doubtful`: the disk failed, and only a restart shows whether it was written. */
      readonly fault: 'full' | 'readonly' | 'doubtful' | 'other'
      readonly message: string
    }
