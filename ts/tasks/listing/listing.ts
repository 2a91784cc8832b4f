import { number, orNull, type Sql, text, unpacked, type Value } from '../../sqlite/index.js'
import { COUNTED_DETAILS_BYTES_MIN, PAGE_DETAILS_BYTES_MAX, PAGE_ROWS_MAX } from '../limits.js'
import type { BatchRow, RowPage, TaskRow } from '../store/records.js'
import { batchColumns, batchRow, taskColumns, taskRow } from '../store/rows.js'
import type { TaskCounts, TaskFilter, TaskPaging } from '../tasks.js'
import { parseDate } from '../time.js'
import { DateRanges, type Dates, finite, type Range } from './date-ranges.js'
import { UidSet } from './uid-set.js'
import { arrivalSpan, type SetKind, type UidSets } from './uid-sets.js'
import { isAllVisible, mergedDetailsText, partOfBatch } from './view.js'

/** Returns true if the patterns of visible indexes admit all indexes; null admits all. */
const seesAll = (visible: readonly string[] | null | undefined): boolean =>
  visible === null || visible === undefined || visible.includes('*')

/** The filter for a total. The API also counts what an API key may not see. Source: recorded answers. */
const regardlessOfKey = (filter: TaskFilter): TaskFilter => ({ ...filter, visibleIndexes: null })

/**
 * Lists the tasks or batches that match a filter.
 *
 * Each condition of a filter is a stored set of uids (see `UidSets`) or a range of uids. A listing intersects these,
 * counts the result, and reads the rows of one page.
 */
export class Listing {
  readonly #sql: Sql
  readonly #sets: UidSets
  readonly #dates: DateRanges

  constructor(sql: Sql, sets: UidSets) {
    this.#sql = sql
    this.#sets = sets
    this.#dates = new DateRanges(sql, sets)
  }

  task(uid: number, visible: readonly string[] | null): TaskRow | null {
    const row = this.#sql.all(`SELECT ${taskColumns} FROM tasks WHERE uid = ?`, [uid])[0]
    if (row === undefined) return null
    const task = taskRow(row)
    return isVisible(task.indexUid, visible) ? task : null
  }

  tasks(filter: TaskFilter, paging: TaskPaging): RowPage {
    const matching = this.match(filter)
    const all = seesAll(filter.visibleIndexes) ? matching : this.match(regardlessOfKey(filter))
    return {
      ...this.#page('tasks', taskColumns, matching, paging),
      total: all.size + this.#swapsOf(regardlessOfKey(filter)),
    }
  }

