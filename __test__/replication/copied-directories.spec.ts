/** Two copies of a data directory, as on cloned machines, that use the same bucket. */
import { cp, readdir, readFile, rename, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import test from 'ava'
import { endSettingAside, setAside } from '../../ts/replication/follow/copy-directory.js'
import { SupersededError } from '../../ts/replication/index.js'
import { fallback } from '../support/engines.js'
import { memoryStore } from '../support/memory-store.js'
import { add, temporaryDirectory } from '../tasks/test-queue.js'
import { instance, makeCheckpoint, shipAll, shipping } from './instance-world.js'

for (const behind of ['a log record', 'a checkpoint'])
  test(`a data directory whose copy has sent ${behind} since is refused as superseded`, async (t) => {
    const directory = await temporaryDirectory(t)
    const [one, other] = ['one', 'other'].map((name) => join(directory, name)) as [string, string]
    const store = memoryStore()
    const first = await instance(t, fallback, one)
    await add(first.opened.tasks, 'a', [{ id: 1 }])
    await shipAll(first, await shipping(first, store))
    await first.close()
    await cp(one, other, { recursive: true })

    const twin = await instance(t, fallback, other)
    const sending = await shipping(twin, store)
    await add(twin.opened.tasks, 'a', [{ id: 2, of: 'the twin' }])
    await shipAll(twin, sending)
    if (behind === 'a checkpoint') await makeCheckpoint(sending)
    await twin.close()

    // Its transactions have the same numbers as those that the twin has sent.
    const again = await instance(t, fallback, one)
    await add(again.opened.tasks, 'a', [{ id: 2, of: 'the first' }])
    await again.opened.instance.putValue('end', true)
    const { isBehind } = await t.throwsAsync(shipping(again, store), { instanceOf: SupersededError })
    t.true(isBehind)
  })

test('data is set aside completely although the process ended meanwhile', async (t) => {
  const directory = await temporaryDirectory(t)
  for (const name of ['instance-uid', 'indexes', 'tasks', 'VERSION'])
    await writeFile(join(directory, name), `the ${name}`)
  await endSettingAside(directory)
  const aside = await setAside(directory, 7, 1)
  for (const name of ['tasks', 'instance-uid']) await rename(join(aside, name), join(directory, name))
  await writeFile(join(directory, 'setting-aside'), basename(aside))
  await endSettingAside(directory)
  t.deepEqual(await readdir(directory), [basename(aside)])
  t.deepEqual((await readdir(aside)).toSorted(), [
    'VERSION',
    'diverged.json',
    'indexes',
    'instance-uid',
    'tasks',
  ])
  await writeFile(join(directory, 'tasks'), 'of the copy')
  await endSettingAside(directory)
  t.deepEqual((await readdir(directory)).toSorted(), [basename(aside), 'tasks'])
})

test('only the newest directories with set-aside data are kept', async (t) => {
  const directory = await temporaryDirectory(t)
  const made: string[] = []
  for (let epoch = 1; epoch <= 5; epoch++) {
    await writeFile(join(directory, 'data'), `of ${epoch}`)
    const aside = await setAside(directory, epoch, 1)
    // Directories made within one clock tick of the file system would have the same date.
    await utimes(join(aside, 'diverged.json'), epoch, epoch)
    made.push(basename(aside))
  }
  t.deepEqual((await readdir(directory)).toSorted(), made.slice(2))
  t.is(await readFile(join(directory, made.at(-1)!, 'data'), 'utf8'), 'of 5')
})
