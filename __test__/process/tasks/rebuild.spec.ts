import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { open, type Siftd } from '../../../ts/index.js'
import { loadDriver } from '../../../ts/sqlite/driver.js'
import { openRestore, openTasks, rebuildTaskStore } from '../../../ts/tasks/index.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { asKilled, type EngineKind, engineKinds, opened, temporary } from '../../support/damaged-directory.js'
import type { TestBody } from '../../support/server.js'
import { openFake } from '../../tasks/fake-engine.js'
import { quiet } from '../../tasks/test-queue.js'

// Rules of --rebuild-task-store:
// 1. Every index comes back under its last name, with settings and documents.
// 2. New tasks and batches have uids above those in commits, so that no new task counts as done.
// 3. The old store is set aside. Its undamaged keys are kept.
// 4. A complete store is not changed.

const at = '2026-11-24T06:00:00Z'

async function settled(siftd: Siftd, task: Promise<{ readonly taskUid: number }>): Promise<void> {
  await siftd.waitForTask((await task).taskUid)
}

/** Builds three indexes, one with settings, one deleted and recreated. All data of the task store is in its log. */
async function killed(t: ExecutionContext, engine: EngineKind): Promise<string> {
  const directory = await temporary(t)
  const siftd = await opened(t, directory, engine)
  for (const uid of ['boats', 'lakes', 'ferries'])
    await settled(siftd, siftd.index(uid).addDocuments([{ id: 1, name: uid }], { primaryKey: 'id' }))
  await settled(siftd, siftd.index('lakes').updateSettings({ filterableAttributes: ['name'] }))
  await settled(siftd, siftd.index('ferries').delete())
  await settled(siftd, siftd.index('ferries').addDocuments([{ id: 7, name: 'anew' }], { primaryKey: 'id' }))
  return asKilled(t, directory)
}

const rebuilt = async (t: ExecutionContext, directory: string): Promise<Siftd> => {
  const siftd = await open({ directory, logLevel: 'OFF', rebuildTaskStore: true })
  t.teardown(() => siftd.close().catch(() => undefined))
  return siftd
}

const losses: Readonly<Record<string, (directory: string) => Promise<unknown>>> = {
  'without its log': (directory) => rm(join(directory, 'tasks', 'tasks.db-wal')),
  'that is missing': (directory) => rm(join(directory, 'tasks'), { recursive: true }),
  'that is damaged': async (directory) => {
    await rm(join(directory, 'tasks', 'tasks.db-wal'))
    await writeFile(join(directory, 'tasks', 'tasks.db'), 'x'.repeat(10_000))
  },
}

for (const engine of engineKinds) {
  for (const [name, lose] of Object.entries(losses)) {
    test(`${engine}: a task store ${name} is rebuilt from the indexes`, async (t) => {
      const directory = await killed(t, engine)
      await lose(directory)
      await t.throwsAsync(opened(t, directory), { message: /--rebuild-task-store/ })
      const siftd = await rebuilt(t, directory)
      t.deepEqual(
        siftd.indexes().map(({ uid, primaryKey }) => [uid, primaryKey]),
        [
          ['boats', 'id'],
          ['ferries', 'id'],
          ['lakes', 'id'],
        ],
      )
      t.deepEqual(await siftd.index('ferries').document(7), { id: 7, name: 'anew' })
      t.is((await siftd.index('lakes').search(null, { filter: 'name = lakes' })).hits.length, 1)
      const { taskUid } = await siftd.index('boats').addDocuments([{ id: 2, name: 'new' }])
      t.true(taskUid >= 6, `the new task is ${taskUid}`)
      t.is((await siftd.waitForTask(taskUid)).status, 'succeeded')
      t.is((await siftd.index('boats').search('new')).hits.length, 1)
      await siftd.close()
      const [aside = ''] = await readdir(join(directory, 'lost'))
      t.true((await readdir(join(directory, 'lost', aside))).includes('tasks'))
      const again = await opened(t, directory)
      t.is((await again.index('boats').search('new')).hits.length, 1)
      t.is((await readdir(join(directory, 'lost'))).length, 1)
    })
  }

  test(`${engine}: a new task after a rebuild is not mistaken for a committed one`, async (t) => {
    const directory = await killed(t, engine)
    await rm(join(directory, 'tasks', 'tasks.db-wal'))
    await (await rebuilt(t, directory)).close()
    const held = await startDaemon(t, directory, ['--experimental-max-number-of-batched-tasks', '0'])
    await held.call('POST', '/indexes/boats/documents', [{ id: 5, name: 'waited' }])
    await held.kill()
    const siftd = await opened(t, directory)
    while ((await siftd.index('boats').document(5)) === null)
      await new Promise((next) => setTimeout(next, 10))
    t.like(await siftd.index('boats').document(5), { name: 'waited' })
  })

  test(`${engine}: without the catalogue file indexes get the names from their commits`, async (t) => {
    const directory = await killed(t, engine)
    await rm(join(directory, 'tasks'), { recursive: true })
    await rm(join(directory, 'indexes', 'catalogue.json'))
    const siftd = await rebuilt(t, directory)
    t.deepEqual(
      siftd.indexes().map(({ uid }) => uid),
      ['boats', 'ferries', 'lakes'],
    )
    t.deepEqual(await siftd.index('ferries').document(7), { id: 7, name: 'anew' })
  })
}

