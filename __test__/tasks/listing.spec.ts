import test from 'ava'
import { type Connection, loadDriver, type Row } from '../../ts/sqlite/driver.js'
import { Sql } from '../../ts/sqlite/sql.js'
import { type TaskFilter, taskStatuses, taskTypes } from '../../ts/tasks/index.js'
import { rebuildSets } from '../../ts/tasks/listing/membership.js'
import { newRow } from '../../ts/tasks/store/new-row.js'
import { batchRows, taskRows } from '../../ts/tasks/store/rows.js'
import { Store } from '../../ts/tasks/store/store.js'
import fc from '../support/property.js'
import { storedSets } from './sets.js'

// Listings of a store with several eras, arrival spans and set chunks, compared with the definition of filters:
// 1. Listed tasks and batches match every filter, ascending or descending. Totals count them.
// 2. A page begins at `from` and has `limit` rows and one more.
// 3. Deleting tasks removes them, and batches without remaining tasks.
// 4. Sets updated by each change equal sets rebuilt from the rows.
// 5. Sets rebuilt from the rows are correct even if the clock was set back.

const FIRST_UID = 60_000
const TASKS = 9_000
/** Microseconds between two arrivals. */
const STEP = 1_000_000

const day = Date.UTC(2026, 0, 1) * 1000

/**
 * Fills a store with batches of 1 to 40 tasks and one of 3,000. They run late, out of the order of arrival and
 * concurrently. Some of the last batches are still running, and the last tasks wait.
 */
