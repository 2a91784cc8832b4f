import { number, orNull, type Row, type Sql, text, type Value } from '../../sqlite/index.js'
import {
  type BatchLimits,
  type Busy,
  firstFree,
  type IndexFacts,
  nextBatch,
  type QueuedTask,
} from '../batching.js'
import { BARRIERS_READ, OLDEST_READ } from '../limits.js'
import type { Membership } from '../listing/membership.js'
import type { TaskContent } from '../task.js'
import type { Micros } from '../time.js'
import { firstUid, type UidClass } from '../uid-class.js'
import { insertContent } from './dump-table.js'
import { storedContent } from './new-row.js'
import type { EndingTask, PendingTask, StoreCalls } from './records.js'
import { columnsOf, queuedColumns, queuedTask, taskColumns, taskRow } from './rows.js'

/** Types that `nextBatch` treats as housekeeping. They run before older tasks. */
const urgentTypes =
  "('taskCancelation','upgradeDatabase','networkTopologyChange','taskDeletion','indexCompaction','export','snapshotCreation','dumpCreation')"

/** The uids of new tasks: those of a class from `least` on. */
interface NewUids {
  readonly least: number
  readonly uidClass: UidClass
}

/** Appends tasks, and reads tasks that have not ended. */
export class QueueTable {
  readonly #sql: Sql
  readonly #members: Membership
  readonly #now: () => Micros
  readonly #uids: NewUids

  /** @param now sets the arrival date of tasks */
  constructor(sql: Sql, members: Membership, now: () => Micros, uids: NewUids) {
    this.#sql = sql
    this.#members = members
    this.#now = now
    this.#uids = uids
  }

