import type { PayloadFormat } from '../../engine/index.js'
import { optionOf } from '../../launch/index.js'
import { RULES_STORED_AS } from '../catalogue/stored-rules.js'
import type { DumpedBatch, DumpedTask } from '../execute/dump-source.js'
import { STORE_BYTES_MAX } from '../limits.js'
import type { Rules } from '../rules/index.js'
import { openSpool } from '../spool.js'
import { newRow, withFileName } from '../store/new-row.js'
import { uploadsPath } from '../store/paths.js'
import type { BatchRow, CatalogueRow, DumpedTaskRow, NewRow } from '../store/records.js'
import { openStoreClient } from '../store/store-client.js'
import type { StoredWebhook } from '../store/stored-webhook.js'
import type { IndexEntry, SpoolSlot, StoredKey } from '../tasks.js'
import { type Micros, parseDate } from '../time.js'

/** Fills the task store of a new data directory. Waiting tasks run once the directory is opened normally. */
export interface Restore {
  key(key: StoredKey): Promise<void>
  /** Same as `InstanceStore.putValue`. */
  value(name: string, value: unknown): Promise<void>
  rules(rules: Rules): Promise<void>
  /** Called after all batches. The webhook only receives batches that finish later. */
  webhook(webhook: StoredWebhook): Promise<void>
  /** @param lastBatch of its newest commit */
  index(index: IndexEntry, lastBatch: number): Promise<void>
  /** Adds an index by its stored row. */
  row(row: CatalogueRow): Promise<void>
  /** Reserves a file for the upload of a waiting task. */
  spool(format: PayloadFormat): SpoolSlot
  /** Ascending by uid. Rejects a uid that exists. */
  tasks(tasks: readonly DumpedTask[]): Promise<void>
  batches(batches: readonly DumpedBatch[]): Promise<void>
  /** Called last. Makes batches and sets consistent with the tasks. */
  end(): Promise<void>
  close(): Promise<void>
}

/** @param directory a data directory without tasks */
export async function openRestore(directory: string): Promise<Restore> {
  const driver = optionOf('taskStoreDriver', process.env)
  const store = await openStoreClient(
    {
      directory,
      isNew: true,
      isForeign: true,
      isCompared: false,
      driver,
      reserveBytes: 0,
      storeBytesMax: STORE_BYTES_MAX,
    },
    // Background work happens when tasks end, and a restore runs no tasks.
    () => undefined,
  )
  const spool = await openSpool(uploadsPath(directory))
  // Listings require that dates never decrease as uids increase.
  let lastEnqueuedAt: Micros = 0
  return {
    key: (key) => store.call('putKey', [key]),
    value: (name, value) => store.call('putValue', [name, value]),
    rules: (rules) => store.call('putValue', [RULES_STORED_AS, rules]),
    webhook: async (webhook) => void (await store.call('putWebhook', [webhook, Number.MAX_SAFE_INTEGER])),
    index: ({ createdAt, updatedAt, ...rest }, lastBatch) =>
      store.call('restoreIndex', [
        { ...rest, createdAt: parseDate(createdAt).floor, updatedAt: parseDate(updatedAt).floor, lastBatch },
      ]),
    row: (row) => store.call('restoreIndex', [row]),
    spool: (format) => spool.slot(format),
    async tasks(tasks) {
      const rows = tasks.map((dumped) => {
        const row = rowOf(dumped, lastEnqueuedAt)
        lastEnqueuedAt = row.dumped.row.enqueuedAt
        return row
      })
      await store.call('restoreTasks', [rows])
    },
    batches: (batches) => store.call('restoreBatches', [batches.map(batchRowOf)]),
    end: () => store.call('endRestore', []),
    close: () => store.close(),
  }
}

function rowOf(
  { task, newIndexUid, content, foreign }: DumpedTask,
  notBefore: Micros,
): { readonly dumped: DumpedTaskRow; readonly waiting: NewRow | null } {
  const { indexUid, type, customMetadata, details, error } = task
  const named = content === null ? null : withFileName(content)
  const waiting = named === null ? null : newRow({ indexUid, type, content: named, customMetadata }, named)
  const row = {
    uid: task.uid,
    batchUid: task.batchUid,
    indexUid,
    status: task.status,
    type,
    canceledBy: task.canceledBy,
    enqueuedAt: Math.max(notBefore, parseDate(task.enqueuedAt).floor),
    startedAt: dateOrNull(task.startedAt),
    finishedAt: dateOrNull(task.finishedAt),
    details: waiting !== null ? waiting.details : details === undefined ? null : JSON.stringify(details),
    error: error === null ? null : JSON.stringify(error),
    customMetadata: customMetadata ?? null,
  }
  return {
    dumped: { row, newIndexUid, content: named, foreign: foreign === null ? null : JSON.stringify(foreign) },
    waiting,
  }
}

const dateOrNull = (text: string | null): Micros | null => (text === null ? null : parseDate(text).floor)

function batchRowOf({ batch }: DumpedBatch): BatchRow {
  const { uid, startedAt, finishedAt, batchStrategy, details, stats } = batch
  return {
    uid,
    startedAt: parseDate(startedAt).floor,
    finishedAt: dateOrNull(finishedAt),
    strategy: batchStrategy,
    details: JSON.stringify(details),
    stats: JSON.stringify(stats),
  }
}
