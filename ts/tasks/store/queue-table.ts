import { type BatchLimits, type IndexFacts, nextBatch, type QueuedTask } from '../batching.js'
import type { Membership } from '../listing/membership.js'
import type { Micros } from '../time.js'
import type { Row } from './driver.js'
import { insertContent } from './dump-table.js'
import { storedContent } from './new-row.js'
import type { PendingTask, StoreCalls } from './records.js'
import { number, orNull, queuedColumns, queuedTask, taskColumns, taskRow, text } from './rows.js'
import type { Sql } from './sql.js'

/** Types that `nextBatch` calls housekeeping, which run before older tasks. */
const urgentTypes =
  "('taskCancelation','upgradeDatabase','networkTopologyChange','taskDeletion','indexCompaction','export','snapshotCreation','dumpCreation')"

/** Appends tasks, and reads those that have not ended. */
export class QueueTable {
  readonly #sql: Sql
  readonly #members: Membership
  readonly #now: () => Micros
  readonly #firstUid: number

  /** @param now dates the arrival of tasks @param firstUid the lowest uid of a new task */
  constructor(sql: Sql, members: Membership, now: () => Micros, firstUid: number) {
    this.#sql = sql
    this.#members = members
    this.#now = now
    this.#firstUid = firstUid
  }

  append(row: Parameters<StoreCalls['append']>[0]): ReturnType<StoreCalls['append']> {
    const last = this.#sql.all('SELECT uid, enqueued_at FROM tasks ORDER BY uid DESC LIMIT 1', [])[0]
    const uid = Math.max(last === undefined ? 0 : number(last.uid) + 1, this.#firstUid)
    // Dates must not fall while uids rise, even if the clock was set back.
    const enqueuedAt = Math.max(this.#now(), last === undefined ? 0 : number(last.enqueued_at))
    this.#sql.run(
      "INSERT INTO tasks (uid, index_uid, status, type, enqueued_at, details, custom_metadata) VALUES (?, ?, 'enqueued', ?, ?, ?, ?)",
      [uid, row.indexUid, row.type, enqueuedAt, row.details, row.customMetadata],
    )
    insertContent(this.#sql, uid, row)
    this.#members.arrived(uid, row.type, row.indexUid)
    return { uid, enqueuedAt }
  }

  payloads(): readonly string[] {
    return this.#sql
      .all('SELECT payload FROM contents WHERE payload IS NOT NULL', [])
      .map((row) => text(row.payload))
  }

  pick(limits: BatchLimits): ReturnType<StoreCalls['pick']> {
    const waiting = this.#waiting(limits.tasksMax)
    const indexes = [...new Set(waiting.map(({ indexUid }) => indexUid))]
    const facts: IndexFacts = new Map(
      this.#sql
        .all('SELECT uid, primary_key FROM catalogue WHERE uid IN (SELECT value FROM json_each(?))', [
          JSON.stringify(indexes),
        ])
        .map((row) => [text(row.uid), { primaryKey: orNull(text, row.primary_key) }]),
    )
    const batch = nextBatch(waiting, facts, limits)
    return batch === null ? null : { batch, tasks: this.pending(batch.tasks.map(({ uid }) => uid)) }
  }

  /** The part of the queue that `nextBatch` needs. */
  #waiting(tasksMax: number): readonly QueuedTask[] {
    const found = new Map<number, QueuedTask>()
    const add = (rows: readonly Row[]) => {
      for (const row of rows) found.set(number(row.uid), queuedTask(row))
    }
    add(
      this.#sql.all(
        `SELECT ${queuedColumns} FROM tasks t INDEXED BY tasks_waiting_type JOIN contents c ON c.uid = t.uid
         WHERE t.status = 'enqueued' AND t.type IN ${urgentTypes}`,
        [],
      ),
    )
    const first = this.#sql.all(
      `SELECT uid, index_uid FROM tasks INDEXED BY tasks_waiting_order
       WHERE status = 'enqueued' AND +type NOT IN ${urgentTypes} ORDER BY uid LIMIT 1`,
      [],
    )[0]
    if (first !== undefined) {
      add(
        this.#sql.all(
          `SELECT ${queuedColumns} FROM tasks t JOIN contents c ON c.uid = t.uid WHERE t.uid = ?`,
          [number(first.uid)],
        ),
      )
      const indexUid = first.index_uid ?? null
      if (indexUid !== null) {
        add(
          this.#sql.all(
            `SELECT ${queuedColumns} FROM tasks t INDEXED BY tasks_waiting JOIN contents c ON c.uid = t.uid
             WHERE t.status = 'enqueued' AND t.index_uid = ? ORDER BY t.uid LIMIT ?`,
            [indexUid, tasksMax + 1],
          ),
        )
        add(
          this.#sql.all(
            `SELECT ${queuedColumns} FROM contents c JOIN tasks t ON t.uid = c.uid
             WHERE c.touches IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(c.touches) WHERE value = ?)
             ORDER BY c.uid LIMIT 1`,
            [indexUid],
          ),
        )
      }
    }
    return [...found.values()].sort((a, b) => a.uid - b.uid)
  }

  waitingOf(indexUid: string): ReturnType<StoreCalls['waitingOf']> {
    return this.#sql
      .all(
        `SELECT t.uid, c.kind FROM tasks t INDEXED BY tasks_waiting JOIN contents c ON c.uid = t.uid
       WHERE t.status = 'enqueued' AND t.index_uid = ? ORDER BY t.uid`,
        [indexUid],
      )
      .map((row) => ({ uid: number(row.uid), kind: text(row.kind) as QueuedTask['kind'] }))
  }

  pending(uids: readonly number[]): readonly PendingTask[] {
    return this.#sql
      .all(
        `SELECT ${taskColumns
          .split(', ')
          .map((column) => `t.${column}`)
          .join(', ')}, c.body FROM contents c JOIN tasks t ON t.uid = c.uid
       WHERE c.uid IN (SELECT value FROM json_each(?)) AND +t.status IN ('enqueued', 'processing') ORDER BY c.uid`,
        [JSON.stringify(uids)],
      )
      .map((columns) => {
        const row = taskRow(columns)
        const content = storedContent(text(columns.body))
        return { row: content.kind === 'settings' ? { ...row, details: null } : row, content }
      })
  }

  ended(uids: readonly number[]): readonly number[] {
    return this.#sql
      .all(
        `SELECT uid FROM tasks WHERE uid IN (SELECT value FROM json_each(?))
       AND +status IN ('succeeded', 'failed', 'canceled') ORDER BY uid`,
        [JSON.stringify(uids)],
      )
      .map((row) => number(row.uid))
  }
}
