import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { open } from '../../ts/index.js'
import { loadDriver } from '../../ts/sqlite/driver.js'
import { type EngineKind, engineKinds, opened, temporary } from '../support/damaged-directory.js'

// If files of an index are missing or too short:
// 1. The index counts as damaged. Older or empty data is never served, and the index is not created again.
// 2. The server and other indexes continue.
// 3. A commit that was not recorded yet is no damage.
// 4. If the file `engine` is lost, the engine is detected from the files of the indexes.

/** Creates two indexes, the first with three commits. */
async function built(directory: string, engine: EngineKind): Promise<void> {
  const siftd = await open({ directory, engine, logLevel: 'OFF' })
  for (const [uid, id] of [
    ['boats', 1],
    ['lakes', 1],
    ['boats', 2],
    ['boats', 3],
  ] as const) {
    await siftd.waitForTask((await siftd.index(uid).addDocuments([{ id, name: `${uid} ${id}` }])).taskUid)
  }
  await siftd.close()
}

const samples = await mkdtemp(join(tmpdir(), 'siftd-missing-'))
for (const engine of engineKinds) await built(join(samples, engine), engine)
test.after.always(() => rm(samples, { recursive: true, force: true }))

/** Copies that instance. Also returns the directory of its first index. */
async function sample(t: ExecutionContext, engine: EngineKind) {
  const directory = join(await temporary(t), 'data')
  await cp(join(samples, engine), directory, { recursive: true })
  const siftd = await opened(t, directory)
  const id = siftd.indexes().find(({ uid }) => uid === 'boats')?.id ?? ''
  await siftd.close()
  return { directory, index: join(directory, 'indexes', id) }
}

type Damage = (index: string) => Promise<unknown>

const commitsIn = async (index: string) =>
  (await readdir(index)).filter((name) => name.startsWith('commit-')).sort()

const log = (index: string) => join(index, 'commits.log')

const damages: Readonly<Record<EngineKind, Readonly<Record<string, Damage>>>> = {
  native: {
    'its directory deleted': (index) => rm(index, { recursive: true }),
    'its newest commit deleted': async (index) => rm(join(index, (await commitsIn(index)).at(-1) ?? '')),
    'all its commits deleted': async (index) => {
      for (const name of await commitsIn(index)) await rm(join(index, name))
    },
  },
  fallback: {
    'its directory deleted': (index) => rm(index, { recursive: true }),
    'its log deleted': (index) => rm(log(index)),
    'its log emptied': (index) => truncate(log(index), 0),
    'its log cut by ten bytes': async (index) =>
      truncate(log(index), (await readFile(log(index))).length - 10),
    'a bit flipped in the last commit of its log': async (index) => {
      const content = await readFile(log(index))
      content[content.length - 10]! ^= 1
      await writeFile(log(index), content)
    },
  },
}

for (const engine of engineKinds) {
  for (const [name, damage] of Object.entries(damages[engine])) {
    test(`${engine}: an index with ${name} is damaged, the other one continues`, async (t) => {
      const { directory, index } = await sample(t, engine)
      await damage(index)
      const left = await readFile(log(index)).catch(() => null)
      // The second start must reach the same result as the first.
      for (const start of ['first', 'second']) {
        const siftd = await opened(t, directory)
        const boats = siftd.index('boats')
        await t.throwsAsync(boats.search('boats'), { code: 'index_damaged' }, start)
        await t.throwsAsync(boats.document(1), { code: 'index_damaged' })
        const write = await siftd.waitForTask((await boats.addDocuments([{ id: 9 }])).taskUid)
        t.is(write.error?.code, 'index_damaged')
        t.is((await siftd.index('lakes').search('lakes')).hits.length, 1)
        await siftd.close()
      }
      if (left !== null && left.length > 0)
        t.deepEqual(await readFile(log(index)), left, 'the log was not truncated')
      const siftd = await opened(t, directory)
      t.is((await siftd.waitForTask((await siftd.index('boats').delete()).taskUid)).status, 'succeeded')
      await siftd.waitForTask((await siftd.index('boats').addDocuments([{ id: 4 }])).taskUid)
      t.deepEqual(await siftd.index('boats').document(4), { id: 4 })
    })
  }

  test(`${engine}: a commit that was not recorded is no damage`, async (t) => {
    const { directory, index } = await sample(t, engine)
    const later = await opened(t, directory)
    const store = join(directory, 'tasks')
    await cp(store, `${store}.before`, { recursive: true })
    await later.waitForTask((await later.index('boats').addDocuments([{ id: 4 }])).taskUid)
    await later.close()
    await rm(store, { recursive: true })
    await cp(`${store}.before`, store, { recursive: true })
    await rm(join(store, 'lock'))
    // The mark names a transaction that is missing in the older store.
    await rm(join(directory, 'tasks.mark'))
    t.true((await readdir(index)).length > 0)
    const siftd = await opened(t, directory)
    t.deepEqual(await siftd.index('boats').document(4), { id: 4 })
  })

  test(`${engine}: if the file \`engine\` is lost, the engine is detected from the index files`, async (t) => {
    for (const damage of [(file: string) => rm(file), (file: string) => truncate(file, 3)]) {
      const { directory } = await sample(t, engine)
      await damage(join(directory, 'engine'))
      const siftd = await opened(t, directory)
      t.is(siftd.engine, engine)
      t.is((await siftd.index('boats').search('boats')).hits.length, 3)
      t.is(await readFile(join(directory, 'engine'), 'utf8'), engine)
    }
  })

  test(`${engine}: with a catalogue of an earlier version, every index must have a commit`, async (t) => {
    const { directory, index } = await sample(t, engine)
    const connection = loadDriver('node-sqlite3-wasm').driver.open(join(directory, 'tasks', 'tasks.db'))
    connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    connection.exec('UPDATE catalogue SET last_batch = NULL')
    connection.close()
    await rm(join(directory, 'tasks.mark'))
    await rm(index, { recursive: true })
    const siftd = await opened(t, directory)
    await t.throwsAsync(siftd.index('boats').search('boats'), { code: 'index_damaged' })
    t.is((await siftd.index('lakes').search('lakes')).hits.length, 1)
  })
}

test('if the engine cannot be detected from the index files, it must be given', async (t) => {
  const { directory, index } = await sample(t, 'fallback')
  await rm(join(directory, 'engine'))
  for (const name of await readdir(join(index, '..')))
    if (name.includes('-')) await rm(log(join(index, '..', name)))
  await t.throwsAsync(opened(t, directory), { message: /engine is missing or damaged.*--engine native or/ })
  const siftd = await opened(t, directory, 'fallback')
  await t.throwsAsync(siftd.index('boats').search('boats'), { code: 'index_damaged' })
})
