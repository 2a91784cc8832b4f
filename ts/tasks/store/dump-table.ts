import { number, orNull, type Sql, text } from '../../sqlite/index.js'
import { storedContent } from './new-row.js'
import type { BatchRow, CatalogueRow, DumpedBatchRow, DumpedTaskRow, NewRow } from './records.js'
import { batchColumns, batchRow, columnsOf, taskColumns, taskRow } from './rows.js'

/** The `contents.kind` of a task executed by another service. Waiting tasks never have it. */
const FOREIGN = 'foreign'

/** Reads tasks and batches page by page for a dump, and writes them to a new store. */
export class DumpTable {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  tasks(afterUid: number, limit: number): readonly DumpedTaskRow[] {
    return this.#sql
      .all(
        `SELECT ${columnsOf('t', taskColumns)}, t.new_index_uid, c.body, c.kind FROM tasks t LEFT JOIN contents c ON c.uid = t.uid
         WHERE t.uid > ? ORDER BY t.uid LIMIT ?`,
        [afterUid, limit],
      )
      .map((row) => ({
        row: taskRow(row),
        newIndexUid: orNull(text, row.new_index_uid),
        ...(row.kind === FOREIGN
          ? { content: null, foreign: text(row.body) }
          : { content: row.body === null ? null : storedContent(text(row.body)), foreign: null }),
      }))
  }

  /** Finished batches. */
  batches(afterUid: number, limit: number): readonly DumpedBatchRow[] {
    return this.#sql
      .all(
        `SELECT ${batchColumns}, oldest_enqueued_at, newest_enqueued_at FROM batches
         WHERE uid > ? AND finished_at IS NOT NULL ORDER BY uid LIMIT ?`,
        [afterUid, limit],
      )
      .map((row) => ({
        row: batchRow(row),
        oldestEnqueuedAt: number(row.oldest_enqueued_at),
        newestEnqueuedAt: number(row.newest_enqueued_at),
      }))
  }

  /** Writes a task of a dump. @param waiting the data to run it; null if it has ended */
  restoreTask({ row, newIndexUid, foreign }: DumpedTaskRow, waiting: NewRow | null): void {
    this.#sql.run(
      `INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at,
       finished_at, details, error, custom_metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        row.uid,
        row.batchUid,
        row.indexUid,
        newIndexUid,
        row.status,
        row.type,
        row.canceledBy,
        row.enqueuedAt,
        row.startedAt,
        row.finishedAt,
        row.details,
        row.error,
        row.customMetadata,
      ],
    )
    if (waiting !== null) insertContent(this.#sql, row.uid, waiting)
    if (foreign !== null)
      this.#sql.run(
        'INSERT INTO contents (uid, body, kind, payload_bytes, may_create) VALUES (?, ?, ?, 0, 0)',
        [row.uid, foreign, FOREIGN],
      )
  }

  /** Writes a finished batch of a dump. `alignBatches` sets the columns derived from its tasks. */
  restoreBatch({ uid, startedAt, finishedAt, strategy, details, stats }: BatchRow): void {
    this.#sql.run(
      `INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details,
       stats, oldest_uid, newest_uid) VALUES (?, ?, ?, 0, 0, ?, ?, ?, 0, 0)`,
      [uid, startedAt, finishedAt, strategy, details, stats],
    )
  }

  /**
   * Establishes the invariants of listings: each batch has tasks, each batch named by a task exists, batches start in
   * the order of their uids, and tasks have the dates of their batch. Webhooks will only receive later batches.
   */
  alignBatches(): void {
    const run = (sql: string) => this.#sql.run(sql)
    run('DELETE FROM batches WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE batch_uid = batches.uid)')
    run(`INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details,
        stats, oldest_uid, newest_uid)
      SELECT batch_uid, ifnull(min(started_at), max(finished_at)), max(finished_at), 0, 0, 'unspecified', '{}',
        json_object('totalNbTasks', count(*), 'status', json('{}'), 'types', json('{}'), 'indexUids', json('{}')), 0, 0
      FROM tasks WHERE batch_uid IS NOT NULL AND batch_uid NOT IN (SELECT uid FROM batches) GROUP BY batch_uid`)
    run(`UPDATE batches SET oldest_uid = (SELECT min(uid) FROM tasks WHERE batch_uid = batches.uid),
      newest_uid = (SELECT max(uid) FROM tasks WHERE batch_uid = batches.uid)`)
    run(`UPDATE batches SET oldest_enqueued_at = (SELECT enqueued_at FROM tasks WHERE uid = oldest_uid),
      newest_enqueued_at = (SELECT enqueued_at FROM tasks WHERE uid = newest_uid)`)
    run(`UPDATE batches SET started_at = latest.at, finished_at = max(finished_at, latest.at)
      FROM (SELECT uid, max(started_at) OVER (ORDER BY uid) AS at FROM batches) AS latest
      WHERE latest.uid = batches.uid AND latest.at > min(started_at, finished_at)`)
    run(`UPDATE batches SET ended = place.ended
      FROM (SELECT uid, row_number() OVER (ORDER BY finished_at, uid) AS ended FROM batches) AS place
      WHERE place.uid = batches.uid`)
    run('UPDATE webhooks SET delivered = (SELECT ifnull(max(ended), -1) FROM batches)')
    run(`UPDATE tasks SET started_at = batches.started_at, finished_at = batches.finished_at FROM batches
      WHERE batches.uid = tasks.batch_uid
      AND (tasks.started_at IS NOT batches.started_at OR tasks.finished_at IS NOT batches.finished_at)`)
  }

  restoreIndex({ uid, id, primaryKey, createdAt, updatedAt, lastBatch }: CatalogueRow): void {
    this.#sql.run(
      'INSERT INTO catalogue (uid, id, primary_key, created_at, updated_at, last_batch) VALUES (?, ?, ?, ?, ?, ?)',
      [uid, id, primaryKey, createdAt, updatedAt, lastBatch],
    )
  }
}

/** Writes the data needed to run a task. */
export function insertContent(sql: Sql, uid: number, row: NewRow): void {
  sql.run(
    'INSERT INTO contents (uid, body, kind, payload, payload_bytes, primary_key, may_create, touches) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    [
      uid,
      row.content,
      row.kind,
      row.payload,
      row.payloadBytes,
      row.primaryKey,
      row.mayCreateIndex ? 1 : 0,
      row.touches,
    ],
  )
}
