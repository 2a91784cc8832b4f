/**
 * Servers of this version use the log, the copies and the leaders' directories of the formats that they must read: this
 * one and the one before.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { decodeRecord, LOG_FORMAT, Log, openCopy, recordKey } from '../../ts/replication/index.js'
import { decodeBody } from '../../ts/replication/log/body.js'
import { instance, restoredFrom, shipAll, shipping } from '../replication/instance-world.js'
import { testedEngines } from '../support/engines.js'
import { never, noRepeating } from '../support/memory-store.js'
import { testNeeding } from '../support/test-needing.js'
import { add, ended, temporaryDirectory } from '../tasks/test-queue.js'
import { ANSWERS, bucketIn, contentOf, folders, indexFormatIn, nameOf } from './log.js'

// Compiled tests are in dist/, the logs next to the sources.
const home = join(import.meta.dirname, '../../../__test__/compat')

test('only logs of this format and the one before are stored', (t) => {
  const stored = readdirSync(home).flatMap((name) => /^log-(\d+)-/.exec(name)?.[1] ?? [])
  const formats = [...new Set(stored.map(Number))].sort((one, other) => one - other)
  t.deepEqual(formats, LOG_FORMAT === 1 ? [1] : [LOG_FORMAT - 1, LOG_FORMAT])
})

for (const tested of testedEngines)
  for (const format of [LOG_FORMAT - 1, LOG_FORMAT]) {
    const name = nameOf(format, tested.name)
    const folder = join(home, name)
    if (!existsSync(folder)) continue
    const run = testNeeding(tested.needs, test)
    const answers: unknown = JSON.parse(readFileSync(join(folder, ANSWERS), 'utf8'))

    run(`${name}: an empty directory is filled from the bucket`, async (t) => {
      const directory = await temporaryDirectory(t)
      await restoredFrom(await bucketIn(join(folder, folders.bucket)), directory)
      t.deepEqual(await contentOf(await instance(t, tested, directory, {})), answers)
    })

    run(`${name}: a copy follows on`, async (t) => {
      const directory = join(await temporaryDirectory(t), 'copy')
      await cp(join(folder, folders.copy), directory, { recursive: true })
      const store = await bucketIn(join(folder, folders.bucket))
      const log = new Log({ store, ...noRepeating })
      const setup = { log, store, repeating: noRepeating, directory, until: null, progress: () => undefined }
      const { copy, replica, target } = await openCopy(setup, never)
      t.true(copy.position >= 0)
      while (!(await copy.advance(target, never)));
      await replica.close()
      t.deepEqual(await contentOf(await instance(t, tested, directory, {})), answers)
    })

    run(`${name}: a leader leads on, in the format of this version`, async (t) => {
      const base = await temporaryDirectory(t)
      const directory = join(base, 'leader')
      await cp(join(folder, folders.leader), directory, { recursive: true })
      const store = await bucketIn(join(folder, folders.bucket))
      const before = Math.max(...recordsIn(store))
      const leader = await instance(t, tested, directory)
      leader.opened.start()
      const sent = await shipping(leader, store)
      for (const uid of leader.opened.tasks.indexes().map((index) => index.uid))
        await ended(leader.opened.tasks, (await add(leader.opened.tasks, uid, [{ id: 9 }])).taskUid)
      await shipAll(leader, sent)
      const content = await contentOf(leader)
      t.notDeepEqual(content, answers)
      const restored = join(base, 'restored')
      await restoredFrom(store, restored)
      t.deepEqual(await contentOf(await instance(t, tested, restored, {})), content)
      const written = recordsIn(store).filter((seq) => seq > before)
      t.true(written.length > 1)
      for (const seq of written) t.is(store.objects.get(recordKey(seq))![4], LOG_FORMAT)
      // Servers of the version before cannot use rows or index files of another version: the log has another format too.
      const rowsOf = (seq: number) =>
        decodeBody(seq, decodeRecord(store.objects.get(recordKey(seq))!).body).schema
      const isSame = rowsOf(before) === rowsOf(Math.max(...written))
      const isSameIndex =
        (await indexFormatIn(join(folder, folders.leader), tested.name)) ===
        (await indexFormatIn(directory, tested.name))
      t.true(format < LOG_FORMAT || (isSame && isSameIndex), 'increment LOG_FORMAT')
    })
  }

const recordsIn = ({ objects }: Awaited<ReturnType<typeof bucketIn>>): readonly number[] =>
  [...objects.keys()].flatMap((key) => (key.startsWith('log/') ? Number(key.slice('log/'.length)) : []))
