import type { Value } from './driver.js'
import type { TaskFilter } from './tasks.js'
import { parseDate } from './time.js'

/** A condition in SQL with its positional parameters. */
export interface Condition {
  readonly sql: string
  readonly parameters: readonly Value[]
}

/** Columns with few distinct values, whose combinations are counted by triggers. */
const countedColumns = ['status', 'type', 'index_uid'] as const
export type CountedColumn = (typeof countedColumns)[number]

/** How a listing shall be read: down the uids, or along the index of one counted column. */
export type Route = 'uids' | CountedColumn | 'planner'

const listed = (column: string, values: readonly (string | number)[]): Condition =>
  values.length === 1
    ? { sql: `${column} = ?`, parameters: [values[0] ?? null] }
    : { sql: `${column} IN (SELECT value FROM json_each(?))`, parameters: [JSON.stringify(values)] }

const joined = (word: 'AND' | 'OR', parts: readonly Condition[]): Condition => ({
  sql: `(${parts.map((part) => part.sql).join(` ${word} `)})`,
  parameters: parts.flatMap((part) => part.parameters),
})

/** Whether a listing has no limits on indexes: null, or a pattern that admits all of them. */
export const seesAll = (visible: readonly string[] | null | undefined): boolean =>
  visible === null || visible === undefined || visible.includes('*')

/** Index names allowed by patterns (`boats`, `boats_*`); tasks without an index are never allowed. */
export function visibleCondition(column: string, patterns: readonly string[]): Condition {
  if (patterns.length === 0) return { sql: '0', parameters: [] }
  return joined(
    'OR',
    patterns.map((pattern) => {
      if (!pattern.endsWith('*')) return { sql: `${column} = ?`, parameters: [pattern] }
      const prefix = pattern.slice(0, -1)
      // Index uids are ASCII, so everything that starts with the prefix sorts before prefix + DEL.
      return { sql: `(${column} >= ? AND ${column} < ?)`, parameters: [prefix, `${prefix}\u007f`] }
    }),
  )
}

/**
 * Conditions on the counted columns, the same for `tasks` and `counts`.
 * @param along columns not on the way are written so that SQLite does not use their index
 */
export function countedConditions(filter: TaskFilter, along: Route): readonly Condition[] {
  const name = (column: CountedColumn) => (along === column || along === 'planner' ? column : `+${column}`)
  const conditions: Condition[] = []
  if (filter.statuses) conditions.push(listed(name('status'), filter.statuses))
  if (filter.types) conditions.push(listed(name('type'), filter.types))
  if (filter.indexUids) {
    const second = along === 'index_uid' || along === 'planner' ? 'new_index_uid' : '+new_index_uid'
    conditions.push(
      joined('OR', [listed(name('index_uid'), filter.indexUids), listed(second, filter.indexUids)]),
    )
  }
  if (!seesAll(filter.visibleIndexes)) {
    conditions.push(visibleCondition(name('index_uid'), filter.visibleIndexes ?? []))
  }
  return conditions
}

/** Whether the maintained counts can tell how many tasks match. */
export function isCounted(filter: TaskFilter): boolean {
  return (
    !filter.uids &&
    !filter.batchUids &&
    !filter.canceledBy &&
    !filter.beforeEnqueuedAt &&
    !filter.afterEnqueuedAt &&
    !hasRunDates(filter)
  )
}

/** Whether a listing asks when tasks ran. */
export function hasRunDates(filter: TaskFilter): boolean {
  return Boolean(
    filter.beforeStartedAt || filter.afterStartedAt || filter.beforeFinishedAt || filter.afterFinishedAt,
  )
}

/** Whether some other filter narrows the listing by an index of its own. */
export function isNarrowed(filter: TaskFilter): boolean {
  return hasUids(filter) || hasRunDates(filter)
}

/** Whether a listing names tasks, batches or cancelations by their uids. */
export function hasUids(filter: TaskFilter): boolean {
  return Boolean(filter.uids || filter.batchUids || filter.canceledBy)
}

/**
 * Conditions on everything else of a task.
 * @param isWalking whether tasks are read down the uids anyway: then dates of running use no index, but
 * the bound that nothing starts before it has arrived
 */
