/**
 * Faults between two steps of a writer. Rules:
 * 1. After any loss, an instance restored from the bucket has a state that existed, and works.
 * 2. A fault stops the writer from sending only while it lasts.
 */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { BucketError, type ObjectStore } from '../../../ts/replication/index.js'
import type { OutgoingChanges, OutgoingPage } from '../../../ts/tasks/index.js'
import {
  answersOf,
  hitsOf,
  type Instance,
  instance,
  makeCheckpoint,
  restoredFrom,
  shipAll,
  shipping,
} from '../../replication/instance-world.js'
import { fallback, testedEngines } from '../../support/engines.js'
import { memoryStore } from '../../support/memory-store.js'
import { testNeeding } from '../../support/test-needing.js'
import {
  add,
  deleteIds,
  drop,
  ended,
  settings,
  swap,
  temporaryDirectory,
  update,
} from '../../tasks/test-queue.js'

const never = new AbortController().signal

/** Makes a page of each transaction, like for large transactions. */
const oneByOne = (outgoing: OutgoingChanges): OutgoingChanges => ({
  ...outgoing,
  next: (_, after) => outgoing.next(0, after),
})

const done = async ({ opened }: Instance, { taskUid }: { readonly taskUid: number }): Promise<void> =>
  void (await ended(opened.tasks, taskUid))

const recordsIn = ({ objects }: ReturnType<typeof memoryStore>): number =>
  [...objects.keys()].filter((key) => key.startsWith('log/')).length

for (const tested of testedEngines) {
  const runs = testNeeding(tested.needs)

  runs(
    `${tested.name}: a writer killed before its first checkpoint is published continues its log`,
    async (t) => {
      const base = await temporaryDirectory(t)
      const directory = join(base, 'source')
      const before = await instance(t, tested, directory, {})
      before.opened.start()
      await done(before, await add(before.opened.tasks, 'a', [{ id: 1, t: 'one' }]))
      await before.close()
      const store = memoryStore()
      const first = await instance(t, tested, directory)
      first.opened.start()
      const one = await shipping(first, store)
      await done(first, await add(first.opened.tasks, 'a', [{ id: 2, t: 'two' }]))
      await makeCheckpoint(one)
      await done(first, await add(first.opened.tasks, 'a', [{ id: 3, t: 'three' }]))
      await one.shipper.ship(never)
      await first.close()
      const second = await instance(t, tested, directory)
      second.opened.start()
      const two = await shipping(second, store)
      await makeCheckpoint(two)
      await done(second, await add(second.opened.tasks, 'a', [{ id: 4, t: 'four' }]))
      await shipAll(second, two)
      await restoredFrom(store, join(base, 'restored'))
      t.deepEqual(
        await answersOf(await instance(t, tested, join(base, 'restored'), {})),
        await answersOf(second),
      )
    },
  )

  runs(`${tested.name}: a restore after a loss with a pending checkpoint has the new index`, async (t) => {
    const base = await temporaryDirectory(t)
    const source = await instance(t, tested, join(base, 'source'))
    source.opened.start()
    const store = memoryStore()
    const { shipper } = await shipping(source, store)
    await done(source, await add(source.opened.tasks, 'a', [{ id: 1, t: 'one' }]))
    await makeCheckpoint({ shipper })
    await shipper.ship(never)
    await restoredFrom(store, join(base, 'restored'))
    const made = await instance(t, tested, join(base, 'restored'), {})
    t.deepEqual(await hitsOf(made, 'a'), await hitsOf(source, 'a'))
  })

  runs(
    `${tested.name}: a batch that ends while a record is made is completely in it or not at all`,
    async (t) => {
      const base = await temporaryDirectory(t)
      const source = await instance(t, tested, join(base, 'source'))
      source.opened.start()
      let isRaced = false
      const store = memoryStore()
      const { shipper } = await shipping(source, store, {
        ...source.opened.outgoing,
        async next(charsMax, after) {
          const page = await source.opened.outgoing.next(charsMax, after)
          if (!isRaced && page !== null) {
            isRaced = true
            await done(source, await add(source.opened.tasks, 'a', [{ id: 2 }]))
          }
          return page
        },
      })
      await done(source, await add(source.opened.tasks, 'a', [{ id: 1 }]))
      await shipper.ship(never)
      const restored = join(base, 'restored')
      await restoredFrom(store, restored)
      const made = await instance(t, tested, restored, {})
      made.opened.start()
      // If the index had the batch but the task rows did not, its uid would be assigned again.
      await done(made, await add(made.opened.tasks, 'b', [{ id: 3 }]))
      await made.close()
      const again = await instance(t, tested, restored, {})
      t.deepEqual(await hitsOf(again, 'a'), await hitsOf(source, 'a'))
    },
  )

  runs(`${tested.name}: a log that ends within a large change restores the state before it`, async (t) => {
    const base = await temporaryDirectory(t)
    const source = await instance(t, tested, join(base, 'source'), {
      keepsChanges: true,
      limits: { tasksMax: 1 },
    })
    const { tasks } = source.opened
    const store = memoryStore()
    const { shipper } = await shipping(source, store, oneByOne(source.opened.outgoing))
    await add(tasks, 'a', [{ id: 1, v: 'first' }])
    await tasks.enqueue(deleteIds('a', '1'))
    await add(tasks, 'a', [{ id: 1, v: 'third' }])
    source.opened.start()
    await done(source, await add(tasks, 'gone', [{ id: 1 }]))
    await done(source, await tasks.enqueue(drop('gone')))
    const indexesNow = async (name: string): Promise<readonly string[]> => {
      const directory = join(base, name)
      await restoredFrom(store, directory)
      const made = await instance(t, tested, directory, {})
      const indexes = made.opened.tasks.indexes()
      return Promise.all(
        indexes.map(async ({ uid, id }) => {
          const hits = JSON.stringify(await hitsOf(made, uid))
          return `${uid}: ${hits}, damage: ${made.engine.damage(id)}`
        }),
      )
    }
    for (let record = 0; record < 5; record++) t.true(await shipper.ship(never))
    t.deepEqual(await indexesNow('early'), [])
    while (await shipper.ship(never));
    t.deepEqual(await indexesNow('late'), ['a: [{"id":1,"v":"third","_rankingScore":1}], damage: null'])
  })
}

