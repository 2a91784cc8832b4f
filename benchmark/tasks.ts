/**
 * npm run bench:tasks -- [tasks] [driver] [directory]: measures a task store with a million finished tasks. Keeps and
 * reuses the store in a given directory.
 *
 * Times a restart and each filter of the listings, and measures the growth of the process.
 */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFake } from '../__test__/tasks/fake-engine.js'
import { loadDriver } from '../ts/sqlite/driver.js'
import { Sql } from '../ts/sqlite/sql.js'
import { type DriverName, openTasks, type TaskFilter, type TaskPaging } from '../ts/tasks/index.js'
import { rebuildSets } from '../ts/tasks/listing/membership.js'
import { megabytes, memoryKib, percentiles } from './measure.js'

/** Enough runs that the 99th percentile is not the slowest. */
const RUNS = 200
const [count = '1000000', driver = 'libsql', kept, step] = process.argv.slice(2)
const tasks = Number(count)
const directory = kept ?? (await mkdtemp(join(tmpdir(), 'siftd-tasks-')))
const quiet = () => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: console.error }
const engine = await openFake(join(directory, 'indexes'))
const named = { driver: driver as DriverName }
const open = () => openTasks({ directory, engine, log, ...named, storedTasksMax: Number.MAX_SAFE_INTEGER })

