/**
 * Checkpoints that are made while changes are sent. Rules:
 * 1. Uploading an image does not delay changes. Before the first checkpoint nothing is acknowledged.
 * 2. A checkpoint is published once the log has all transactions of its image. All objects that it references exist.
 * 3. A takeover, a shutdown and a failure cancel the checkpoint in progress and remove its local files.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import {
  BucketError,
  checkpointKey,
  connect,
  Garbage,
  Log,
  MomentGoneError,
  type ObjectStore,
  openCopy,
  Reachability,
  readOwnState,
  recordKey,
  restoreInstance,
  Sender,
  stand,
  takeOver,
} from '../../ts/replication/index.js'
import {
  type Checkpoint,
  decodeCheckpoint,
  encodeCheckpoint,
  keysOfCheckpoint,
  keysOfFiles,
} from '../../ts/replication/log/checkpoint.js'
import { LogState } from '../../ts/replication/log/log-state.js'
import { CheckpointMaker } from '../../ts/replication/publish/checkpoint-maker.js'
import { uploadPrefix } from '../../ts/replication/publish/uploads.js'
import type { OutgoingChanges } from '../../ts/tasks/index.js'
import { fallback } from '../support/engines.js'
import { memoryStore } from '../support/memory-store.js'
import { add, ended, temporaryDirectory } from '../tasks/test-queue.js'
import {
  answersOf,
  type Instance,
  instance,
  makeCheckpoint,
  restoredFrom,
  type Shipping,
  shipAll,
  shipping,
} from './instance-world.js'

const never = new AbortController().signal
const repeating = { wait: async () => undefined, onRetry: () => undefined }

/** A memory store that holds chosen puts until the test releases them, like a slow upload of large objects. */
function holdingStore(isHeld: (key: string) => boolean) {
  const memory = memoryStore()
  let meet: () => void = () => undefined
  let release: () => void = () => undefined
  const met = new Promise<void>((resolve) => {
    meet = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const store: ObjectStore = {
    ...memory,
    async put(key, body, signal) {
      if (isHeld(key)) {
        meet()
        const aborted = new Promise<never>((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error))
        })
        await Promise.race([released, aborted])
      }
      await memory.put(key, body)
    },
  }
  const keys = (prefix: string): readonly string[] =>
    [...memory.objects.keys()].filter((key) => key.startsWith(prefix)).sort()
  return { store, objects: memory.objects, keys, release, /** Resolves at the first held put. */ met }
}

const isOfImage = (key: string): boolean => key.startsWith('image/')

const done = async ({ opened }: Instance, { taskUid }: { readonly taskUid: number }): Promise<void> =>
  void (await ended(opened.tasks, taskUid))

/** Sends the changes of an instance until the test ends. */
function sending(t: ExecutionContext, { opened }: Instance, { shipper, writer, log, store }: Shipping) {
  const errors: string[] = []
  let isFenced = false
  const note = (facts: object): void => {
    errors.push(String((facts as { readonly err?: Error }).err?.message))
  }
  const garbage = new Garbage({
    ...{ store, log, repeating },
    ...{ epoch: writer.epoch, ageMs: 0, now: () => performance.now() },
  })
  const sender = new Sender({
    outgoing: opened.outgoing,
    connect: () => Promise.reject(new Error('it is connected')),
    sending: { shipper, writer, garbage },
    ...{ ack: 'bucket', reachability: new Reachability() },
    intervalMs: 10,
    log: { info: () => undefined, warn: note, error: note },
    onFenced: () => {
      isFenced = true
    },
  })
  sender.start()
  t.teardown(() => sender.stop())
  return { sender, errors, isFenced: () => isFenced }
}

/** Names of local images of task stores. */
const imagesOf = async ({ directory }: Instance): Promise<readonly string[]> =>
  (await readdir(join(directory, 'outgoing'))).filter((name) => name.startsWith('image-'))

/** Keys that the newest checkpoint references. */
function referredTo({ objects, keys }: ReturnType<typeof holdingStore>): readonly string[] {
  const key = keys('base/').at(-1)!
  return keysOfCheckpoint(decodeCheckpoint(Number(key.slice('base/'.length)), objects.get(key)!))
}

async function sameAnswers(t: ExecutionContext, source: Instance, store: ObjectStore): Promise<void> {
  const restored = join(await temporaryDirectory(t), 'restored')
  await restoredFrom(store, restored)
  t.deepEqual(await answersOf(await instance(t, fallback, restored, {})), await answersOf(source))
}