  /** Returns the totals of the listings by status, type and index. */
  counts(): TaskCounts {
    const indexes = new Map(this.#sets.counts('index'))
    for (const index of this.#sets.counts('renamed').keys()) indexes.set(index, this.#named([index]).size)
    const swaps = this.#sql.all(
      'SELECT name, count(DISTINCT uid) AS n FROM swap_names WHERE uid IN (SELECT uid FROM tasks) GROUP BY name',
    )
    for (const { name, n } of swaps) indexes.set(text(name), (indexes.get(text(name)) ?? 0) + number(n))
    return { statuses: this.#sets.counts('status'), types: this.#sets.counts('type'), indexes }
  }

  /** Tasks of these indexes, without swaps. */
  #named(indexUids: readonly string[]): UidSet {
    return this.#sets.load('index', indexUids).unite(this.#sets.load('renamed', indexUids))
  }

  match(filter: TaskFilter): UidSet {
    const arrived = this.#dates.arrivals({ after: filter.afterEnqueuedAt, before: filter.beforeEnqueuedAt })
    const found = this.#matching(filter)?.clip(...arrived) ?? null
    if (found !== null && found.size <= LOOKED_AT_MAX) return this.#visibleAmong(found, filter.visibleIndexes)
    const visible = this.#visible('index', filter.visibleIndexes)
    return (common([found, visible]) ?? this.#sets.loadRange('status', '', LAST_TEXT)).clip(...arrived)
  }

  /** Matches all conditions except arrival dates and visible indexes; null: all tasks. */
  #matching(filter: TaskFilter): UidSet | null {
    return common([
      filter.uids &&
        this.#query('SELECT uid FROM tasks WHERE uid IN (SELECT value FROM json_each(?))', filter.uids),
      filter.batchUids && this.#ofBatches(filter.batchUids),
      filter.canceledBy && this.#canceledBy(filter.canceledBy),
      filter.statuses && this.#sets.load('status', filter.statuses),
      filter.types && this.#sets.load('type', filter.types),
      filter.indexUids && this.#named(filter.indexUids),
      ...this.#dates.tasksThatRan(filter),
    ])
  }

  /** Keeps tasks whose index the patterns admit. Reads the tasks instead of the sets of many visible indexes. */
  #visibleAmong(found: UidSet, patterns: readonly string[] | null | undefined): UidSet {
    if (patterns === null || patterns === undefined || seesAll(patterns)) return found
    const columns = 'uid, index_uid'
    const rows = unpacked(columns, this.#rows('tasks', columns, found.uids()))
    const visible = rows.filter((row) => isVisible(orNull(text, row.index_uid), patterns))
    return UidSet.of(visible.map((row) => number(row.uid)))
  }

  batch(uid: number, visible: readonly string[] | null): BatchRow | null {
    const row = this.#sql.all(`SELECT ${batchColumns} FROM batches WHERE uid = ?`, [uid])[0]
    if (row === undefined) return null
    if (this.#visible('batchIndex', visible)?.has(uid) === false) return null
    return this.#visibleParts([batchRow(row)], visible)[0] ?? null
  }

  batches(filter: TaskFilter, paging: TaskPaging): RowPage {
    const { visibleIndexes: visible } = filter
    const matching = this.#matchingBatches(filter)
    const page = this.#page('batches', batchColumns, matching, paging)
    if (seesAll(visible)) return { ...page, total: matching.size }
    const rows = this.#visibleParts(unpacked(batchColumns, page.rows).map(batchRow), visible)
    const total = this.#matchingBatches(regardlessOfKey(filter)).size
    return { ...page, rows: packedBatches(rows), total }
  }

  /** Removes the tasks whose indexes the patterns do not admit from the batches. */
  #visibleParts(
    rows: readonly BatchRow[],
    patterns: readonly string[] | null | undefined,
  ): readonly BatchRow[] {
    const visible = patterns ?? null
    if (seesAll(visible)) return rows
    return rows.map((row) => {
      if (isAllVisible(row, (uid) => isVisible(uid, visible))) return row
      const uids = JSON.stringify(this.#ofBatches([row.uid]).uids())
      const where = 'WHERE uid IN (SELECT value FROM json_each(?)) ORDER BY uid'
      const members = this.#sql
        .all(`SELECT uid, status, type, index_uid FROM tasks ${where}`, [uids])
        .map((task) => ({
          uid: number(task.uid),
          status: text(task.status),
          type: text(task.type) as TaskRow['type'],
          indexUid: orNull(text, task.index_uid),
        }))
        .filter(({ indexUid }) => isVisible(indexUid, visible))
      if (members.length > MERGED_DETAILS_MAX) return partOfBatch(row, members, '{}')
      const shown = JSON.stringify(members.map(({ uid }) => uid))
      const tasks = this.#sql.all(`SELECT ${taskColumns} FROM tasks ${where}`, [shown]).map(taskRow)
      return partOfBatch(row, members, mergedDetailsText(tasks))
    })
  }

  /** A batch matches a filter for tasks if any of its tasks does. */
  #matchingBatches(filter: TaskFilter): UidSet {
    const { indexUids, canceledBy } = filter
    const found = common([
      filter.batchUids &&
        this.#query(
          'SELECT uid FROM batches WHERE uid IN (SELECT value FROM json_each(?))',
          filter.batchUids,
        ),
      filter.uids &&
        this.#query(
          `SELECT batch_uid AS uid FROM tasks
           WHERE uid IN (SELECT value FROM json_each(?)) AND +batch_uid IS NOT NULL`,
          filter.uids,
        ),
      canceledBy &&
        this.#query(
          `SELECT batch_uid AS uid FROM tasks WHERE uid IN (SELECT value FROM json_each(?))
           AND +type = 'taskCancelation' AND +status = 'succeeded'`,
          canceledBy,
        ),
      filter.statuses && this.#sets.load('batchStatus', filter.statuses),
      filter.types && this.#sets.load('batchType', filter.types),
      indexUids && this.#batchesOf(indexUids.filter((uid) => isVisible(uid, filter.visibleIndexes ?? null))),
      this.#visible('batchIndex', filter.visibleIndexes),
      this.#holdingArrivals({ after: filter.afterEnqueuedAt, before: filter.beforeEnqueuedAt }),
      this.#dates.batchesEnded(filter),
    ])
    return (found ?? this.#sets.load('batch', [''])).clip(...this.#dates.batchesStarted(filter))
  }

  /** Batches with tasks of these indexes. */
  #batchesOf(indexUids: readonly string[]): UidSet {
    return this.#sets.load('batchIndex', indexUids).unite(this.#sets.load('batchRenamed', indexUids))
  }

  /** Reads the rows of a page and the first row of the next. A page ends early if its rows have too many bytes. */
  #page(
    table: 'tasks' | 'batches',
    columns: string,
    matching: UidSet,
    paging: TaskPaging,
  ): Pick<RowPage, 'rows' | 'shown'> {
    const limit = Math.min(paging.limit, PAGE_ROWS_MAX)
    const uids = matching.page({ ...paging, limit: limit + 1 })
    const shown = Math.min(uids.length, limit, this.#fitting(table, uids))
    return { rows: this.#rows(table, columns, uids.slice(0, shown + 1)), shown }
  }

  /** Returns how many of these rows fit into a page by the size of their details; at least 1. */
  #fitting(table: 'tasks' | 'batches', uids: readonly number[]): number {
    const large = this.#sql.all(
      `SELECT uid, octet_length(details) AS bytes FROM ${table}
       WHERE uid IN (SELECT value FROM json_each(?)) AND octet_length(details) >= ${COUNTED_DETAILS_BYTES_MIN}`,
      [JSON.stringify(uids)],
    )
    if (large.length === 0) return uids.length
    const bytes = new Map(large.map((row) => [number(row.uid), number(row.bytes)]))
    let sum = 0
    const end = uids.findIndex((uid, at) => {
      sum += bytes.get(uid) ?? 0
      return at > 0 && sum > PAGE_DETAILS_BYTES_MAX
    })
    return end === -1 ? uids.length : end
  }

  #rows(table: 'tasks' | 'batches', columns: string, uids: readonly number[]): string {
    const sql = `SELECT ${columns} FROM ${table} WHERE uid IN (SELECT value FROM json_each(?))`
    return this.#sql.packed(columns, sql, [JSON.stringify(uids)])
  }

  #query(sql: string, values: readonly Value[]): UidSet {
    return UidSet.of(this.#sql.uids(sql, [JSON.stringify(values)]))
  }

  /** Returns tasks or batches of indexes that the patterns (`boats`, `boats_*`) admit; never tasks without an index. */
  #visible(kind: SetKind, patterns: readonly string[] | null | undefined): UidSet | null {
    if (seesAll(patterns)) return null
    const names = (patterns ?? []).filter((pattern) => !pattern.endsWith('*'))
    const visible = this.#sets.load(kind, names)
    for (const pattern of patterns ?? []) {
      if (!pattern.endsWith('*')) continue
      const prefix = pattern.slice(0, -1)
      visible.unite(this.#sets.loadRange(kind, prefix, `${prefix}${LAST_TEXT}`))
    }
    return visible
  }

  /** Counts the swaps of these indexes. The API includes them in the total of a listing but does not list them. */
  #swapsOf(filter: TaskFilter): number {
    const { indexUids } = filter
    if (!indexUids) return 0
    const swaps = this.#query(
      'SELECT uid FROM swap_names WHERE name IN (SELECT value FROM json_each(?))',
      indexUids,
    )
    return swaps.size === 0 ? 0 : swaps.intersect(this.match({ ...filter, indexUids: null })).size
  }

  #ofBatches(batches: readonly number[]): UidSet {
    // The batch of a cancelation can have all tasks of the store. A batch that large is its own era.
    const alone = this.#query(
      `SELECT uid FROM batches AS b WHERE uid IN (SELECT value FROM json_each(?)) AND era = uid
       AND (SELECT era FROM batches WHERE uid > b.uid AND era IS NOT NULL ORDER BY uid LIMIT 1) IS NOT b.era`,
      batches,
    )
    const others = batches.filter((uid) => !alone.has(uid))
    const found = this.#query(
      'SELECT uid FROM tasks WHERE batch_uid IN (SELECT value FROM json_each(?))',
      others,
    )
    return found.unite(this.#sets.load('era', alone.uids()))
  }

  /** Tasks canceled by these cancelations. All canceled tasks of a batch were canceled by the same task. */
  #canceledBy(uids: readonly number[]): UidSet {
    const batches = uids.flatMap((uid) =>
      this.#sql.all('SELECT batch_uid FROM tasks WHERE canceled_by = ? LIMIT 1', [uid]),
    )
    const members = this.#ofBatches(batches.map((row) => number(row.batch_uid)))
    return members.intersect(this.#sets.load('status', ['canceled']))
  }

  /** Batches whose oldest or newest task arrived between these dates; null if no date is given. */
  #holdingArrivals({ after, before }: Dates): UidSet | null {
    if (!after && !before) return null
    const tasks = this.#dates.arrivals({ after, before })
    const from: Range = after ? this.#boundarySpans(tasks[0]) : [0, -1]
    const to: Range = before ? this.#boundarySpans(tasks[1]) : [NO_SPAN, NO_SPAN]
    const found = new UidSet()
    for (const kind of ['oldest', 'newest'] as const) {
      found.unite(this.#sets.loadRange(kind, from[1] + 1, to[0]))
      const doubtful = this.#sets.loadRange(kind, from[0], from[1] + 1)
      doubtful.unite(this.#sets.loadRange(kind, to[0], to[1] + 1))
      const column = `${kind}_enqueued_at`
      const dates = [
        after ? parseDate(after).floor : Number.MIN_SAFE_INTEGER,
        before ? parseDate(before).ceil : Number.MAX_SAFE_INTEGER,
      ]
      const uids = this.#sql.uids(
        `SELECT uid FROM batches WHERE uid IN (SELECT value FROM json_each(?)) AND ${column} > ? AND ${column} < ?`,
        [JSON.stringify(doubtful.uids()), ...dates],
      )
      found.unite(UidSet.of(uids))
    }
    return found
  }

  /** Spans of the tasks next to a bound. The dates of a batch can come from deleted tasks between the two. */
  #boundarySpans(bound: number): Range {
    const uid = (sql: string) => orNull(number, this.#sql.all(sql, [finite(bound)])[0]?.uid)
    const last = uid('SELECT max(uid) AS uid FROM tasks WHERE uid < ?')
    const next = uid('SELECT min(uid) AS uid FROM tasks WHERE uid >= ?')
    return [arrivalSpan(last ?? 0), next === null ? NO_SPAN : arrivalSpan(next)]
  }
}