for (const tested of testedEngines)
  testNeeding(tested.needs)(
    `${tested.name}: files of a background merge are sent after the settle time`,
    async (t) => {
      const base = await temporaryDirectory(t)
      const source = await instance(t, tested, join(base, 'source'))
      source.opened.start()
      const sent = await shipping(source, memoryStore())
      for (let batch = 0; batch < 4; batch++)
        await done(source, await add(source.opened.tasks, 'a', [{ id: batch % 2, t: `word${batch}` }]))
      await shipAll(source, sent)
      t.false(await sent.shipper.refresh(60_000, never))
      // Like a background merge.
      await source.engine.compact(source.opened.tasks.index('a')!.id)
      t.true(await sent.shipper.refresh(0, never))
      t.false(await sent.shipper.refresh(0, never))
      await restoredFrom(sent.store, join(base, 'restored'))
      t.deepEqual(
        await answersOf(await instance(t, tested, join(base, 'restored'), {})),
        await answersOf(source),
      )
    },
  )

for (const kind of ['rename', 'swap'] as const)
  test(`a ${kind} between the log record of a checkpoint and its image is applied once`, async (t) => {
    const base = await temporaryDirectory(t)
    const source = await instance(t, fallback, join(base, 'source'))
    const { tasks } = source.opened
    source.opened.start()
    const store = memoryStore()
    const sent = await shipping(source, store, oneByOne(source.opened.outgoing))
    await done(source, await add(tasks, 'a', [{ id: 1 }]))
    await done(source, await add(tasks, 'b', [{ id: 2 }]))
    await shipAll(source, sent)
    await done(source, await add(tasks, 'a', [{ id: 3 }]))
    await done(source, await tasks.enqueue(kind === 'swap' ? swap(['a', 'b']) : update('a', { newUid: 'c' })))
    await makeCheckpoint(sent)
    await shipAll(source, sent)
    t.true([...store.objects.keys()].some((key) => key.startsWith('base/')))
    await restoredFrom(store, join(base, 'restored'))
    t.deepEqual(
      await answersOf(await instance(t, fallback, join(base, 'restored'), {})),
      await answersOf(source),
    )
  })

