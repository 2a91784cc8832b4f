/** A shipper keeps nothing for indexes that are gone, nor for uploads whose tasks have ended. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { openCopy } from '../../ts/replication/index.js'
import { UploadSender } from '../../ts/replication/publish/uploads.js'
import { uploadsIn } from '../../ts/tasks/index.js'
import { fallback } from '../support/engines.js'
import { memoryStore, never } from '../support/memory-store.js'
import { add, deleteBy, deleteIds, drop, ended, swap, temporaryDirectory } from '../tasks/test-queue.js'
import { hitsOf, instance, makeCheckpoint, restoredFrom, shipAll, shipping } from './instance-world.js'

const repeating = { wait: async () => undefined, onRetry: () => undefined }

test('files of a deleted index that were sent ahead are in use no more', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks, outgoing } = source.opened
  const sent = await shipping(source, memoryStore(), outgoing, 1)
  source.opened.start()
  await ended(tasks, (await add(tasks, 'old', [{ id: 1, t: 'one' }])).taskUid)
  const { id } = tasks.index('old')!
  await sent.shipper.ahead(id, never)
  await shipAll(source, sent)
  const inUse = () => [...sent.shipper.references()].filter((key) => key.startsWith(`index/${id}/`))
  t.true(inUse().length > 0)
  await ended(tasks, (await tasks.enqueue(drop('old'))).taskUid)
  await shipAll(source, sent)
  t.deepEqual(inUse(), [])
  t.deepEqual(sent.shipper.settled(0), [])
})

test('uploads are not kept if an index cannot be pinned', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks, outgoing } = source.opened
  let held = 0
  const counted = {
    ...outgoing.uploads,
    hold(names: readonly string[]) {
      const release = outgoing.uploads.hold(names)
      held += names.length
      return async () => {
        held -= names.length
        await release()
      }
    },
  }
  let fails = true
  const pin: typeof source.engine.pin = (id) =>
    fails ? Promise.reject(new Error('no descriptor is free')) : source.engine.pin(id)
  const failing = { ...source, engine: { ...source.engine, pin } }
  const sent = await shipping(failing, memoryStore(), { ...outgoing, uploads: counted })
  source.opened.start()
  await ended(tasks, (await add(tasks, 'a', [{ id: 1 }])).taskUid)
  await source.opened.stop()
  await add(tasks, 'a', [{ id: 2 }])
  await t.throwsAsync(sent.shipper.ship(never), { message: 'no descriptor is free' })
  t.is(held, 0)
  fails = false
  await shipAll(source, sent)
  t.is(held, 0)
})

/** A promise with the function that resolves it. */
function due() {
  let arrive: () => void = () => undefined
  const promise = new Promise<void>((resolve) => {
    arrive = resolve
  })
  return { promise, arrive }
}

test('a missing upload of a waiting task is an error, and sending continues once the task has failed', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks, outgoing } = source.opened
  const sent = await shipping(source, memoryStore(), outgoing)
  const { taskUid } = await add(tasks, 'a', [{ id: 1 }])
  const [name] = uploadsIn((await outgoing.next(1_000_000, 0))!.changes)
  await rm(outgoing.uploads.pathOf(name!))
  const error = await t.throwsAsync(shipAll(source, sent))
  t.true(error.message.endsWith(name!), error.message)
  source.opened.start()
  t.is((await ended(tasks, taskUid)).status, 'failed')
  await shipAll(source, sent)
  t.false(await sent.shipper.ship(never))
})

test('a page whose upload is removed before its task has ended is sent with the end of the task', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks, outgoing } = source.opened
  const { promise: isRemoved, arrive: noteRemoved } = due()
  const { promise: mayRecord, arrive: letRecord } = due()
  let reads = 0
  const sent = await shipping(source, memoryStore(), {
    ...outgoing,
    async holdCommits(uids, read) {
      // The first page lacks the end of the task.
      if (++reads === 2) setImmediate(letRecord)
      return outgoing.holdCommits(uids, read)
    },
  })
  source.opened.start()
  await ended(tasks, (await add(tasks, 'a', [{ id: 1 }])).taskUid)
  await shipAll(source, sent)
  reads = 0
  outgoing.beforeRecord(async () => {
    noteRemoved()
    await mayRecord
  })
  const { taskUid } = await add(tasks, 'a', [{ id: 2 }])
  await isRemoved
  t.true(await sent.shipper.ship(never))
  t.is((await ended(tasks, taskUid)).status, 'succeeded')
  t.true(reads >= 2)
  outgoing.beforeRecord(null)
  await shipAll(source, sent)
})