if (step === 'fill') {
  fill()
  process.exit()
}
try {
  const first = await open()
  const { total } = await first.tasks.list({}, { limit: 0, from: null, reverse: false })
  await first.close()
  // In a separate process, because an open statement keeps SQLite from releasing the file.
  if (total === 0) {
    execFileSync(process.execPath, [process.argv[1] ?? '', count, driver, directory, 'fill'])
    // Removing the mark makes the next open accept the store and compute its checksums.
    await rm(join(directory, 'tasks.mark'))
    await (await open()).close()
  }
  const opening = performance.now()
  const opened = await open()
  opened.start()
  console.log(`restart: ${Math.round(performance.now() - opening)} ms, task store: ${opened.driver}`)
  const before = await memoryKib(process.pid, 'RssAnon')
  const slowest = { wall: 0, processor: 0 }
  for (const [name, filter, paging] of cases()) {
    for (const list of ['list', 'batches'] as const) {
      const wall: number[] = []
      const processor: number[] = []
      let total = 0
      for (let run = 0; run < RUNS; run++) {
        const used = process.cpuUsage()
        const began = performance.now()
        const page = await opened.tasks[list](filter, { limit: 20, from: null, reverse: false, ...paging })
        wall.push(performance.now() - began)
        const { user, system } = process.cpuUsage(used)
        processor.push((user + system) / 1000)
        total = page.total
      }
      const [w, c] = [percentiles(wall), percentiles(processor)]
      slowest.wall = Math.max(slowest.wall, w.p99)
      slowest.processor = Math.max(slowest.processor, c.p99)
      const kind = list === 'list' ? 'tasks  ' : 'batches'
      const figures = `p50 ${ms(w.p50)} p99 ${ms(w.p99)}  processor p50 ${ms(c.p50)} p99 ${ms(c.p99)}`
      console.log(`${kind} ${name.padEnd(34)} ${figures}  of ${total}`)
    }
  }
  console.log(
    `slowest p99: ${ms(slowest.wall)}, processor ${ms(slowest.processor)}; store: ${megabytes(await opened.tasks.bytes())}`,
  )
  const after = await memoryKib(process.pid, 'RssAnon')
  console.log(`anonymous memory: ${megabytes(before * 1024)} before, ${megabytes(after * 1024)} after`)
  await opened.close()
} finally {
  if (kept === undefined) await rm(directory, { recursive: true, force: true })
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`.padStart(9)
}

/** Fills the store: ten tasks per batch, fifty indexes; every thirtieth task failed, every fiftieth was canceled. */
function fill(): void {
  const connection = loadDriver(named.driver).driver.open(join(directory, 'tasks', 'tasks.db'))
  const start = Date.parse('2026-01-01T00:00:00Z') * 1000
  connection.exec(`
    BEGIN;
    WITH RECURSIVE n (uid) AS (SELECT 0 UNION ALL SELECT uid + 1 FROM n WHERE uid < ${tasks - 1})
    INSERT INTO tasks (uid, batch_uid, index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error)
    SELECT uid, uid / 10, 'index-' || (uid * 7 % 50),
      CASE WHEN uid % 30 = 0 THEN 'failed' WHEN uid % 50 = 1 THEN 'canceled' ELSE 'succeeded' END,
      CASE WHEN uid % 50 = 4 THEN 'taskCancelation' ELSE CASE uid % 20 WHEN 3 THEN 'settingsUpdate' WHEN 4 THEN 'documentDeletion' WHEN 5 THEN 'indexCreation'
        ELSE 'documentAdditionOrUpdate' END END,
      CASE WHEN uid % 50 = 1 THEN uid + 3 END,
      ${start} + uid * 1000, ${start} + uid / 10 * 10000 + 9500, ${start} + uid / 10 * 10000 + 9900,
      '{"receivedDocuments":1,"indexedDocuments":1}',
      CASE WHEN uid % 30 = 0 THEN '{"message":"no id","code":"missing_document_id","type":"invalid_request","link":"x"}' END
    FROM n;
    WITH RECURSIVE n (uid) AS (SELECT 0 UNION ALL SELECT uid + 1 FROM n WHERE uid < ${tasks / 10 - 1})
    INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats,
      oldest_uid, newest_uid, ended) SELECT uid, ${start} + uid * 10000 + 9500, ${start} + uid * 10000 + 9900,
      ${start} + uid * 10000, ${start} + uid * 10000 + 9000, 'took all', '{"receivedDocuments":10}',
      '{"totalNbTasks":10,"status":{"succeeded":10},"types":{},"indexUids":{}}', uid * 10, uid * 10 + 9, uid FROM n;`)
  rebuildSets(new Sql(connection))
  connection.exec('COMMIT')
  connection.close()
}

function cases(): readonly (readonly [string, TaskFilter, Partial<TaskPaging>?])[] {
  const middle = tasks / 2
  const at = (uid: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + uid).toISOString()
  return [
    ['everything', {}],
    ['from the middle', {}, { from: middle }],
    ['reverse', {}, { reverse: true }],
    ['reverse, from the middle', {}, { reverse: true, from: middle }],
    ['a thousand a page', {}, { limit: 1000 }],
    ['a thousand from the middle, reverse', {}, { limit: 1000, reverse: true, from: middle }],
    ['a thousand of a common type', { types: ['documentAdditionOrUpdate'] }, { limit: 1000 }],
    ['a thousand of an index', { indexUids: ['index-7'] }, { limit: 1000, reverse: true }],
    ['uids', { uids: [1, middle, tasks - 1] }],
    ['batchUids', { batchUids: [1, 2, tasks / 20] }],
    ['canceledBy', { canceledBy: [4, 104] }],
    ['types: common', { types: ['documentAdditionOrUpdate'] }],
    ['types: rare', { types: ['settingsUpdate', 'indexCreation'] }],
    ['types: none of it', { types: ['indexSwap'] }],
    ['statuses: common', { statuses: ['succeeded'] }],
    ['statuses: rare', { statuses: ['failed', 'canceled'] }],
    ['statuses: enqueued, processing', { statuses: ['enqueued', 'processing'] }],
    ['indexUids: one', { indexUids: ['index-7'] }],
    ['indexUids: many', { indexUids: Array.from({ length: 25 }, (_, i) => `index-${i}`) }],
    ['indexUids: unknown', { indexUids: ['nowhere'] }],
    ['visible to a key', { visibleIndexes: ['index-1*'] }],
    ['beforeEnqueuedAt', { beforeEnqueuedAt: at(middle) }],
    ['afterEnqueuedAt', { afterEnqueuedAt: at(middle) }],
    ['beforeStartedAt', { beforeStartedAt: at(middle) }],
    ['afterStartedAt', { afterStartedAt: at(middle) }],
    ['beforeFinishedAt', { beforeFinishedAt: at(middle) }],
    ['afterFinishedAt', { afterFinishedAt: at(middle) }],
    ['index and status', { indexUids: ['index-7'], statuses: ['failed'] }],
    ['index and type', { indexUids: ['index-7'], types: ['settingsUpdate'] }],
    ['type and status', { types: ['documentAdditionOrUpdate'], statuses: ['failed', 'canceled'] }],
    [
      'visible, type and status',
      { visibleIndexes: ['index-*'], types: ['settingsUpdate'], statuses: ['failed'] },
    ],
    [
      'index and dates of arrival',
      { indexUids: ['index-7'], afterEnqueuedAt: at(9), beforeEnqueuedAt: at(middle) },
    ],
    [
      'index and dates of running',
      { indexUids: ['index-7'], afterStartedAt: at(9), beforeFinishedAt: at(middle) },
    ],
    ['index, type and status', { indexUids: ['index-7'], types: ['settingsUpdate'], statuses: ['failed'] }],
    [
      'status and dates',
      { statuses: ['failed'], afterEnqueuedAt: at(middle), beforeFinishedAt: at(middle + 9_000) },
    ],
  ]
}