test('changes that are sent twice are applied once', async (t) => {
  const base = await temporaryDirectory(t)
  const source = await instance(t, fallback, join(base, 'source'))
  const { tasks, outgoing } = source.opened
  source.opened.start()
  await done(source, await add(tasks, 'a', [{ id: 1 }]))
  await done(source, await tasks.enqueue(update('a', { newUid: 'c' })))
  const pages: OutgoingPage[] = []
  for (let page = await outgoing.next(0, 0); page !== null; page = await outgoing.next(0, 0)) {
    pages.push(page)
    await outgoing.sent(page.last, 0)
  }
  // As after a power cut that lost the stored position.
  const twice = [...pages, ...pages]
  const store = memoryStore()
  const { shipper } = await shipping(source, store, {
    ...outgoing,
    next: async (_, after) => twice.find((page) => page.last > after) ?? null,
    sent: async (last) => void twice.splice(0, twice.findIndex((page) => page.last === last) + 1),
  })
  while (await shipper.ship(never));
  await restoredFrom(store, join(base, 'restored'))
  t.deepEqual(
    await answersOf(await instance(t, fallback, join(base, 'restored'), {})),
    await answersOf(source),
  )
})

test('a second checkpoint at the same log record leaves the first one intact', async (t) => {
  const base = await temporaryDirectory(t)
  const source = await instance(t, fallback, join(base, 'source'))
  source.opened.start()
  const store = memoryStore()
  const sent = await shipping(source, store)
  await done(source, await add(source.opened.tasks, 'a', [{ id: 1 }]))
  await shipAll(source, sent)
  for (let round = 0; round < 2; round++) {
    await makeCheckpoint(sent)
    await shipAll(source, sent)
  }
  await restoredFrom(store, join(base, 'restored'))
  t.deepEqual(
    await answersOf(await instance(t, fallback, join(base, 'restored'), {})),
    await answersOf(source),
  )
})

test('tasks are accepted and sent after a compaction of the store', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const store = memoryStore()
  const sent = await shipping(source, store)
  await add(source.opened.tasks, 'a', [{ id: 1 }])
  await source.opened.tasks.compact()
  await add(source.opened.tasks, 'a', [{ id: 2 }])
  await shipAll(source, sent)
  await restoredFrom(store, join(source.directory, 'restored'))
  const made = await instance(t, fallback, join(source.directory, 'restored'), {})
  t.is((await made.opened.tasks.list({}, { from: null, limit: 10, reverse: false })).total, 2)
})

test('leftovers of an image of a killed process are not part of the next image', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const scratch = join(source.directory, 'outgoing')
  await mkdir(scratch)
  await mkdir(join(scratch, 'image-0'))
  for (const name of ['tasks.db', 'tasks.db-wal'])
    await writeFile(join(scratch, 'image-0', name), 'of another store')
  const store = memoryStore()
  const sent = await shipping(source, store)
  await add(source.opened.tasks, 'a', [{ id: 1 }])
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  await restoredFrom(store, join(source.directory, 'restored'))
  const made = await instance(t, fallback, join(source.directory, 'restored'), {})
  t.is((await made.opened.tasks.list({}, { from: null, limit: 10, reverse: false })).total, 1)
})

test('while the position cannot be stored, nothing more is sent, and nothing is sent twice', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { outgoing, tasks } = source.opened
  const store = memoryStore()
  let isFailing = false
  const sent = await shipping(source, store, {
    ...outgoing,
    sent: (last, position) =>
      isFailing ? Promise.reject(new Error('the disk failed')) : outgoing.sent(last, position),
  })
  const tried = async (): Promise<number> => {
    isFailing = true
    await add(tasks, 'a', [{ id: 1 }])
    for (let tries = 0; tries < 5; tries++) await t.throwsAsync(sent.shipper.ship(never))
    isFailing = false
    return recordsIn(store)
  }
  t.is(await tried(), 1, 'the fence, whose position is stored before anything is sent under it')
  await shipAll(source, sent)
  const before = recordsIn(store)
  t.is(await tried(), before + 1, 'a record whose position is not stored')
  await shipAll(source, sent)
  t.is(await outgoing.position(), recordsIn(store) - 1)
})

