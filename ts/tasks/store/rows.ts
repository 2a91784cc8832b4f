import { number, orNull, type Row, text, unpacked } from '../../sqlite/index.js'
import type { QueuedTask } from '../batching.js'
import type { BatchRow, CatalogueRow, TaskRow } from './records.js'

/** Columns of `tasks` for `taskRow`. */
export const taskColumns =
  'uid, batch_uid, index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata'
/** Columns of `batches` for `batchRow`. */
export const batchColumns = 'uid, started_at, finished_at, strategy, details, stats'
/** Columns of `tasks t` and `contents c` for `queuedTask`. */
export const queuedColumns =
  't.uid, t.type, t.index_uid, c.kind, c.payload_bytes, octet_length(c.body) AS content_bytes, c.primary_key, c.may_create, c.touches'

/** Prefixes columns with the name or alias of a table. */
export const columnsOf = (table: string, columns: string): string =>
  columns
    .split(', ')
    .map((column) => `${table}.${column}`)
    .join(', ')

export function taskRow(row: Row): TaskRow {
  return {
    uid: number(row.uid),
    batchUid: orNull(number, row.batch_uid),
    indexUid: orNull(text, row.index_uid),
    status: text(row.status) as TaskRow['status'],
    type: text(row.type) as TaskRow['type'],
    canceledBy: orNull(number, row.canceled_by),
    enqueuedAt: number(row.enqueued_at),
    startedAt: orNull(number, row.started_at),
    finishedAt: orNull(number, row.finished_at),
    details: orNull(text, row.details),
    error: orNull(text, row.error),
    customMetadata: orNull(text, row.custom_metadata),
  }
}

export function batchRow(row: Row): BatchRow {
  return {
    uid: number(row.uid),
    startedAt: number(row.started_at),
    finishedAt: orNull(number, row.finished_at),
    strategy: text(row.strategy),
    details: text(row.details),
    stats: text(row.stats),
  }
}

export function catalogueRow(row: Row): CatalogueRow {
  return {
    uid: text(row.uid),
    id: text(row.id),
    primaryKey: orNull(text, row.primary_key),
    createdAt: number(row.created_at),
    updatedAt: number(row.updated_at),
    lastBatch: orNull(number, row.last_batch),
  }
}

export function queuedTask(row: Row): QueuedTask {
  const touches = orNull(text, row.touches)
  return {
    uid: number(row.uid),
    type: text(row.type) as QueuedTask['type'],
    kind: text(row.kind) as QueuedTask['kind'],
    indexUid: orNull(text, row.index_uid),
    payloadBytes: number(row.payload_bytes),
    contentBytes: number(row.content_bytes),
    primaryKey: orNull(text, row.primary_key),
    mayCreateIndex: number(row.may_create) === 1,
    touches: touches === null ? [] : (JSON.parse(touches) as string[]),
  }
}

/** Parses the tasks of a page, descending by uid, or ascending if `reverse`. */
export const taskRows = (packed: string, reverse: boolean): readonly TaskRow[] =>
  inOrder(unpacked(taskColumns, packed).map(taskRow), reverse)

/** Parses the batches of a page, in the order of `taskRows`. */
export const batchRows = (packed: string, reverse: boolean): readonly BatchRow[] =>
  inOrder(unpacked(batchColumns, packed).map(batchRow), reverse)

const inOrder = <R extends { readonly uid: number }>(rows: readonly R[], reverse: boolean): readonly R[] =>
  rows.toSorted((a, b) => (reverse ? a.uid - b.uid : b.uid - a.uid))
