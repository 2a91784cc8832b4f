import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { open } from '../../../ts/index.js'
import { loadDriver } from '../../../ts/sqlite/driver.js'
import { openStoreClient } from '../../../ts/tasks/store/store-client.js'
import { startDaemon } from '../../support/daemon.js'
import {
  asKilled,
  contentOf,
  type EngineKind,
  engineKinds,
  opened,
  temporary,
} from '../../support/damaged-directory.js'

// An incomplete task store with intact indexes:
// 1. A store that is missing, empty, of another instance or older than an acknowledged write refuses the start with a
//    one-line message.
// 2. A refused start changes no byte of the directory.
// 3. A complete store opens, even if its log has garbage after the last transaction.
// 4. An index directory without an index is moved to `lost/`. The directory of a deleted index is removed.

/**
 * Builds an instance with three indexes of two documents, as left by a kill and by a shutdown. After the kill all data
 * of the task store is in its log.
 */
async function built(directory: string, engine: EngineKind): Promise<void> {
  const siftd = await open({ directory: join(directory, 'stopped'), engine, logLevel: 'OFF' })
  for (const uid of ['boats', 'ferries', 'lakes']) {
    const { taskUid } = await siftd.index(uid).addDocuments([{ id: 1 }, { id: 2 }])
    await siftd.waitForTask(taskUid)
  }
  // The index catalogue may still be in writing. Its temporary file ends in `.new`.
  const filter = (path: string) => !path.endsWith('.new')
  await cp(join(directory, 'stopped'), join(directory, 'killed'), { recursive: true, filter })
  await rm(join(directory, 'killed', 'tasks', 'lock'))
  await siftd.close()
}

const samples = await mkdtemp(join(tmpdir(), 'siftd-lost-'))
for (const engine of engineKinds) await built(join(samples, engine), engine)
test.after.always(() => rm(samples, { recursive: true, force: true }))

type Ending = 'killed' | 'stopped'

/** Copies that instance. */
async function sample(t: ExecutionContext, engine: EngineKind, ending: Ending): Promise<string> {
  const directory = join(await temporary(t), 'data')
  await cp(join(samples, engine, ending), directory, { recursive: true })
  return directory
}

const killed = (t: ExecutionContext, engine: EngineKind) => sample(t, engine, 'killed')
const stopped = (t: ExecutionContext, engine: EngineKind) => sample(t, engine, 'stopped')

/** Changes a store without the server, with an SQLite build that closes the file at once. */
function change(directory: string, sql: string): void {
  const connection = loadDriver('node-sqlite3-wasm').driver.open(store(directory))
  connection.exec('PRAGMA locking_mode = EXCLUSIVE')
  connection.exec(sql)
  connection.close()
}

const inStore = (name: string) => (directory: string) => join(directory, 'tasks', name)
const store = inStore('tasks.db')
const log = inStore('tasks.db-wal')

async function flip(path: string, at: (bytes: number) => number): Promise<void> {
  const content = await readFile(path)
  const position = at(content.length)
  content[position] = content[position]! ^ 1
  await writeFile(path, content)
}

/** Replaces the store with that of another instance. */
async function exchange(t: ExecutionContext, directory: string): Promise<void> {
  const other = await temporary(t)
  await (await opened(t, other, 'fallback')).close()
  await rename(store(other), store(directory))
}

type Fault = (directory: string, t: ExecutionContext) => Promise<unknown>
const faults: Readonly<Record<string, readonly [Ending, Fault]>> = {
  'its log deleted': ['killed', (directory) => rm(log(directory))],
  'its log emptied': ['killed', (directory) => truncate(log(directory), 0)],
  'its log cut in half': [
    'killed',
    async (directory) => truncate(log(directory), Math.floor((await readFile(log(directory))).length / 2)),
  ],
  'a bit flipped half-way in its log': ['killed', (directory) => flip(log(directory), (bytes) => bytes >> 1)],
  'a bit flipped in the header of its log': ['killed', (directory) => flip(log(directory), () => 20)],
  'its files deleted': [
    'killed',
    async (directory) => {
      await rm(store(directory))
      await rm(log(directory))
    },
  ],
  'its directory deleted': ['killed', (directory) => rm(join(directory, 'tasks'), { recursive: true })],
  'its directory deleted after a stop': [
    'stopped',
    (directory) => rm(join(directory, 'tasks'), { recursive: true }),
  ],
  'its file deleted after a stop': ['stopped', (directory) => rm(store(directory))],
  'its file emptied after a stop': ['stopped', (directory) => truncate(store(directory), 0)],
  'its file cut in half after a stop': ['stopped', (directory) => truncate(store(directory), 50_000)],
  'a bit flipped in its file after a stop': [
    'stopped',
    (directory) => flip(store(directory), (bytes) => bytes - 5),
  ],
  'its header overwritten after a stop': ['stopped', (directory) => flip(store(directory), () => 3)],
  'the store of another instance after a stop': ['stopped', (directory, t) => exchange(t, directory)],
}