test('a rebuild keeps the keys of the old store, and does not change a complete store', async (t) => {
  const directory = await temporary(t)
  const masterKey = 'a-key-of-more-than-sixteen-bytes'
  const options = ['--engine', 'fallback', '--log-level', 'error', '--master-key', masterKey]
  const call = async ({ port }: TestDaemon, path: string, body?: object): Promise<TestBody> => {
    const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' }
    const sent = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
    return (await (await fetch(`http://127.0.0.1:${port}${path}`, sent)).json()) as TestBody
  }
  const keys = async (daemon: TestDaemon) =>
    (await call(daemon, '/keys')).results.map(({ uid }) => uid).sort()
  const first = await startDaemon(t, directory, options)
  await call(first, '/indexes', { uid: 'boats' })
  while ((await call(first, '/tasks/0')).status !== 'succeeded') await new Promise(setImmediate)
  const before = await keys(first)
  await first.stop()
  const store = join(directory, 'tasks', 'tasks.db')
  const content = await readFile(store)
  // Changes the last transaction number in the header, so that the store is refused as incomplete.
  content.writeInt32BE(1, 68)
  await writeFile(store, content)
  const second = await startDaemon(t, directory, [...options, '--rebuild-task-store'])
  t.deepEqual(await keys(second), before)
  t.is((await call(second, '/indexes/boats')).uid, 'boats')
  await second.stop()
  const third = await startDaemon(t, directory, [...options, '--rebuild-task-store'])
  t.deepEqual(await keys(third), before)
  t.is((await readdir(join(directory, 'lost'))).length, 1, 'a complete store is not set aside')
})

test('a rebuild drops a key with a flipped bit and keeps the others', async (t) => {
  const directory = await temporary(t)
  const store = await openRestore(directory)
  const key = {
    description: null,
    actions: ['search'],
    indexes: ['*'],
    expiresAt: null,
    createdAt: at,
    updatedAt: at,
  }
  for (const [digit, name] of [...'abc'].entries())
    await store.key({ ...key, uid: `6a1b7a60-6a3c-4c5e-9d5f-6c1e0a2b3c4${digit}`, name })
  await store.end()
  await store.close()
  const path = join(directory, 'tasks', 'tasks.db')
  const content = await readFile(path)
  // Flips a bit in the name of the second key.
  content[content.indexOf('"name":"b"') + 8]! ^= 1
  await writeFile(path, content)
  const engine = await openFake(join(directory, 'indexes'))
  const setup = { directory, engine, log: quiet }
  await t.throwsAsync(openTasks(setup), {
    message: /is damaged: page \d+ of its file is not what was written/,
  })
  const { salvaged } = await rebuildTaskStore(directory, engine)
  t.deepEqual(salvaged, { keys: 2, webhooks: 0, values: 0, damaged: 1 })
  const { instance, close } = await openTasks(setup)
  t.deepEqual(
    (await instance.keys()).map(({ name }) => name),
    ['a', 'c'],
  )
  await close()
})

test('a key changed behind the server is reported with its row', async (t) => {
  const directory = await temporary(t)
  const store = await openRestore(directory)
  await store.key({
    uid: 'k',
    name: 'a',
    description: null,
    actions: [],
    indexes: [],
    expiresAt: null,
    createdAt: at,
    updatedAt: at,
  })
  await store.end()
  await store.close()
  const connection = loadDriver('node-sqlite3-wasm').driver.open(join(directory, 'tasks', 'tasks.db'))
  connection.exec('PRAGMA locking_mode = EXCLUSIVE')
  connection.exec(`UPDATE keys SET body = replace(body, '"indexes":[]', '"indexes":["*"]')`)
  connection.close()
  // Without a mark the pages of the store are not checked.
  await rm(join(directory, 'tasks.mark'))
  const engine = await openFake(join(directory, 'indexes'))
  const { instance, close } = await openTasks({ directory, engine, log: quiet })
  await t.throwsAsync(instance.keys(), { message: /the row `k` of its table `keys` is not what was written/ })
  await close()
})

test('an interrupted rebuild starts again', async (t) => {
  const directory = await killed(t, 'fallback')
  await rm(join(directory, 'tasks'), { recursive: true })
  const half = join(directory, 'tasks.rebuilding', 'tasks')
  await mkdir(half, { recursive: true })
  await writeFile(join(half, 'tasks.db'), 'half of a store')
  await t.throwsAsync(opened(t, directory), { message: /--rebuild-task-store/ })
  const siftd = await rebuilt(t, directory)
  t.is(siftd.indexes().length, 3)
  t.false((await readdir(directory)).includes('tasks.rebuilding'))
})