test('a write during the upload of an image is acknowledged, and the checkpoint is published later', async (t) => {
  let isHolding = false
  const held = holdingStore((key) => isHolding && isOfImage(key))
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sent = await shipping(source, held.store)
  source.opened.start()
  await done(source, await add(source.opened.tasks, 'a', [{ id: 1, t: 'one' }]))
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  t.is(held.keys('base/').length, 1)
  await done(source, await add(source.opened.tasks, 'a', [{ id: 2, t: 'two' }]))
  await shipAll(source, sent)
  isHolding = true
  await sent.shipper.beginCheckpoint(never, () => undefined)
  await held.met

  const { sender, errors } = sending(t, source, sent)
  const before = held.keys('log/').length
  await done(source, await add(source.opened.tasks, 'a', [{ id: 3, t: 'three' }]))
  await sender.acknowledged()
  t.true(held.keys('log/').length > before)
  t.is(held.keys('base/').length, 1)
  held.release()
  await sent.shipper.checkpointIdle()
  t.is(held.keys('base/').length, 2)
  t.deepEqual(await imagesOf(source), [])
  await sender.stop()
  t.deepEqual(errors, [])
  await sameAnswers(t, source, held.store)
})

test('a write before the first checkpoint is sent but not acknowledged', async (t) => {
  const held = holdingStore(isOfImage)
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { outgoing, tasks } = source.opened
  source.opened.start()
  let looks = 0
  const counting: OutgoingChanges = {
    ...outgoing,
    next: (...given) => {
      looks++
      return outgoing.next(...given)
    },
  }
  const { sender } = sending(t, source, await shipping(source, held.store, counting))
  await held.met
  const before = held.keys('log/').length
  await done(source, await add(tasks, 'a', [{ id: 1, t: 'one' }]))
  await outgoing.sync()
  while ((await outgoing.facts()).unsent > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  t.true(held.keys('log/').length > before)
  let isAcknowledged = false
  const acknowledged = sender.acknowledged().then(() => {
    isAcknowledged = true
  })
  const from = looks
  while (looks < from + 3) await new Promise((resolve) => setTimeout(resolve, 5))
  t.false(isAcknowledged)
  held.release()
  await acknowledged
  t.is(held.keys('base/').length, 1)
  await sender.stop()
  await sameAnswers(t, source, held.store)
})

test('a checkpoint waits until the changes in its image are sent', async (t) => {
  const held = holdingStore(() => false)
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sent = await shipping(source, held.store)
  await add(source.opened.tasks, 'a', [{ id: 1, t: 'one' }])
  await makeCheckpoint(sent)
  t.true(held.keys('image/').length > 0)
  t.deepEqual(held.keys('base/'), [])
  await shipAll(source, sent)
  t.is(held.keys('base/').length, 1)
  await sameAnswers(t, source, held.store)
})

test('a takeover cancels the checkpoint in progress', async (t) => {
  const held = holdingStore(isOfImage)
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sent = await shipping(source, held.store)
  await add(source.opened.tasks, 'a', [{ id: 1, t: 'one' }])
  await shipAll(source, sent)
  await sent.shipper.beginCheckpoint(never, () => undefined)
  await held.met
  const { sender, errors, isFenced } = sending(t, source, sent)
  const place = { log: new Log({ store: held.store, ...repeating }), store: held.store, repeating }
  const claimant = { instanceUid: '00000000-0000-4000-8000-000000000000', address: null, takesOver: true }
  await connect(
    place,
    { ...claimant, outgoing: source.opened.outgoing, engine: 'fallback', version: '0.0.0' },
    never,
  )
  await add(source.opened.tasks, 'a', [{ id: 2, t: 'two' }])
  await t.throwsAsync(sender.acknowledged(), { message: /another server has taken over/ })
  t.true(isFenced())
  // The put is never released.
  await sent.shipper.checkpointIdle()
  t.deepEqual(held.keys('base/'), [])
  t.deepEqual(await imagesOf(source), [])
  t.deepEqual(errors, [])
})

test('a shutdown cancels the checkpoint in progress', async (t) => {
  const held = holdingStore(isOfImage)
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { sender, errors } = sending(t, source, await shipping(source, held.store))
  await held.met
  await sender.stop()
  t.deepEqual(held.keys('base/'), [])
  t.deepEqual(await imagesOf(source), [])
  t.deepEqual(errors, [])
})

test('an image that the bucket refuses is logged and retried later, and changes are still sent', async (t) => {
  let isRefusing = false
  const memory = memoryStore()
  const store: ObjectStore = {
    ...memory,
    put: (key, body) =>
      isRefusing && isOfImage(key)
        ? Promise.reject(new BucketError('no room for images', 'refused'))
        : memory.put(key, body),
  }
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sent = await shipping(source, store)
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  await add(source.opened.tasks, 'a', [{ id: 1, t: 'one' }])
  await shipAll(source, sent)
  t.false(sent.shipper.isCheckpointDue)
  isRefusing = true
  await t.throwsAsync(makeCheckpoint(sent), { message: 'no room for images' })
  t.true(sent.shipper.isCheckpointDue)
  const { sender, errors } = sending(t, source, sent)
  for (let id = 2; id < 5; id++) {
    await add(source.opened.tasks, 'a', [{ id, t: 'more' }])
    await sender.acknowledged()
  }
  t.deepEqual(errors, ['no room for images'])
  await sender.stop()
  t.deepEqual(await imagesOf(source), [])
})

test('a sweep during the upload of an image keeps all objects that the checkpoint references', async (t) => {
  let isHolding = false
  const held = holdingStore((key) => isHolding && isOfImage(key))
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks } = source.opened
  const sent = await shipping(source, held.store)
  source.opened.start()
  // Makes several commits, whose files a compaction replaces later.
  const write = async (round: number): Promise<void> => {
    const documents = Array.from({ length: 30 }, (_, at) => ({
      id: at,
      t: `word${at} of ${round}`.repeat(400),
    }))
    await done(source, await add(tasks, 'a', documents))
    await source.opened.instance.putValue('end', round)
    while (await sent.shipper.ship(never));
  }
  for (let round = 0; round < 3; round++) {
    await write(round)
    if (round < 2) await makeCheckpoint(sent)
    await shipAll(source, sent)
  }
  t.is(held.keys('base/').length, 2)
  isHolding = true
  await sent.shipper.beginCheckpoint(never, () => undefined)
  await held.met
  const garbage = new Garbage({
    ...{ store: held.store, log: sent.log, repeating },
    ...{ epoch: sent.writer.epoch, ageMs: 0, now: () => performance.now() },
  })
  const inUse = () => ({
    keys: sent.shipper.references(),
    uploads: new Set<string>(),
    next: sent.writer.next,
  })
  const before = sent.shipper.references()
  await source.engine.compact(tasks.index('a')!.id)
  for (let round = 3; round < 6; round++) {
    await write(round)
    await garbage.sweep(inUse(), never)
  }
  const during = sent.shipper.references()
  t.deepEqual(
    [...before].filter((key) => !during.has(key)),
    [],
  )
  held.release()
  await shipAll(source, sent)
  t.is(held.keys('base/').length, 3)
  const names = referredTo(held)
  t.deepEqual(
    names.filter((key) => !held.objects.has(key)),
    [],
  )
  t.deepEqual(
    names.filter((key) => !during.has(key) && !isOfImage(key)),
    [],
  )
  await sameAnswers(t, source, held.store)
})

