import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { saveBeforeOpening } from '../../ts/sqlite/checkpoints.js'
import { driverNames, loadDriver } from '../../ts/sqlite/driver.js'
import { MarkWriter } from '../../ts/sqlite/mark.js'
import { openRestore, openTasks, type TaskFilter } from '../../ts/tasks/index.js'
import { inspectStore } from '../../ts/tasks/store/completeness.js'
import { markPath } from '../../ts/tasks/store/paths.js'
import { SCHEMA_VERSION } from '../../ts/tasks/store/schema.js'
import { openFake } from './fake-engine.js'
import { storedSets } from './sets.js'
import { ended, quiet, temporaryDirectory, testQueue } from './test-queue.js'

// Task stores of other versions:
// 1. A store of version 3 opens, lists the same tasks, and runs the waiting ones.
// 2. A store of version 5, the last without checksums, gets them when it is opened, even if that is interrupted.
// 3. A store of a later version is refused and not changed.

/** Creates a data directory with a task store made by this SQL. */
async function directoryOf(t: ExecutionContext, sql: string): Promise<string> {
  const directory = await temporaryDirectory(t)
  await mkdir(join(directory, 'tasks'))
  const connection = loadDriver('libsql').driver.open(join(directory, 'tasks', 'tasks.db'))
  connection.exec(sql)
  connection.close()
  return directory
}

const sqlOf = (version: number) =>
  readFile(new URL(`../../../__test__/compat/tasks-${version}.sql`, import.meta.url), 'utf8')
const version3 = () => sqlOf(3)

/** The identity and the last transaction of the store of version 5. */
const mark5 = { store: '4b3005e3-dfff-41b2-8f1c-fc0f62aacb5e', sequence: 13 }

for (const driver of driverNames.filter((name) => name !== 'node:sqlite')) {
  test(`${driver}: a store of version 3 opens, lists its tasks and runs the waiting ones`, async (t) => {
    const directory = await directoryOf(t, await version3())
    const { tasks, start, close } = await testQueue(t, { directory, driver })
    const cases: readonly (readonly [TaskFilter, readonly number[], readonly number[]])[] = [
      [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [0, 1, 2, 3, 4, 5, 6, 7]],
      [{ statuses: ['failed', 'enqueued'] }, [1, 10], [0]],
      [{ indexUids: ['trains'] }, [1], [0]],
      [{ indexUids: ['ships'] }, [3, 5], [2, 4]],
      [{ types: ['taskCancelation'] }, [8], [5]],
      [{ canceledBy: [8] }, [6], [5]],
      [{ batchUids: [5] }, [6, 8], [5]],
      [{ afterFinishedAt: '2001-01-01T00:00:00Z' }, [1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5, 6, 7]],
      [{ beforeEnqueuedAt: '2001-01-01T00:00:00Z' }, [], []],
    ]
    const paging = { limit: 100, from: null, reverse: true }
    for (const [filter, uids, batches] of cases) {
      const found = await tasks.list(filter, paging)
      t.deepEqual(
        found.results.map(({ uid }) => uid),
        uids,
        JSON.stringify(filter),
      )
      t.deepEqual(
        (await tasks.batches(filter, paging)).results.map(({ uid }) => uid),
        batches,
        JSON.stringify(filter),
      )
    }
    // The sample has no index directories, so the engine creates the index of the task.
    start()
    t.is((await ended(tasks, 10)).batchUid, 8)
    await close()
    const connection = loadDriver('libsql').driver.open(join(directory, 'tasks', 'tasks.db'))
    t.teardown(() => connection.close())
    t.deepEqual(connection.prepare('PRAGMA user_version').all([]), [{ user_version: SCHEMA_VERSION }])
    const { stored, real } = storedSets(
      (columns, rest) =>
        connection.prepare(`SELECT ${columns.join(', ')} ${rest}`).all([]) as ReturnType<
          Parameters<typeof storedSets>[0]
        >,
    )
    t.deepEqual(stored, real)
  })
}

const interruptions: Readonly<Record<string, (directory: string) => void>> = {
  '': () => undefined,
  ', after its checksums were written': (directory) => {
    const path = join(directory, 'tasks', 'tasks.db')
    saveBeforeOpening(path, inspectStore(directory).pages!.checksums)
  },
}
for (const driver of driverNames.filter((name) => name !== 'node:sqlite')) {
  for (const [name, interrupted] of Object.entries(interruptions)) {
    test(`${driver}: a store of version 5 gets checksums when it is opened${name}`, async (t) => {
      const directory = await directoryOf(t, await sqlOf(5))
      new MarkWriter(markPath(directory), mark5).close()
      interrupted(directory)
      const warnings: unknown[] = []
      const log = { ...quiet, warn: (facts: object) => void warnings.push(facts) }
      for (const start of ['first', 'second']) {
        const { tasks, instance, webhooks, close } = await testQueue(t, { directory, driver, log })
        const { results } = await tasks.list({}, { limit: 100, from: null, reverse: true })
        t.deepEqual(
          results.map(({ status }) => status),
          ['succeeded', 'succeeded', 'succeeded', 'enqueued'],
          start,
        )
        t.deepEqual(
          (await instance.keys()).map(({ name }) => name),
          ['search of boats'],
        )
        t.deepEqual(await instance.value('experimentalFeatures'), { containsFilter: true })
        t.deepEqual(
          (await webhooks.all()).map(({ url }) => url),
          ['https://hooks.invalid/siftd'],
        )
        await close()
        t.true(inspectStore(directory).pages?.areKnown, start)
      }
      t.deepEqual(warnings, [])
    })
  }
}

for (const version of [3, 5]) {
  test(`a foreign store of version ${version} opens, and its triggers never run`, async (t) => {
    const endless = `CREATE TRIGGER "endless ""loop" AFTER UPDATE ON batches BEGIN DELETE FROM tasks WHERE uid IN (
      WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT -x FROM n); END;`
    const directory = await directoryOf(t, `${await sqlOf(version)} ${endless}`)
    await (await openRestore(directory)).close()
    const connection = loadDriver('libsql').driver.open(join(directory, 'tasks', 'tasks.db'))
    t.teardown(() => connection.close())
    const triggers = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name")
    t.deepEqual(
      triggers.all([]).map(({ name }) => name),
      ['swap_added', 'swap_removed', 'swap_renamed'],
    )
  })

  test(`a foreign store of version ${version} with computed columns is refused`, async (t) => {
    for (const definition of [
      'ALTER TABLE keys ADD COLUMN extra INTEGER CHECK (length(randomblob(1000000)) > 0)',
      'ALTER TABLE keys ADD COLUMN extra INTEGER AS (abs(1))',
      'CREATE INDEX extra ON tasks (abs(uid))',
      'CREATE VIEW extra AS SELECT 1',
    ]) {
      const directory = await directoryOf(t, `${await sqlOf(version)} ${definition};`)
      await t.throwsAsync(openRestore(directory), { message: /not written by siftd/ }, definition)
    }
  })
}

test('a store of a later version is refused and not changed', async (t) => {
  const later = `${await version3()} PRAGMA user_version = ${SCHEMA_VERSION + 1};`
  const directory = await directoryOf(t, later)
  const path = join(directory, 'tasks', 'tasks.db')
  const before = await readFile(path)
  const engine = await openFake(join(directory, 'indexes'))
  await t.throwsAsync(openTasks({ directory, engine, log: quiet }), {
    message: new RegExp(`version ${SCHEMA_VERSION + 1}, this program reads version ${SCHEMA_VERSION}`),
  })
  t.deepEqual(await readFile(path), before)
})
