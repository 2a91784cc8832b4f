/** Finds tasks and batches by date. */
import { number, orNull, type Sql } from '../../sqlite/index.js'
import type { TaskFilter } from '../tasks.js'
import { type Micros, parseDate } from '../time.js'
import { UidSet } from './uid-set.js'
import { endingSpan, firstOfSpan, type UidSets } from './uid-sets.js'

/** Numbers from `from` (inclusive) to `to` (exclusive). */
export type Range = readonly [from: number, to: number]

const everything: Range = [0, Number.POSITIVE_INFINITY]

/** Two bounds of a date, both exclusive. */
export interface Dates {
  readonly after: string | null | undefined
  readonly before: string | null | undefined
}

/** Maps infinity to the largest safe integer, because SQLite has no infinite integer. */
export const finite = (number: number) => Math.min(number, Number.MAX_SAFE_INTEGER)

/** A date column, and a number column in the same order. */
interface DateOrder {
  readonly table: 'tasks' | 'batches'
  readonly date: string
  readonly order: 'uid' | 'ended'
  /** SQL condition that holds for rows with both columns. */
  readonly condition: string
}

const arrivalOrder: DateOrder = { table: 'tasks', date: 'enqueued_at', order: 'uid', condition: 'TRUE' }
const startOrder: DateOrder = { table: 'batches', date: 'started_at', order: 'uid', condition: 'TRUE' }
const endOrder: DateOrder = {
  table: 'batches',
  date: 'finished_at',
  order: 'ended',
  condition: 'ended IS NOT NULL',
}

/**
 * Turns date bounds into ranges of numbers that have the same order: tasks arrive and batches start in the order of
 * their uids, and batches end in the order of `ended`. Complete eras are read as sets; see `Membership.ended`.
 */
export class DateRanges {
  readonly #sql: Sql
  readonly #sets: UidSets

  constructor(sql: Sql, sets: UidSets) {
    this.#sql = sql
    this.#sets = sets
  }

  /** Returns the uids of tasks enqueued between these dates. */
  arrivals(dates: Dates): Range {
    return this.#between(arrivalOrder, dates)
  }

  /** Returns the uids of batches started between the dates of the filter. */
  batchesStarted(filter: TaskFilter): Range {
    return this.#between(startOrder, startsOf(filter))
  }