test('an upload that an image references is kept until it is sent, although its task has ended', async (t) => {
  const held = holdingStore((key) => key.startsWith('spool/'))
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { tasks, outgoing } = source.opened
  const sent = await shipping(source, held.store)
  const waiting = await add(tasks, 'a', [{ id: 1, t: 'one' }])
  const [upload] = await outgoing.uploads.needed()
  const uploads = (): Promise<readonly string[]> => readdir(join(outgoing.uploads.pathOf(upload!.name), '..'))
  await sent.shipper.beginCheckpoint(never, () => undefined)
  await held.met
  source.opened.start()
  await done(source, waiting)
  t.true((await uploads()).includes(upload!.name))
  held.release()
  await sent.shipper.checkpointIdle()
  t.true(held.keys(uploadPrefix(upload!.name)).length > 0)
  t.false((await uploads()).includes(upload!.name))
  await shipAll(source, sent)
  await sameAnswers(t, source, held.store)
})

/** Writes a document and sends it. */
async function write(source: Instance, sent: Shipping, id: number): Promise<void> {
  await done(source, await add(source.opened.tasks, 'a', [{ id }]))
  await shipAll(source, sent)
}

async function publishCheckpoint(source: Instance, sent: Shipping): Promise<void> {
  await makeCheckpoint(sent)
  await shipAll(source, sent)
}

/** Sweeps garbage with the knowledge of this writer. @returns the number of removed objects */
async function sweep({ shipper, writer, store, log }: Shipping, keys = shipper.references()) {
  const { epoch, next } = writer
  const garbage = new Garbage({ store, log, repeating, epoch, ageMs: 0, now: () => performance.now() })
  return garbage.sweep({ keys, uploads: new Set(), next }, never)
}

