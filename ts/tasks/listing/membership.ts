import { number, orNull, type Row, type Sql, type Value } from '../../sqlite/index.js'
import type { Relabel } from '../store/records.js'
import type { TaskStatus, TaskType } from '../task.js'
import { CHUNK_UIDS, UidSet } from './uid-set.js'
import { arrivalSpan, endingSpan, type SetKind, UidSets } from './uid-sets.js'

/**
 * Number of tasks at which an era accepts no further batch. An era holds the tasks of consecutive finished batches, by
 * uid (`era`, for start date filters) or by end (`end_era`, for end date filters). A filter selects complete eras, and
 * reads the tasks of single batches only at its bounds.
 */
const ERA_TASKS_MAX = 2_048

/** Statuses of tasks that belong to a batch. */
const begunStatuses = ['processing', 'succeeded', 'failed', 'canceled'] as const

/** Collects uids by the set that they belong to. */
class Groups {
  readonly #groups = new Map<string, { kind: SetKind; value: string | number; uids: number[] }>()

  put(kind: SetKind, value: Value | undefined, uid: number): void {
    if (typeof value !== 'string' && typeof value !== 'number') return
    const key = `${kind} ${value}`
    const group = this.#groups.get(key)
    if (group === undefined) this.#groups.set(key, { kind, value, uids: [uid] })
    else group.uids.push(uid)
  }