for (const engine of engineKinds) {
  for (const [name, [ending, damage]] of Object.entries(faults)) {
    test(`${engine}: a task store with ${name} refuses the start, and nothing is changed`, async (t) => {
      const directory = await sample(t, engine, ending)
      await damage(directory, t)
      const before = await contentOf(directory)
      const error = await t.throwsAsync(opened(t, directory), { name: 'LaunchError' })
      t.regex(
        error.message,
        /^the task store \S+tasks\.db [^\n]+\. Nothing was changed\. [^\n]+--import-dump[^\n]+$/,
      )
      t.deepEqual(await contentOf(directory), before)
    })
  }

  test(`${engine}: an older state of the task store refuses the start`, async (t) => {
    const directory = await stopped(t, engine)
    const older = await readFile(store(directory))
    const siftd = await opened(t, directory)
    await siftd.waitForTask((await siftd.index('boats').addDocuments([{ id: 3 }])).taskUid)
    await siftd.close()
    await writeFile(store(directory), older)
    const before = await contentOf(directory)
    await t.throwsAsync(opened(t, directory), {
      message: /ends at transaction \d+, though \d+ transactions were acknowledged/,
    })
    t.deepEqual(await contentOf(directory), before)
  })

  test(`${engine}: an older copy of the tasks folder refuses the start`, async (t) => {
    const directory = await stopped(t, engine)
    const [tasks, older] = [join(directory, 'tasks'), join(directory, 'older')]
    await cp(tasks, older, { recursive: true })
    const siftd = await opened(t, directory)
    await siftd.waitForTask((await siftd.index('boats').addDocuments([{ id: 3 }])).taskUid)
    await siftd.close()
    await rm(tasks, { recursive: true })
    await rename(older, tasks)
    const before = await contentOf(directory)
    await t.throwsAsync(opened(t, directory), {
      message: /ends at transaction \d+, though \d+ transactions were acknowledged/,
    })
    t.deepEqual(await contentOf(directory), before)
  })

  test(`${engine}: a directory without an index is moved to lost/ unchanged`, async (t) => {
    const directory = await stopped(t, engine)
    const [id = ''] = await directoriesIn(join(directory, 'indexes'))
    const before = await contentOf(join(directory, 'indexes', id))
    change(directory, `DELETE FROM catalogue WHERE id = '${id}'`)
    await rm(join(directory, 'tasks.mark'))
    const siftd = await opened(t, directory)
    t.is(siftd.indexes().length, 2)
    const [lost = ''] = await readdir(join(directory, 'lost'))
    t.true(lost.startsWith(`${id}-`))
    t.deepEqual(await contentOf(join(directory, 'lost', lost)), before)
  })

  test(`${engine}: a leftover directory of a deleted index is removed at the start`, async (t) => {
    const directory = await stopped(t, engine)
    const siftd = await opened(t, directory)
    const before = await directoriesIn(join(directory, 'indexes'))
    const dropped = siftd.indexes().find(({ uid }) => uid === 'boats')?.id ?? ''
    const earlier = await asKilled(t, directory)
    await siftd.waitForTask((await siftd.index('boats').delete()).taskUid)
    const later = await asKilled(t, directory)
    // Simulates a kill between the record of the deletion and the removal of the directory.
    await rm(join(later, 'indexes', dropped), { recursive: true, force: true })
    await rename(join(earlier, 'indexes', dropped), join(later, 'indexes', dropped))
    const store = await openStoreClient(
      {
        directory: later,
        isNew: false,
        isCompared: false,
        driver: null,
        reserveBytes: 0,
        storeBytesMax: 1e9,
      },
      () => undefined,
    )
    await store.call('announce', [dropped])
    await store.close()
    const again = await opened(t, later)
    t.is(again.indexes().length, 2)
    t.deepEqual(
      [...(await directoriesIn(join(later, 'indexes')))].sort(),
      before.filter((id) => id !== dropped).sort(),
    )
    t.false((await readdir(later)).includes('lost'))
  })
}

const directoriesIn = async (path: string): Promise<readonly string[]> =>
  (await readdir(path, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

test('a missing or damaged mark of a complete store is rewritten', async (t) => {
  const directory = await stopped(t, 'fallback')
  const mark = join(directory, 'tasks.mark')
  for (const damage of [() => rm(mark), () => flip(mark, () => 12)]) {
    await damage()
    const siftd = await opened(t, directory)
    t.is(siftd.indexes().length, 3)
    await siftd.close()
    t.regex(await readFile(mark, 'utf8'), /^\{.*\} [0-9a-f]{8} *\n$/)
  }
})

test('a transaction that was never synced may be missing', async (t) => {
  const directory = await killed(t, 'fallback')
  const content = await readFile(log(directory))
  await writeFile(log(directory), Buffer.concat([content, content.subarray(32, 2000)]))
  t.is((await opened(t, directory)).indexes().length, 3)
})

test('the daemon refuses an incomplete task store with a one-line message and exit code 1', async (t) => {
  const directory = await killed(t, 'fallback')
  await rm(log(directory))
  await t.throwsAsync(startDaemon(t, directory, ['--engine', 'fallback', '--log-level', 'error']), {
    message: /^the daemon exited with 1: siftd: the task store [^\n]+\n$/,
  })
})

test('a directory without tasks, mark and indexes counts as new', async (t) => {
  const directory = await stopped(t, 'fallback')
  await rm(join(directory, 'tasks.mark'))
  await rm(join(directory, 'tasks'), { recursive: true })
  await rm(join(directory, 'indexes'), { recursive: true })
  await mkdir(join(directory, 'indexes'))
  t.deepEqual((await opened(t, directory)).indexes(), [])
})