test('a sweep keeps records that the writer needs, although checkpoints have moved their files', async (t) => {
  const store = memoryStore()
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sent = await shipping(source, store)
  source.opened.start()
  // References of a server that read the log before the checkpoints existed.
  let known: ReadonlySet<string> = new Set()
  for (let round = 0; round < 3; round++) {
    await write(source, sent, round)
    if (round === 0) known = sent.shipper.references()
    await publishCheckpoint(source, sent)
  }
  await write(source, sent, 3)
  const needed = [...known].filter((key) => key.startsWith('log/'))
  t.true(needed.length > 0)
  const there = (): readonly string[] => needed.filter((key) => store.objects.has(key))
  await sweep(sent, known)
  t.deepEqual(there(), needed)
  await sweep(sent)
  t.deepEqual(there(), [])
})

test('a sweep removes nothing until a log record follows the newest checkpoint', async (t) => {
  const store = memoryStore()
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sent = await shipping(source, store)
  source.opened.start()
  for (let round = 0; round < 3; round++) {
    await write(source, sent, round)
    await makeCheckpoint(sent)
    t.false(await sent.shipper.ship(never))
    await sent.shipper.checkpointIdle()
  }
  const before = [...store.objects.keys()]
  t.is(before.filter((key) => key.startsWith('base/')).length, 3)
  t.is(await sweep(sent), 0)
  t.deepEqual([...store.objects.keys()], before)
  await write(source, sent, 3)
  t.true((await sweep(sent)) > 0)
})

test('a server that takes over finds all objects, although checkpoints were made while it read the log', async (t) => {
  const store = memoryStore()
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const former = await shipping(source, store)
  source.opened.start()
  await write(source, former, 0)
  await publishCheckpoint(source, former)
  const place = { log: former.log, store, repeating }
  const known = await readOwnState(place, { position: -1, writer: 'successor' }, never)
  for (const id of [1, 2]) {
    await write(source, former, id)
    await publishCheckpoint(source, former)
  }
  let { next } = known
  for await (const record of former.log.records(next, never)) known.state.apply(next++, record)
  t.true((await sweep(former)) > 0)
  const lost = ({ state }: Pick<typeof known, 'state'>): readonly string[] =>
    keysOfFiles(state.described().files).filter((key) => !store.objects.has(key))
  t.true(lost(known).length > 0)

  const { instanceUid } = known
  const about = { instanceUid: instanceUid!, address: null, engine: 'fallback', version: '0.0.0' } as const
  const unknown = () => t.fail('unexpected new record')
  const taken = await takeOver(place, { ...about, writer: 'successor', next, known }, unknown, never)
  t.deepEqual(lost(taken), [])
  t.deepEqual({ ...taken.state.described(), files: null }, { ...known.state.described(), files: null })
})

test('candidates far behind do not mistake the fence of one of them for a record that was removed', async (t) => {
  const store = memoryStore()
  const directory = await temporaryDirectory(t)
  const source = await instance(t, fallback, join(directory, 'source'))
  const sent = await shipping(source, store)
  source.opened.start()
  await write(source, sent, 0)
  await publishCheckpoint(source, sent)
  const open = async (name: string) => {
    const setup = { log: sent.log, store, repeating, directory: join(directory, name), until: null }
    const opened = await openCopy({ ...setup, progress: () => undefined }, never)
    t.teardown(() => opened.replica.close())
    return opened
  }
  const [first, second] = [await open('first'), await open('second')]
  await write(source, sent, 1)
  while (!(await first.copy.advance(first.target, never)));
  while (!(await second.copy.advance(second.target, never)));
  // Both miss a record, which is removed. Records after the second newest checkpoint are kept.
  const missed = sent.writer.next
  await source.opened.instance.putValue('missed', true)
  t.true(await sent.shipper.ship(never))
  t.is(sent.writer.next, missed + 1)
  await publishCheckpoint(source, sent)
  await write(source, sent, 2)
  await publishCheckpoint(source, sent)
  await write(source, sent, 3)
  t.true((await sweep(sent)) > 0)
  t.false(store.objects.has(recordKey(missed)))
  t.true(store.objects.has(recordKey(missed + 1)))

  const about = { address: null, engine: 'fallback', version: '0.0.0', known: null } as const
  const place = { log: sent.log, store, repeating }
  const claim = { ...about, instanceUid: '00000000-0000-4000-8000-000000000000', next: missed }
  t.is(first.copy.next, missed)
  t.is(await stand(place, { ...claim, writer: 'first' }, never), null)
  for (const { copy, target } of [first, second]) {
    // Again: a copy that has read the fence never applies it.
    for (let tries = 0; tries < 2; tries++)
      await t.throwsAsync(copy.advance(target, never), { name: 'LogTruncatedError' })
    t.is(copy.position, missed - 1)
  }
  const applied = () => undefined
  await t.throwsAsync(takeOver(place, { ...claim, writer: 'second' }, applied, never), {
    name: 'LogTruncatedError',
  })
  t.false(store.objects.has(recordKey(sent.writer.next)), 'a server that missed a record became the leader')
})