  append(row: Parameters<StoreCalls['append']>[0]): ReturnType<StoreCalls['append']> {
    const last = this.#sql.all('SELECT uid, enqueued_at FROM tasks ORDER BY uid DESC LIMIT 1', [])[0]
    const least = Math.max(last === undefined ? 0 : number(last.uid) + 1, this.#uids.least)
    const uid = firstUid(least, this.#uids.uidClass)
    // Dates must not decrease as uids increase, even if the clock was set back.
    const enqueuedAt = Math.max(this.#now(), last === undefined ? 0 : number(last.enqueued_at))
    this.#sql.run(
      "INSERT INTO tasks (uid, index_uid, status, type, enqueued_at, details, custom_metadata) VALUES (?, ?, 'enqueued', ?, ?, ?, ?)",
      [uid, row.indexUid, row.type, enqueuedAt, row.details, row.customMetadata],
    )
    insertContent(this.#sql, uid, row)
    this.#members.arrived(uid, row.type, row.indexUid)
    return { uid, enqueuedAt }
  }

  uploads(): ReturnType<StoreCalls['uploads']> {
    return this.#sql
      .all('SELECT payload, payload_bytes FROM contents WHERE payload IS NOT NULL', [])
      .map((row) => ({ name: text(row.payload), bytes: number(row.payload_bytes) }))
  }

  pick(limits: BatchLimits, busy: Busy): ReturnType<StoreCalls['pick']> {
    const waiting = this.#waiting(limits.tasksMax, busy)
    const indexes = [...new Set(waiting.map(({ indexUid }) => indexUid))]
    const facts: IndexFacts = new Map(
      this.#sql
        .all('SELECT uid, primary_key FROM catalogue WHERE uid IN (SELECT value FROM json_each(?))', [
          JSON.stringify(indexes),
        ])
        .map((row) => [text(row.uid), { primaryKey: orNull(text, row.primary_key) }]),
    )
    const batch = nextBatch(waiting, facts, limits, busy)
    return batch === null ? null : { batch, tasks: this.pending(batch.tasks.map(({ uid }) => uid)) }
  }

  /** Reads the part of the queue that `nextBatch` needs. */
  #waiting(tasksMax: number, busy: Busy): readonly QueuedTask[] {
    const urgent = this.#queued(
      `FROM tasks t INDEXED BY tasks_waiting_type JOIN contents c ON c.uid = t.uid
       WHERE t.status = 'enqueued' AND t.type IN ${urgentTypes}`,
      [],
    )
    const ahead = busy.isFull ? [] : this.#ahead(busy.names)
    const indexUid = firstFree(ahead, busy.names)?.indexUid ?? null
    const found = [...urgent, ...ahead, ...(indexUid === null ? [] : this.#sharing(indexUid, tasksMax))]
    return [...new Map(found.map((task) => [task.uid, task])).values()].sort((a, b) => a.uid - b.uid)
  }

  /** Reads the part of the queue that `firstFree` needs, ascending by uid. */
  #ahead(busy: readonly string[]): readonly QueuedTask[] {
    const oldest = this.#queued(
      `FROM tasks t INDEXED BY tasks_waiting_order JOIN contents c ON c.uid = t.uid
       WHERE t.status = 'enqueued' AND +t.type NOT IN ${urgentTypes} ORDER BY t.uid LIMIT ?`,
      [OLDEST_READ],
    )
    if (oldest.length < OLDEST_READ || firstFree(oldest, busy) !== null) return oldest
    return this.#heads()
  }

  /**
   * Reads the oldest task of each index, and the swaps and renames, which name several indexes, ascending by uid. Reads
   * no task after the first `BARRIERS_READ` swaps and renames: an unread one could block it.
   */
  #heads(): readonly QueuedTask[] {
    const barriers = this.#queued(
      `FROM contents c JOIN tasks t ON t.uid = c.uid
       WHERE c.touches IS NOT NULL AND t.status = 'enqueued' ORDER BY c.uid LIMIT ?`,
      [BARRIERS_READ],
    )
    const bound = barriers.length < BARRIERS_READ ? Number.MAX_SAFE_INTEGER : (barriers.at(-1)?.uid ?? 0)
    const uids: number[] = []
    for (let row = this.#headAfter(''); row !== undefined; row = this.#headAfter(text(row.index_uid)))
      uids.push(number(row.uid))
    const heads = this.#queued(
      'FROM contents c JOIN tasks t ON t.uid = c.uid WHERE c.uid IN (SELECT value FROM json_each(?))',
      [JSON.stringify(uids)],
    )
    const withoutIndex = this.#queued(
      `FROM tasks t INDEXED BY tasks_waiting JOIN contents c ON c.uid = t.uid
       WHERE t.status = 'enqueued' AND t.index_uid IS NULL AND +t.type NOT IN ${urgentTypes} AND c.touches IS NULL
       ORDER BY t.uid LIMIT 1`,
      [],
    )
    return [...heads, ...withoutIndex, ...barriers]
      .filter(({ uid }) => uid <= bound)
      .sort((a, b) => a.uid - b.uid)
  }

  /** Returns the oldest waiting task, except housekeeping, of the next index by name after `indexUid`. */
  #headAfter(indexUid: string): Row | undefined {
    return this.#sql.all(
      `SELECT uid, index_uid FROM tasks INDEXED BY tasks_waiting WHERE status = 'enqueued' AND index_uid > ?
       AND +type NOT IN ${urgentTypes} ORDER BY index_uid, uid LIMIT 1`,
      [indexUid],
    )[0]
  }

  /** Reads the tasks for a batch of this index, and the first swap or rename that names it as another index. */
  #sharing(indexUid: string, tasksMax: number): readonly QueuedTask[] {
    return [
      ...this.#queued(
        `FROM tasks t INDEXED BY tasks_waiting JOIN contents c ON c.uid = t.uid
         WHERE t.status = 'enqueued' AND t.index_uid = ? ORDER BY t.uid LIMIT ?`,
        [indexUid, tasksMax + 1],
      ),
      ...this.#queued(
        `FROM contents c JOIN tasks t ON t.uid = c.uid
         WHERE c.touches IS NOT NULL AND t.status = 'enqueued'
           AND EXISTS (SELECT 1 FROM json_each(c.touches) WHERE value = ?)
         ORDER BY c.uid LIMIT 1`,
        [indexUid],
      ),
    ]
  }

  #queued(from: string, given: readonly Value[]): readonly QueuedTask[] {
    return this.#sql.all(`SELECT ${queuedColumns} ${from}`, given).map(queuedTask)
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
        `SELECT ${columnsOf('t', taskColumns)}, c.body FROM contents c JOIN tasks t ON t.uid = c.uid
       WHERE c.uid IN (SELECT value FROM json_each(?)) AND +t.status IN ('enqueued', 'processing') ORDER BY c.uid`,
        [JSON.stringify(uids)],
      )
      .map((columns) => {
        const row = taskRow(columns)
        const content = storedContent(text(columns.body))
        return { row: content.kind === 'settings' ? { ...row, details: null } : row, content }
      })
  }

  unended(uids: readonly number[]): readonly EndingTask[] {
    return this.#sql
      .all(
        `SELECT ${columnsOf('t', taskColumns.replace('details, ', ''))}, c.kind, c.payload,
         CASE c.kind WHEN 'settings' THEN NULL ELSE t.details END AS details FROM contents c JOIN tasks t ON t.uid = c.uid
       WHERE c.uid IN (SELECT value FROM json_each(?)) AND +t.status IN ('enqueued', 'processing') ORDER BY c.uid`,
        [JSON.stringify(uids)],
      )
      .map((columns) => {
        const kind = text(columns.kind) as TaskContent['kind']
        const path = orNull(text, columns.payload)
        return { row: taskRow(columns), content: { kind, ...(path !== null && { payload: { path } }) } }
      })
  }

  ended(uids: readonly number[]): readonly number[] {
    return this.#sql
      .all(
        `SELECT uid FROM tasks WHERE uid IN (SELECT value FROM json_each(?))
       AND +status IN ('succeeded', 'failed', 'canceled')
       AND NOT EXISTS (SELECT 1 FROM contents WHERE contents.uid = tasks.uid AND kind = 'upgradeDatabase') ORDER BY uid`,
        [JSON.stringify(uids)],
      )
      .map((row) => number(row.uid))
  }
}