/** The intersection of these sets; null if no set is given. */
function common(sets: readonly (UidSet | null | undefined)[]): UidSet | null {
  return sets.reduce<UidSet | null>(
    (found, set) => (set && found ? found.intersect(set) : (set ?? found)),
    null,
  )
}

/** A page of batches in the format of `Sql.packed`. */
const packedBatches = (rows: readonly BatchRow[]): string =>
  JSON.stringify(
    rows.map((row) => [row.uid, row.startedAt, row.finishedAt, row.strategy, row.details, row.stats]),
  )

/** Most tasks whose details are merged for one batch of a page. A batch with more tasks has no details there. */
const MERGED_DETAILS_MAX = 1_000

/** Sorts after every index uid, since these are ASCII below 0x7f. A prefix and this bound all uids with the prefix. */
const LAST_TEXT = '\u007f'

/** Up to this many tasks, looking up their indexes is faster than reading the sets of a dozen indexes. */
const LOOKED_AT_MAX = 500

/** A number above all arrival spans. */
const NO_SPAN = Number.MAX_SAFE_INTEGER

function isVisible(indexUid: string | null, patterns: readonly string[] | null): boolean {
  if (seesAll(patterns)) return true
  if (indexUid === null) return false
  return (patterns ?? []).some((pattern) =>
    pattern.endsWith('*') ? indexUid.startsWith(pattern.slice(0, -1)) : indexUid === pattern,
  )
}
