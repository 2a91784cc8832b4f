import type { DumpedBatchRow, DumpedTaskRow, PendingTask } from './records.js'
import { batchColumns, batchRow, number, orNull, taskColumns, taskRow, text } from './rows.js'
import type { Sql } from './sql.js'

const columnsOf = (table: string, columns: string): string =>
  columns
    .split(', ')
    .map((column) => `${table}.${column}`)
    .join(', ')

/** All tasks and batches, whole and page by page: what a dump holds of the queue. */
export class DumpTable {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  tasks(afterUid: number, lastUid: number, limit: number): readonly DumpedTaskRow[] {
    return this.#sql
      .all(
        `SELECT ${columnsOf('t', taskColumns)}, t.new_index_uid, c.body FROM tasks t LEFT JOIN contents c ON c.uid = t.uid
         WHERE t.uid > ? AND t.uid <= ? ORDER BY t.uid LIMIT ?`,
        [afterUid, lastUid, limit],
      )
      .map((row) => ({
        row: taskRow(row),
        newIndexUid: orNull(text, row.new_index_uid),
        content: row.body === null ? null : (JSON.parse(text(row.body)) as PendingTask['content']),
      }))
  }

  /** Finished ones only. */
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
}