test('a sweep of a former writer keeps the fence of its successor', async (t) => {
  const store = memoryStore()
  const source = await instance(t, fallback, await temporaryDirectory(t))
  source.opened.start()
  const send = async (sent: Shipping, id: number): Promise<void> => {
    await write(source, sent, id)
    await publishCheckpoint(source, sent)
  }
  const former = await shipping(source, store)
  await send(former, 0)
  const known = former.shipper.references()
  const successor = await shipping(source, store)
  for (const id of [1, 2]) await send(successor, id)
  const before = [...store.objects.keys()]
  for (let sweeps = 0; sweeps < 2; sweeps++) t.is(await sweep(former, known), 0)
  t.deepEqual([...store.objects.keys()], before)
  const record = former.writer.record(new Uint8Array())
  await t.throwsAsync(former.writer.append(record, never), { name: 'FencedError' })
})

test('a restore to a point before the image of the newest checkpoint starts from an older checkpoint', async (t) => {
  const memory = memoryStore()
  const directory = await temporaryDirectory(t)
  const source = await instance(t, fallback, join(directory, 'source'))
  source.opened.start()
  const sent = await shipping(source, memory)
  await done(source, await add(source.opened.tasks, 'a', [{ id: 1, t: 'one' }]))
  await shipAll(source, sent)
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  const before = await answersOf(source)
  await done(source, await add(source.opened.tasks, 'a', [{ id: 2, t: 'two' }]))
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  const [older, newer] = await sent.log.checkpoints(never)
  const restored = async (seq: number, name: string) => {
    const setup = {
      ...{ log: sent.log, store: memory, repeating, directory: join(directory, name) },
      ...{ until: { seq }, progress: () => undefined },
    }
    await restoreInstance(setup, never)
    return answersOf(await instance(t, fallback, join(directory, name), {}))
  }
  t.deepEqual(await restored(newer!, 'moment'), before)
  t.deepEqual(await restored(sent.writer.next, 'end'), await answersOf(source))
  memory.objects.delete(checkpointKey(older!))
  memory.objects.delete(recordKey(1))
  await t.throwsAsync(restored(newer!, 'gone'), {
    instanceOf: MomentGoneError,
    message: /does not hold this moment/,
  })
})

test('a long checkpoint is compressed and decodes to the same value', async (t) => {
  const held = holdingStore(() => false)
  const source = await instance(t, fallback, await temporaryDirectory(t))
  source.opened.start()
  const sent = await shipping(source, held.store)
  await done(source, await add(source.opened.tasks, 'a', [{ id: 1, t: 'one' }]))
  await shipAll(source, sent)
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  const [key] = held.keys('base/')
  const seq = Number(key!.slice('base/'.length))
  const plain = held.objects.get(key!)!
  const checkpoint: Checkpoint = decodeCheckpoint(seq, plain)
  t.deepEqual(await encodeCheckpoint(checkpoint), plain)
  const packed = await encodeCheckpoint(checkpoint, 100)
  t.true(packed.length < plain.length)
  t.deepEqual(decodeCheckpoint(seq, packed), checkpoint)
})

test('a checkpoint is due depending on the estimated time of reading the log', async (t) => {
  const memory = memoryStore()
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { writer } = await shipping(source, memory)
  const made = (callMs: number, records: number): boolean => {
    const maker = new CheckpointMaker({
      ...{ outgoing: source.opened.outgoing, store: memory, repeating, scratch: '' },
      ...{ parts: undefined as never, uploads: undefined as never, fence: undefined as never },
      ...{ state: new LogState(), instanceUid: '', newest: writer.epoch },
    })
    for (let call = 0; call < 100; call++) maker.appended(callMs)
    return maker.isDue(writer.epoch + records)
  }
  t.deepEqual(
    [made(1, 9_000), made(20, 2_500), made(20, 4_000), made(500, 150), made(500, 300), made(0, 10_001)],
    [false, false, true, false, true, true],
  )
})