  /** Returns the batches that ended between the dates of the filter; null if the filter has no end dates. */
  batchesEnded(filter: TaskFilter): UidSet | null {
    const dates = endsOf(filter)
    if (!isBounded(dates)) return null
    const [from, to] = this.#between(endOrder, dates)
    const last = this.#last(endOrder) ?? -1
    const end = Math.min(to, last + 1)
    const [firstWhole, endWhole] = [endingSpan(from - 1) + 1, endingSpan(end)]
    if (firstWhole >= endWhole) return this.#endedIn(from, end)
    return this.#sets
      .loadRange('ended', firstWhole, endWhole)
      .unite(this.#endedIn(from, firstOfSpan(firstWhole)))
      .unite(this.#endedIn(firstOfSpan(endWhole), end))
  }

  #endedIn(from: number, to: number): UidSet {
    const sql = 'SELECT uid FROM batches WHERE ended >= ? AND ended < ?'
    return UidSet.of(this.#sql.uids(sql, [from, finite(to)]))
  }

  /** Returns the tasks started, and the tasks ended, between the dates of the filter: one set per pair of bounds. */
  tasksThatRan(filter: TaskFilter): readonly UidSet[] {
    const [starts, ends] = [startsOf(filter), endsOf(filter)]
    return [
      ...(isBounded(starts) ? [this.#tasksStarted(...this.#between(startOrder, starts))] : []),
      ...(isBounded(ends) ? [this.#inEras(endEras, ...this.#between(endOrder, ends))] : []),
    ]
  }

  #tasksStarted(from: number, to: number): UidSet {
    // Running batches belong to no era. There are few of them.
    const running = this.#sql.uids(
      `SELECT uid FROM tasks WHERE batch_uid IN
        (SELECT uid FROM batches WHERE finished_at IS NULL AND uid >= ? AND uid < ?)`,
      [from, finite(to)],
    )
    return this.#inEras(startEras, from, to).unite(UidSet.of(running))
  }

  /** Returns the tasks of the finished batches in this range. */
  #inEras(eras: Eras, from: number, to: number): UidSet {
    const era = (which: 'min' | 'max', comparison: '<' | '>=', bound: number): number | null => {
      const sql = `SELECT ${which}(value) AS era FROM sets WHERE kind = '${eras.kind}' AND value ${comparison} ?`
      return orNull(number, this.#sql.all(sql, [finite(bound)])[0]?.era)
    }
    const tasks = (start: number, end: number): UidSet =>
      UidSet.of(this.#sql.uids(eras.tasks, [start, finite(end)]))
    const first = era('min', '>=', from)
    const last = era('max', '<', to)
    if (first === null || last === null || first > last) return tasks(from, to)
    // The partial eras at both ends have few tasks.
    const [next] = this.#sql.all(eras.next, [finite(to)])
    const isCut = next?.era === last
    const found = this.#sets.loadRange(eras.kind, first, isCut ? last : last + 1)
    if (isCut) found.unite(tasks(last, to))
    return found.unite(tasks(from, first))
  }

  /** Returns the range of rows between two dates. A row without a date counts as later than all others. */
  #between(order: DateOrder, { after, before }: Dates): Range {
    if (!after && !before) return everything
    const from = after ? this.#first(order, (at) => at > parseDate(after).floor) : 0
    const to = this.#first(order, (at) => (before ? at >= parseDate(before).ceil : false))
    return [from, to]
  }

  /** Returns the first number whose date satisfies `isReached`, or the last number plus one. */
  #first(of: DateOrder, isReached: (at: Micros) => boolean): number {
    const { table, date, order, condition } = of
    let [low, high] = [0, (this.#last(of) ?? -1) + 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const row = this.#sql.all(
        `SELECT ${order} AS place, ${date} AS at FROM ${table} WHERE ${condition} AND ${order} >= ?
         ORDER BY ${order} LIMIT 1`,
        [middle],
      )[0]
      if (row === undefined || isReached(number(row.at))) high = middle
      else low = number(row.place) + 1
    }
    return low
  }

  /** Returns the highest number; null if the table is empty. The condition lets SQLite use its partial index. */
  #last({ table, order, condition }: DateOrder): number | null {
    const [row] = this.#sql.all(`SELECT max(${order}) AS last FROM ${table} WHERE ${condition}`, [])
    return orNull(number, row?.last)
  }
}

/** SQL of the stored sets that hold the tasks of consecutive batches. */
interface Eras {
  readonly kind: 'era' | 'endEra'
  /** Selects the tasks of the batches in a range. */
  readonly tasks: string
  /** Selects the era of the first finished batch at or after a bound. */
  readonly next: string
}

const startEras: Eras = {
  kind: 'era',
  tasks: `SELECT t.uid FROM batches b JOIN tasks t ON t.batch_uid = b.uid
    WHERE b.uid >= ? AND b.uid < ? AND b.finished_at IS NOT NULL`,
  next: 'SELECT era FROM batches WHERE uid >= ? AND era IS NOT NULL ORDER BY uid LIMIT 1',
}

const endEras: Eras = {
  kind: 'endEra',
  tasks: 'SELECT t.uid FROM batches b JOIN tasks t ON t.batch_uid = b.uid WHERE b.ended >= ? AND b.ended < ?',
  next: 'SELECT end_era AS era FROM batches WHERE ended >= ? ORDER BY ended LIMIT 1',
}

const isBounded = ({ after, before }: Dates): boolean => Boolean(after) || Boolean(before)

const startsOf = (filter: TaskFilter): Dates => ({
  after: filter.afterStartedAt,
  before: filter.beforeStartedAt,
})

const endsOf = (filter: TaskFilter): Dates => ({
  after: filter.afterFinishedAt,
  before: filter.beforeFinishedAt,
})
