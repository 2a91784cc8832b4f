/** Two copies of one data directory, as a cloned machine has it, keep the same bucket. */
import { cp, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import test from 'ava'
import { setAside } from '../../ts/cli/bucket/copy-directory.js'
import { SupersededError } from '../../ts/replication/index.js'
import { fallback } from '../support/engines.js'
import { memoryStore } from '../support/memory-store.js'
import { add, temporaryDirectory } from '../tasks/test-queue.js'
import { instance, makeBase, shipAll, shipping } from './instance-world.js'

for (const behind of ['an entry', 'a base'])
  test(`a copy of a data directory whose twin has sent ${behind} since does not go on as if it had`, async (t) => {
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
    if (behind === 'a base') await makeBase(sending)
    await twin.close()

    // Its transactions have the numbers of those that the twin has sent.
    const again = await instance(t, fallback, one)
    await add(again.opened.tasks, 'a', [{ id: 2, of: 'the first' }])
    await again.opened.instance.putValue('end', true)
    const { isBehind } = await t.throwsAsync(shipping(again, store), { instanceOf: SupersededError })
    t.true(isBehind)
  })

test('of the directories in which data was set aside the newest stay', async (t) => {
  const directory = await temporaryDirectory(t)
  const made: string[] = []
  for (let epoch = 1; epoch <= 5; epoch++) {
    await writeFile(join(directory, 'data'), `of ${epoch}`)
    const aside = await setAside(directory, epoch, 1)
    // Directories that are made within a tick of the clock of the file system would have one date.
    await utimes(join(aside, 'diverged.json'), epoch, epoch)
    made.push(basename(aside))
  }
  t.deepEqual((await readdir(directory)).toSorted(), made.slice(2))
  t.is(await readFile(join(directory, made.at(-1)!, 'data'), 'utf8'), 'of 5')
})