  addTo(sets: UidSets): void {
    for (const { kind, value, uids } of this.#groups.values()) sets.add(kind, value, uids)
  }

  removeFrom(sets: UidSets): void {
    for (const { kind, value, uids } of this.#groups.values()) sets.remove(kind, value, uids)
  }
}

const putTask = (groups: Groups, row: Row) => {
  const uid = number(row.uid)
  groups.put('status', row.status, uid)
  groups.put('type', row.type, uid)
  groups.put('index', row.index_uid, uid)
  groups.put('renamed', row.new_index_uid, uid)
  groups.put('era', row.era, uid)
  groups.put('endEra', row.end_era, uid)
}

const putBatch = (groups: Groups, row: Row) => {
  const uid = number(row.uid)
  groups.put('batch', '', uid)
  groups.put('oldest', arrivalSpan(number(row.oldest_uid)), uid)
  groups.put('newest', arrivalSpan(number(row.newest_uid)), uid)
  const ended = orNull(number, row.ended)
  if (ended !== null) groups.put('ended', endingSpan(ended), uid)
}

const putMember = (groups: Groups, row: Row) => {
  const uid = number(row.batch_uid)
  groups.put('batchStatus', row.status, uid)
  groups.put('batchType', row.type, uid)
  groups.put('batchIndex', row.index_uid, uid)
  groups.put('batchRenamed', row.new_index_uid, uid)
}

const taskSelection = `SELECT t.uid, t.status, t.type, t.index_uid, t.new_index_uid, b.era, b.end_era
  FROM tasks t LEFT JOIN batches b ON b.uid = t.batch_uid`
const batchSelection = 'SELECT uid, oldest_uid, newest_uid, ended FROM batches'
const memberSelection = 'SELECT DISTINCT batch_uid, status, type, index_uid, new_index_uid FROM tasks'

/** Keeps the sets of uids consistent with the rows of tasks and batches. */
export class Membership {
  readonly #sql: Sql
  readonly #sets: UidSets

  constructor(sql: Sql, sets: UidSets) {
    this.#sql = sql
    this.#sets = sets
  }

  arrived(uid: number, type: TaskType, indexUid: string | null): void {
    this.#sets.add('status', 'enqueued', [uid])
    this.#sets.add('type', type, [uid])
    if (indexUid !== null) this.#sets.add('index', indexUid, [uid])
  }

  /** Sets the status of tasks that were enqueued or processing. */
  moved(uids: readonly number[], status: TaskStatus): void {
    this.#sets.remove('status', 'enqueued', uids)
    this.#sets.remove('status', 'processing', uids)
    this.#sets.add('status', status, uids)
  }

  renamed(uid: number, newIndexUid: string): void {
    this.#sets.add('renamed', newIndexUid, [uid])
  }

  /**
   * Adds the tasks of a batch that ends to an era by uid, and to an era by end.
   * @param ended position of the batch in the order of ends, higher than all others
   * @returns the eras, named after the uid and the position of their first batches
   */
  ended(
    batchUid: number,
    ended: number,
    uids: readonly number[],
  ): { readonly era: number; readonly endEra: number } {
    const eraOf = (sql: string, given: readonly Value[]) => orNull(number, this.#sql.all(sql, given)[0]?.era)
    const before = eraOf(
      'SELECT era FROM batches WHERE uid < ? AND era IS NOT NULL ORDER BY uid DESC LIMIT 1',
      [batchUid],
    )
    const after = eraOf('SELECT era FROM batches WHERE uid > ? AND era IS NOT NULL ORDER BY uid LIMIT 1', [
      batchUid,
    ])
    const lastEnd = eraOf(
      'SELECT end_era AS era FROM batches WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1',
      [],
    )
    // A batch between two batches of an era must join it, to keep the batches of the era consecutive.
    const isInside = before !== null && before === after
    const era = before !== null && (isInside || this.#fits('era', before, uids)) ? before : batchUid
    const endEra = lastEnd !== null && this.#fits('endEra', lastEnd, uids) ? lastEnd : ended
    this.#sets.add('era', era, uids)
    this.#sets.add('endEra', endEra, uids)
    return { era, endEra }
  }

  #fits(kind: 'era' | 'endEra', era: number, uids: readonly number[]): boolean {
    return this.#sets.load(kind, [era]).size + uids.length <= ERA_TASKS_MAX
  }

  /** Adds a batch that has begun and is in no set yet. */
  begun(batchUid: number): void {
    this.#batches(JSON.stringify([batchUid])).addTo(this.#sets)
  }

  /** Updates the sets of these batches. @param change changes or removes the batches or their tasks */
  changing(batchUids: readonly number[], change: () => void): void {
    const batches = JSON.stringify(batchUids)
    this.#batches(batches).removeFrom(this.#sets)
    change()
    this.#batches(batches).addTo(this.#sets)
  }

  /** Updates sets before ended tasks are deleted. @param uids JSON text @param change gets the uids of their batches */
  removing(uids: string, change: (batchUids: string) => void): void {
    const groups = new Groups()
    const rows = this.#sql.all(`${taskSelection} WHERE t.uid IN (SELECT value FROM json_each(?))`, [uids])
    for (const row of rows) putTask(groups, row)
    groups.removeFrom(this.#sets)
    const batchUids = this.#sql
      .all(
        `SELECT DISTINCT batch_uid FROM tasks
         WHERE uid IN (SELECT value FROM json_each(?)) AND +batch_uid IS NOT NULL`,
        [uids],
      )
      .map((row) => number(row.batch_uid))
    this.changing(batchUids, () => change(JSON.stringify(batchUids)))
  }

  /**
   * Updates the sets when rows are replaced by rows of another store.
   * @param uids of tasks @param batchUids of batches @param change writes and deletes these rows
   */
  replacing(uids: readonly number[], batchUids: readonly number[], change: () => void): void {
    const [tasks, batches] = [JSON.stringify(uids), JSON.stringify(batchUids)]
    const groups = (): Groups => {
      const found = new Groups()
      // The eras of a task are those of its batch, and the statuses of a batch those of its tasks.
      const ofTasks = `WHERE t.uid IN (SELECT value FROM json_each(?1))
        OR t.batch_uid IN (SELECT value FROM json_each(?2))`
      for (const row of this.#sql.all(`${taskSelection} ${ofTasks}`, [tasks, batches])) putTask(found, row)
      const ofBatches = `SELECT value AS uid FROM json_each(?2)
        UNION SELECT batch_uid FROM tasks WHERE uid IN (SELECT value FROM json_each(?1)) AND +batch_uid IS NOT NULL`
      const touched = this.#sql.all(ofBatches, [tasks, batches]).map((row) => number(row.uid))
      for (const uid of touched) known.add(uid)
      this.#batches(JSON.stringify([...known]), found)
      return found
    }
    const known = new Set<number>()
    groups().removeFrom(this.#sets)
    change()
    groups().addTo(this.#sets)
  }

  /**
   * Updates the sets for renamed indexes.
   * @param write updates the rows of the affected tasks
   */
  relabelled({ from, to, swap, before }: Relabel, write: (uids: readonly number[]) => void): void {
    const named = this.#sets.load('index', [from, to]).unite(this.#sets.load('renamed', [from, to]))
    const affected = UidSet.of(named.uids()).clip(0, before).uids()
    if (affected.length === 0) return
    // Batches that also have younger, not renamed tasks of these indexes need their sets rebuilt.
    named.clip(before, Number.POSITIVE_INFINITY).intersect(this.#sets.load('status', begunStatuses))
    const mixed = this.#sql
      .all('SELECT DISTINCT batch_uid FROM tasks WHERE uid IN (SELECT value FROM json_each(?))', [
        JSON.stringify(named.uids()),
      ])
      .map((row) => number(row.batch_uid))
    this.changing(mixed, () => {
      for (const kind of ['index', 'renamed', 'batchIndex', 'batchRenamed'] as const) {
        const bound = kind === 'index' || kind === 'renamed' ? before : Number.POSITIVE_INFINITY
        const olds = this.#sets.load(kind, [from]).clip(0, bound).uids()
        const news = swap ? this.#sets.load(kind, [to]).clip(0, bound).uids() : []
        this.#sets.remove(kind, from, olds)
        this.#sets.remove(kind, to, news)
        this.#sets.add(kind, to, olds)
        this.#sets.add(kind, from, news)
      }
      write(affected)
    })
  }

  #batches(batches: string, groups: Groups = new Groups()): Groups {
    for (const row of this.#sql.all(`${batchSelection} WHERE uid IN (SELECT value FROM json_each(?))`, [
      batches,
    ]))
      putBatch(groups, row)
    const members = `${memberSelection} WHERE batch_uid IN (SELECT value FROM json_each(?))`
    for (const row of this.#sql.all(members, [batches])) putMember(groups, row)
    return groups
  }
}

/**
 * Rebuilds all sets from the rows, for a store without some of them. If the clock was set back, dates may decrease.
 * They are raised to those of the batch before, because listings rely on their order.
 */
export function rebuildSets(sql: Sql): void {
  sql.run('DELETE FROM sets', [])
  raiseDates(sql)
  assignEras(sql, 'uid', 'era')
  assignEras(sql, 'ended', 'end_era')
  const sets = new UidSets(sql)
  const fill = (table: string, selection: string, put: (groups: Groups, row: Row) => void) => {
    for (const [from, to] of ranges(sql, table)) {
      const groups = new Groups()
      for (const row of sql.all(selection, [from, to])) put(groups, row)
      groups.addTo(sets)
      sets.flush()
    }
  }
  fill('tasks', `${taskSelection} WHERE t.uid >= ? AND t.uid < ?`, putTask)
  fill('batches', `${batchSelection} WHERE uid >= ? AND uid < ?`, putBatch)
  fill('batches', `${memberSelection} WHERE batch_uid >= ? AND batch_uid < ?`, putMember)
}

function raiseDates(sql: Sql): void {
  sql.run(
    `UPDATE batches SET started_at = latest.at FROM
       (SELECT uid, max(started_at) OVER (ORDER BY uid) AS at FROM batches) AS latest
     WHERE latest.uid = batches.uid AND latest.at > started_at`,
    [],
  )
  sql.run(
    `UPDATE batches SET finished_at = latest.at FROM
       (SELECT uid, max(max(started_at, finished_at)) OVER (ORDER BY ended) AS at FROM batches
        WHERE ended IS NOT NULL) AS latest
     WHERE latest.uid = batches.uid AND latest.at > finished_at`,
    [],
  )
  sql.run(
    `UPDATE tasks SET started_at = batches.started_at, finished_at = batches.finished_at FROM batches
     WHERE batches.uid = tasks.batch_uid
       AND (tasks.started_at < batches.started_at OR tasks.finished_at < batches.finished_at)`,
    [],
  )
}

/** Assigns finished batches to eras. @param order column that orders batches @param column column of the era */
function assignEras(sql: Sql, order: 'uid' | 'ended', column: 'era' | 'end_era'): void {
  let era: { name: number; tasks: number } | null = null
  for (const [from, to] of ranges(sql, 'batches', order)) {
    const batches = sql.all(
      `SELECT uid, ${order} AS place, (SELECT count(*) FROM tasks WHERE batch_uid = batches.uid) AS n FROM batches
       WHERE ended IS NOT NULL AND ${order} >= ? AND ${order} < ? ORDER BY ${order}`,
      [from, to],
    )
    for (const row of batches) {
      const tasks = number(row.n)
      if (era === null || era.tasks + tasks > ERA_TASKS_MAX) era = { name: number(row.place), tasks: 0 }
      era.tasks += tasks
      sql.run(`UPDATE batches SET ${column} = ? WHERE uid = ?`, [era.name, number(row.uid)])
    }
  }
}

function* ranges(sql: Sql, table: string, column = 'uid'): Generator<readonly [number, number]> {
  const ends = sql.all(`SELECT min(${column}) AS first, max(${column}) AS last FROM ${table}`, [])[0]
  const last = orNull(number, ends?.last) ?? -1
  for (let from = orNull(number, ends?.first) ?? 0; from <= last; from += CHUNK_UIDS) {
    yield [from, from + CHUNK_UIDS]
  }
}