export function otherConditions(filter: TaskFilter, isWalking = false): readonly Condition[] {
  const conditions: Condition[] = []
  if (filter.uids) conditions.push(listed('uid', filter.uids))
  if (filter.batchUids) conditions.push(listed('batch_uid', filter.batchUids))
  if (filter.canceledBy) conditions.push(listed('canceled_by', filter.canceledBy))
  // Dates of arrival rise with the uids, so each bound is looked up once instead of read along.
  if (filter.beforeEnqueuedAt) conditions.push(arrivedBefore(filter.beforeEnqueuedAt))
  if (filter.afterEnqueuedAt) {
    conditions.push({
      sql: 'uid > ifnull((SELECT uid FROM tasks WHERE enqueued_at <= ? ORDER BY enqueued_at DESC, uid DESC LIMIT 1), -1)',
      parameters: [parseDate(filter.afterEnqueuedAt).floor],
    })
  }
  const plus = isWalking ? '+' : ''
  conditions.push(...rangeConditions(`${plus}started_at`, filter.afterStartedAt, filter.beforeStartedAt))
  conditions.push(...rangeConditions(`${plus}finished_at`, filter.afterFinishedAt, filter.beforeFinishedAt))
  if (isWalking && filter.beforeStartedAt) conditions.push(arrivedBefore(filter.beforeStartedAt))
  if (isWalking && filter.beforeFinishedAt) conditions.push(arrivedBefore(filter.beforeFinishedAt))
  return conditions
}

/**
 * The filter as dates of arrival, null if it asks for more: counting along their index reads a fraction of
 * what a range of uids does, since the tasks themselves lie along the uids.
 */
export function arrivalConditions(filter: TaskFilter): readonly Condition[] | null {
  const { afterEnqueuedAt, beforeEnqueuedAt, ...others } = filter
  if (!isCounted(others) || countedConditions(others, 'uids').length > 0) return null
  return rangeConditions('enqueued_at', afterEnqueuedAt, beforeEnqueuedAt)
}

const arrivedBefore = (date: string): Condition => ({
  sql: 'uid < ifnull((SELECT uid FROM tasks WHERE enqueued_at >= ? ORDER BY enqueued_at, uid LIMIT 1), 1e18)',
  parameters: [parseDate(date).ceil],
})

/** Dates between two exclusive bounds; unset dates never match. */
export function rangeConditions(
  column: string,
  after: string | null | undefined,
  before: string | null | undefined,
): readonly Condition[] {
  const conditions: Condition[] = []
  if (after) conditions.push({ sql: `${column} > ?`, parameters: [parseDate(after).floor] })
  if (before) conditions.push({ sql: `${column} < ?`, parameters: [parseDate(before).ceil] })
  return conditions
}

/** One condition out of many; always true if there are none. */
export function all(conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? { sql: '1', parameters: [] } : joined('AND', conditions)
}

/** The filters that speak of members of a batch rather than of the batch. */
export function memberConditions(filter: TaskFilter, along: Route): readonly Condition[] {
  const { statuses, types, indexUids, visibleIndexes, uids, canceledBy } = filter
  return [
    ...countedConditions({ statuses, types, indexUids, visibleIndexes } as TaskFilter, along),
    ...otherConditions({ uids, canceledBy } as TaskFilter),
  ]
}

/** The filters that speak of the batch itself. Its oldest and its newest member count as its arrival. */
export function batchConditions(filter: TaskFilter): readonly Condition[] {
  const conditions: Condition[] = []
  if (filter.batchUids) conditions.push(listed('uid', filter.batchUids))
  const oldest = rangeConditions('oldest_enqueued_at', filter.afterEnqueuedAt, filter.beforeEnqueuedAt)
  const newest = rangeConditions('newest_enqueued_at', filter.afterEnqueuedAt, filter.beforeEnqueuedAt)
  if (oldest.length > 0) conditions.push(joined('OR', [all(oldest), all(newest)]))
  conditions.push(...rangeConditions('started_at', filter.afterStartedAt, filter.beforeStartedAt))
  conditions.push(...rangeConditions('finished_at', filter.afterFinishedAt, filter.beforeFinishedAt))
  return conditions
}

export { countedColumns }