test('a checkpoint that cannot be published does not delay log records', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const store = memoryStore()
  const refusing: ObjectStore = {
    ...store,
    create: (key, body) =>
      key.startsWith('base/') ? Promise.reject(new BucketError('no', 'refused')) : store.create(key, body),
  }
  const { shipper, writer } = await shipping(source, refusing)
  const failures: (Error | null)[] = []
  for (let record = 1; record <= 3; record++) {
    await shipper.beginCheckpoint(never, (failure) => failures.push(failure))
    await shipper.checkpointIdle()
    await add(source.opened.tasks, 'a', [{ id: record }])
    const before = writer.next
    await shipAll(source, { shipper })
    t.is(writer.next, before + 1)
    t.is(failures.length, record)
    t.true(shipper.isCheckpointDue)
  }
  t.is(shipper.newestCheckpoint, -1)
})

test('a start without change tracking removes the stored position', async (t) => {
  const directory = await temporaryDirectory(t)
  const first = await instance(t, fallback, directory)
  const sent = await shipping(first, memoryStore())
  await add(first.opened.tasks, 'a', [{ id: 1 }])
  await shipAll(first, sent)
  t.not(await first.opened.outgoing.position(), null)
  await first.close()
  const second = await instance(t, fallback, directory, { keepsChanges: false })
  await add(second.opened.tasks, 'a', [{ id: 2 }])
  await second.close()
  const third = await instance(t, fallback, directory)
  t.is(await third.opened.outgoing.position(), null)
})

test('a transaction longer than a log record is sent in several records and restored', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const store = memoryStore()
  const sent = await shipping(source, store)
  await source.opened.tasks.enqueue(settings('a', { stopWords: ['a'.repeat(3 * 2 ** 20)] }))
  await shipAll(source, sent)
  t.true(recordsIn(store) > 2)
  await restoredFrom(store, join(source.directory, 'restored'))
  const made = await instance(t, fallback, join(source.directory, 'restored'), {})
  t.is((await made.opened.tasks.list({}, { from: null, limit: 10, reverse: false })).total, 1)
})

test('a writer killed within large changes has sent them all after its restart', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks, outgoing } = source.opened
  const store = memoryStore()
  const before = await shipping(source, store, oneByOne(outgoing))
  while (await before.shipper.ship(never));
  await makeCheckpoint(before)
  for (const name of ['a', 'b', 'c']) await add(tasks, name, [{ id: 1 }])
  await before.shipper.ship(never)
  const { last, unsent } = await outgoing.facts()
  t.true(before.shipper.sent < last)
  t.is(unsent, 3, 'incomplete changes stay unsent')
  await shipAll(source, await shipping(source, store, oneByOne(outgoing)))
  const restored = join(source.directory, 'restored')
  await restoredFrom(store, restored)
  const made = await instance(t, fallback, restored, {})
  t.is((await made.opened.tasks.list({}, { from: null, limit: 10, reverse: false })).total, 3)
})

test('a checkpoint started within large changes is at the log record that completes them', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks, outgoing } = source.opened
  const store = memoryStore()
  let taken = 0
  const sent = await shipping(source, store, {
    ...outgoing,
    async next(_, after) {
      const page = await outgoing.next(0, after)
      taken = page?.last ?? taken
      return page
    },
  })
  source.opened.start()
  for (const name of ['a', 'b']) await done(source, await add(tasks, name, [{ id: 1 }]))
  await shipAll(source, sent)
  await done(source, await tasks.enqueue(drop('a')))
  await done(source, await add(tasks, 'b', [{ id: 2 }]))
  // All but the last transaction are in open records then.
  while ((await outgoing.next(0, taken))?.isCut) await sent.shipper.ship(never)
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  const restored = join(source.directory, 'restored')
  await restoredFrom(store, restored)
  t.deepEqual(
    await readdir(join(restored, 'indexes')),
    tasks.indexes().map(({ id }) => id),
  )
})