test('uploads are forgotten once no task needs them and the one that brought them may be stored', async (t) => {
  const directory = await temporaryDirectory(t)
  const name = '11111111-1111-4111-8111-111111111111.json'
  const path = join(directory, name)
  const sender = new UploadSender({ pathOf: () => path })
  await mkdir(directory, { recursive: true })
  await writeFile(path, '[]')
  t.true(await sender.send([name], memoryStore(), never))
  await rm(path)
  for (const needed of [[], [name]]) {
    sender.keepOnly(needed)
    t.true(await sender.send([name], memoryStore(), never))
  }
  sender.keepOnly([])
  t.false(await sender.send([name], memoryStore(), never))
})

test('a damaged index keeps its files in the bucket, and the changes of others are sent', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks } = source.opened
  const store = memoryStore()
  const sent = await shipping(source, store)
  source.opened.start()
  for (const uid of ['a', 'b']) await ended(tasks, (await add(tasks, uid, [{ id: uid }])).taskUid)
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  source.engine.condemn(tasks.index('a')!.id, 'a file of it is damaged')
  await ended(tasks, (await tasks.enqueue(swap(['a', 'b']))).taskUid)
  await ended(tasks, (await add(tasks, 'c', [{ id: 'c' }])).taskUid)
  await shipAll(source, sent)
  await sent.shipper.refresh(0, never)
  t.false(await sent.shipper.ship(never))

  const directory = await temporaryDirectory(t)
  await restoredFrom(store, directory)
  const copy = await instance(t, fallback, directory, {})
  for (const [uid, id] of [
    ['a', 'b'],
    ['b', 'a'],
    ['c', 'c'],
  ] as const)
    t.like(await hitsOf(copy, uid), [{ id }])
})

test('an index that is damaged before it is sent has no files in the bucket, and the changes of others are sent', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks } = source.opened
  const store = memoryStore()
  const sent = await shipping(source, store)
  source.opened.start()
  await ended(tasks, (await add(tasks, 'a', [{ id: 'a' }])).taskUid)
  source.engine.condemn(tasks.index('a')!.id, 'a file of it is damaged')
  await ended(tasks, (await add(tasks, 'c', [{ id: 'c' }])).taskUid)
  await makeCheckpoint(sent)
  await shipAll(source, sent)

  const setup = { log: sent.log, store, repeating, directory: await temporaryDirectory(t), until: null }
  const { copy, replica, target } = await openCopy({ ...setup, progress: () => undefined }, never)
  t.teardown(() => replica.close())
  const adopted: string[] = []
  const adopt = async (id: string): Promise<void> => void adopted.push(id)
  while (!(await copy.advance({ ...target, adopt }, never)));
  t.deepEqual(adopted, [tasks.index('c')!.id])
})

test('a commit of a damaged index that the bucket lacks is not passed over', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks } = source.opened
  const sent = await shipping(source, memoryStore())
  source.opened.start()
  await ended(tasks, (await add(tasks, 'a', [{ id: 1 }])).taskUid)
  await shipAll(source, sent)
  await ended(tasks, (await add(tasks, 'a', [{ id: 2 }])).taskUid)
  source.engine.condemn(tasks.index('a')!.id, 'a file of it is damaged')
  await t.throwsAsync(shipAll(source, sent), { code: 'index_damaged' })
  await ended(tasks, (await tasks.enqueue(drop('a'))).taskUid)
  await shipAll(source, sent)
  t.false(await sent.shipper.ship(never))
})

test('a task that no log record can hold is refused, and later ones are sent', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks } = source.opened
  const sent = await shipping(source, memoryStore())
  await t.throwsAsync(tasks.enqueue(deleteIds('a', 'x'.repeat(60_000_000))), {
    code: 'payload_too_large',
    message: /6000\d{4} bytes.*41943040/,
  })
  // Each quote takes four characters in the row of a task.
  await t.throwsAsync(tasks.enqueue(deleteBy('a', '"'.repeat(6_000_000))), { code: 'payload_too_large' })
  await tasks.enqueue(deleteIds('a', 'x'.repeat(41_000_000)))
  await tasks.enqueue(deleteIds('a', '1'))
  await shipAll(source, sent)
  t.false(await sent.shipper.ship(never))
})