function filled(): { store: Store; connection: Connection } {
  const connection = loadDriver().driver.open(':memory:')
  const store = new Store(connection, {
    isCompared: true,
    identity: null,
    reached: () => undefined,
    settle: () => undefined,
    copying: { begin: () => undefined, open: (path) => loadDriver().driver.open(path), end: () => undefined },
    clock: () => day,
  })
  const random = fc.sample(fc.nat(1_000_000), { seed: 7, numRuns: TASKS * 2 })
  const pick = <T>(values: readonly T[], at: number): T => values[(random[at] ?? 0) % values.length] as T
  const indexes = ['a', 'a1', 'b', 'b-long', 'c']
  const rows: (string | number | null)[][] = []
  for (let i = 0; i < TASKS; i++) {
    const type = pick(taskTypes, i)
    const isAlone = ['indexSwap', 'taskCancelation', 'taskDeletion'].includes(type)
    rows.push([FIRST_UID + i, isAlone ? null : pick(indexes, i + TASKS), type, day + i * STEP])
  }
  const order = rows
    .map((_, i) => i)
    .sort((x, y) => x - y + ((random[x] ?? 0) % 300) - ((random[y] ?? 0) % 300))
  const insert = connection.prepare(
    `INSERT INTO tasks (uid, index_uid, type, enqueued_at, status, batch_uid, started_at, finished_at,
     canceled_by, new_index_uid) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const batch = connection.prepare(
    `INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy,
     details, stats, oldest_uid, newest_uid) VALUES (?, ?, ?, ?, ?, '', '{}', '{}', ?, ?)`,
  )
  let at = 0
  let clock = day
  connection.exec('BEGIN')
  for (let uid = 3; at < TASKS - 50; uid += 1 + (uid % 3)) {
    const size = Math.min(uid > 100 && uid < 103 ? 3_000 : pick([1, 1, 2, 10, 40], uid), TASKS - 50 - at)
    const members = order.slice(at, at + size).sort((x, y) => x - y)
    at += size
    const arrivals = members.map((i) => day + i * STEP)
    const started = Math.max(clock, ...arrivals)
    clock = started + 10_000
    const isRunning = at >= TASKS - 50 || (at >= TASKS - 150 && uid % 2 === 0)
    const finished = isRunning ? null : started + pick([10_000, 10_000, 5_000_000, 300_000_000], uid + 1)
    const ends = [members[0] ?? 0, members.at(-1) ?? 0]
    batch.run([uid, started, finished, ...ends.map((i) => day + i * STEP), ...ends.map((i) => FIRST_UID + i)])
    const canceler = FIRST_UID + (members[0] ?? 0)
    for (const i of members) {
      const [taskUid = 0, index = null, type = '', arrival = 0] = rows[i] ?? []
      const isCanceled = size === 3_000 && taskUid !== canceler
      const status = isRunning ? 'processing' : isCanceled ? 'canceled' : pick(['succeeded', 'failed'], i)
      const isCancelation = size === 3_000 && taskUid === canceler
      insert.run([
        taskUid,
        isCancelation ? null : index,
        isCancelation ? 'taskCancelation' : type,
        arrival,
        isCancelation ? 'succeeded' : status,
        uid,
        started,
        finished,
        isCanceled ? canceler : null,
        type === 'indexUpdate' && i % 2 === 0 ? 'c' : null,
      ])
    }
  }
  for (const i of order.slice(at)) {
    insert.run([...(rows[i] ?? []), 'enqueued', null, null, null, null, null])
  }
  connection.exec(`UPDATE batches SET ended = place.ended FROM
    (SELECT uid, row_number() OVER (ORDER BY finished_at, uid) AS ended FROM batches WHERE finished_at IS NOT NULL) AS place
    WHERE place.uid = batches.uid`)
  rebuildSets(new Sql(connection))
  connection.exec('COMMIT')
  return { store, connection }
}

type Column = string | number | null
const seen = (row: Row, column: string) => (row[column] ?? null) as Column
const among = (values: readonly Column[] | null | undefined, ...found: readonly Column[]) =>
  !values || found.some((value) => value !== null && values.includes(value))
const micros = (date: string | null | undefined) => (date ? Date.parse(date) * 1000 : null)

function between(at: Column, after: string | null | undefined, before: string | null | undefined): boolean {
  const [low, high] = [micros(after), micros(before)]
  if (low === null && high === null) return true
  return at !== null && (low === null || Number(at) > low) && (high === null || Number(at) < high)
}

const isVisible = (row: Row, patterns: readonly string[] | null | undefined) =>
  !patterns ||
  patterns.some((pattern) => {
    const index = seen(row, 'index_uid')
    if (index === null) return false
    return pattern.endsWith('*') ? String(index).startsWith(pattern.slice(0, -1)) : index === pattern
  })

const ranBetween = (row: Row, filter: TaskFilter) =>
  between(seen(row, 'started_at'), filter.afterStartedAt, filter.beforeStartedAt) &&
  between(seen(row, 'finished_at'), filter.afterFinishedAt, filter.beforeFinishedAt)

const taskMatches = (row: Row, filter: TaskFilter) =>
  among(filter.uids, seen(row, 'uid')) &&
  among(filter.batchUids, seen(row, 'batch_uid')) &&
  among(filter.canceledBy, seen(row, 'canceled_by')) &&
  among(filter.statuses, seen(row, 'status')) &&
  among(filter.types, seen(row, 'type')) &&
  among(filter.indexUids, seen(row, 'index_uid'), seen(row, 'new_index_uid')) &&
  isVisible(row, filter.visibleIndexes) &&
  between(seen(row, 'enqueued_at'), filter.afterEnqueuedAt, filter.beforeEnqueuedAt) &&
  ranBetween(row, filter)

function batchMatches(batch: Row, members: readonly Row[], filter: TaskFilter): boolean {
  const some = (holds: (row: Row) => boolean) => members.some(holds)
  const { afterEnqueuedAt, beforeEnqueuedAt, canceledBy } = filter
  return (
    among(filter.batchUids, seen(batch, 'uid')) &&
    some((row) => among(filter.uids, seen(row, 'uid'))) &&
    some((row) => among(filter.statuses, seen(row, 'status'))) &&
    some((row) => among(filter.types, seen(row, 'type'))) &&
    some((row) => among(filter.indexUids, seen(row, 'index_uid'), seen(row, 'new_index_uid'))) &&
    some((row) => isVisible(row, filter.visibleIndexes)) &&
    (!canceledBy ||
      some(
        (row) =>
          among(canceledBy, seen(row, 'uid')) && row.type === 'taskCancelation' && row.status === 'succeeded',
      )) &&
    ['oldest_enqueued_at', 'newest_enqueued_at'].some((end) =>
      between(seen(batch, end), afterEnqueuedAt, beforeEnqueuedAt),
    ) &&
    ranBetween(batch, filter)
  )
}

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2, nil: null })
const date = fc
  .integer({ min: -100, max: TASKS + 100 })
  .chain((i) => fc.constantFrom(0, 500, 10).map((ms) => new Date((day + i * STEP) / 1000 + ms).toISOString()))
const list = <T>(value: fc.Arbitrary<T>) => maybe(fc.array(value, { maxLength: 4 }))
const uid = fc.integer({ min: FIRST_UID, max: FIRST_UID + TASKS })
const sparse = (filter: fc.Arbitrary<TaskFilter>) =>
  fc
    .tuple(
      filter,
      fc.subarray(['uids', 'batchUids', 'canceledBy', 'statuses', 'types', 'indexUids'] as const),
    )
    .map(([all, dropped]) =>
      Object.fromEntries(Object.entries(all).filter(([key]) => !dropped.includes(key as never))),
    )
const filters: fc.Arbitrary<TaskFilter> = sparse(
  fc.record({
    uids: maybe(fc.array(uid, { maxLength: 200 })),
    batchUids: maybe(fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 100 })),
    canceledBy: maybe(fc.constant(Array.from({ length: 3_000 }, (_, i) => FIRST_UID + i))),
    statuses: list(fc.constantFrom(...taskStatuses)),
    types: list(fc.constantFrom(...taskTypes)),
    indexUids: list(fc.constantFrom('a', 'b', 'c', 'none')),
    visibleIndexes: list(fc.constantFrom('a', 'a*', 'b*', 'none')),
    afterEnqueuedAt: maybe(date),
    beforeEnqueuedAt: maybe(date),
    afterStartedAt: maybe(date),
    beforeStartedAt: maybe(date),
    afterFinishedAt: maybe(date),
    beforeFinishedAt: maybe(date),
  }),
)
const pagings = fc.record({
  limit: fc.constantFrom(0, 1, 20, 1_000),
  from: maybe(uid),
  reverse: fc.boolean(),
})

function agree({ store, connection }: ReturnType<typeof filled>): void {
  const tasks = connection.prepare('SELECT * FROM tasks').all([])
  const batches = connection.prepare('SELECT * FROM batches').all([])
  const members = new Map<Column, Row[]>()
  for (const row of tasks) {
    const batch = seen(row, 'batch_uid')
    const group = members.get(batch)
    if (group === undefined) members.set(batch, [row])
    else group.push(row)
  }
  fc.assert(
    fc.property(filters, pagings, (filter, paging) => {
      const matching = (of: TaskFilter) => ({
        tasks: tasks.filter((row) => taskMatches(row, of)),
        batches: batches.filter((row) => batchMatches(row, members.get(seen(row, 'uid')) ?? [], of)),
      })
      const expected = matching(filter)
      const counted = matching({ ...filter, visibleIndexes: null })
      const totals = { tasks: counted.tasks.length, batches: counted.batches.length }
      for (const list of ['tasks', 'batches'] as const) {
        // Uids of batches are smaller than those of tasks.
        const from = paging.from === null || list === 'tasks' ? paging.from : paging.from - FIRST_UID
        const uids = expected[list]
          .map((row) => Number(row.uid))
          .sort((a, b) => (paging.reverse ? a - b : b - a))
        const begun = uids.filter((uid) => from === null || (paging.reverse ? uid >= from : uid <= from))
        const page = store[list](filter, { ...paging, from })
        const rows =
          list === 'tasks' ? taskRows(page.rows, paging.reverse) : batchRows(page.rows, paging.reverse)
        const found = rows.map((row) => row.uid)
        const right = begun.slice(0, paging.limit + 1)
        if (page.total !== totals[list])
          throw new Error(`${list}: a total of ${page.total} instead of ${totals[list]}`)
        if (`${found}` !== `${right}`) throw new Error(`${list}: ${found} instead of ${right}`)
      }
    }),
    { numRuns: 50 },
  )
}

function setsOf(connection: Connection) {
  return storedSets(
    (columns, rest) =>
      connection.prepare(`SELECT ${columns.join(', ')} ${rest}`).all([]) as ReturnType<
        Parameters<typeof storedSets>[0]
      >,
  )
}

test('listings return the tasks and batches that match random filters', (t) => {
  const testQueue = filled()
  t.notThrows(() => agree(testQueue))
  const { stored, real } = setsOf(testQueue.connection)
  t.deepEqual(stored, real)
})

test('rebuilding the sets raises dates that decreased after the clock was set back', (t) => {
  const { store, connection } = filled()
  const back = 3_600 * STEP
  connection.exec(`BEGIN;
    UPDATE batches SET started_at = started_at - ${back}, finished_at = finished_at - ${back} WHERE uid > 200;
    UPDATE tasks SET started_at = started_at - ${back}, finished_at = finished_at - ${back} WHERE batch_uid > 200`)
  rebuildSets(new Sql(connection))
  connection.exec('COMMIT')
  t.notThrows(() => agree({ store, connection }))
})

test('listings stay correct while tasks are deleted', (t) => {
  const testQueue = filled()
  const { store, connection } = testQueue
  const ended = store.match({ statuses: ['succeeded', 'failed', 'canceled'] })
  const deletedTasks = ended.filter((uid) => uid % 3 !== 0 && uid % 700 > 20)
  const running = connection.prepare('SELECT uid FROM batches WHERE finished_at IS NULL').all([])
  const batch = { uid: 5_000, startedAt: day, finishedAt: day, strategy: '', details: '{}', stats: '{}' }
  const deletion = { kind: 'taskDeletion', query: '', tasks: deletedTasks } as const
  for (const { uid } of running) store.transaction([() => store.revert(Number(uid), [])], true)
  const [appended] = store.transaction(
    [() => store.append(newRow({ indexUid: null, type: 'taskDeletion', content: deletion }, deletion))],
    true,
  )
  const uid = appended?.ok ? appended.value.uid : -1
  const ending = {
    uid,
    status: 'succeeded',
    details: null,
    error: null,
    canceledBy: null,
    newIndexUid: null,
  } as const
  const rest = {
    written: [],
    removed: [],
    dropped: [],
    relabels: [],
    failedCommits: [],
    uploads: [],
    deletedTasks,
  }
  const [concluded] = store.transaction([() => store.conclude({ batch, endings: [ending], ...rest })], true)
  t.like(concluded, { ok: true })
  t.notThrows(() => agree(testQueue))
  const { stored, real } = setsOf(connection)
  t.deepEqual(stored, real)
})
