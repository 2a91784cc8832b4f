/**
 * A server that sends its changes to a bucket. Rules:
 * 1. Writes are refused until the log was read to its end, and after another server has taken over.
 * 2. A write waits for its own log record, not for uploads and index files of other writes.
 * 3. A writer that has not reached the end of the log for a while is not confirmed, and claims no position of a later
 *    writer.
 * 4. A server can take over from a writer that appends all the time.
 */
import test, { type ExecutionContext } from 'ava'
import {
  Garbage,
  Log,
  type ObjectStore,
  Reachability,
  Sender,
  type SenderSetup,
  type Sending,
  takeOver,
} from '../../ts/replication/index.js'
import { systemTiming } from '../../ts/replication/interruptible-sleep.js'
import { acknowledging } from '../../ts/replication/lead/acknowledging.js'
import { fallback } from '../support/engines.js'
import { memoryStore, never } from '../support/memory-store.js'
import { add, ended, quiet, temporaryDirectory } from '../tasks/test-queue.js'
import { type Instance, instance, makeCheckpoint, shipAll, shipping } from './instance-world.js'

const repeating = { wait: async () => undefined, onRetry: () => undefined }

function senderOf(t: ExecutionContext, { opened }: Instance, setup: Partial<SenderSetup>): Sender {
  const sender = new Sender({
    ...{ ack: 'bucket', reachability: new Reachability(), connect: unanswered, sending: null },
    ...{ outgoing: opened.outgoing, intervalMs: 10, log: quiet, onFenced: () => undefined },
    ...setup,
  })
  sender.start()
  t.teardown(() => sender.stop())
  return sender
}

/** A bucket that never answers. */
const unanswered = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

/** An instance with a checkpoint in the bucket, and the parts that send its changes. */
async function sent(t: ExecutionContext, store: ObjectStore): Promise<[Instance, Sending]> {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const { shipper, writer, log } = await shipping(source, store)
  await makeCheckpoint({ shipper })
  await shipAll(source, { shipper })
  const setup = { store, log, repeating, epoch: writer.epoch, ageMs: 0, now: () => performance.now() }
  return [source, { shipper, writer, garbage: new Garbage(setup) }]
}

const countOf = async ({ opened }: Instance): Promise<number> =>
  (await opened.tasks.list({}, { from: null, limit: 1, reverse: false })).total

for (const ack of ['local', 'bucket'] as const)
  test(`with acknowledgement ${ack}, writes are refused until the log was read to its end`, async (t) => {
    const source = await instance(t, fallback, await temporaryDirectory(t))
    const { tasks } = acknowledging(source.opened, senderOf(t, source, { ack }), ack, () => true)
    await t.throwsAsync(add(tasks, 'a', [{ id: 1 }]), { code: 'bucket_unavailable' })
    t.is(await countOf(source), 0)
    t.is(await tasks.bytes(), await source.opened.tasks.bytes(), 'the upload is removed')
  })

test('a sole writer accepts writes before the log was read', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sender = senderOf(t, source, { ack: 'local', isSole: true })
  const { tasks } = acknowledging(source.opened, sender, 'local', () => true)
  t.is((await add(tasks, 'a', [{ id: 1 }])).taskUid, 0)
})

test('a sender stops although the disk of the task store has failed', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  let isStopped = false
  const connect = (signal: AbortSignal): Promise<never> =>
    unanswered(signal).finally(() => {
      isStopped = true
    })
  const sync = (): Promise<never> => Promise.reject(new Error('the disk failed'))
  const { outgoing } = source.opened
  const sender = new Sender({
    ...{ ack: 'local', reachability: new Reachability(), connect, sending: null },
    ...{ outgoing: { ...outgoing, sync }, intervalMs: 10, log: quiet, onFenced: () => undefined },
  })
  sender.start()
  await sender.stop()
  t.true(isStopped)
})

test('a write that is stored while the sender stops does not wait for it forever', async (t) => {
  const source = await instance(t, fallback, await temporaryDirectory(t))
  const sender = senderOf(t, source, { ack: 'bucket', isSole: true })
  await sender.stop()
  await add(source.opened.tasks, 'a', [{ id: 1 }])
  await t.throwsAsync(sender.acknowledged(), { message: /^the server stops: / })
})

/** A store that holds back chosen puts until the test releases them. */
function holding() {
  const memory = memoryStore()
  const held: string[] = []
  let isHeld: (key: string) => boolean = () => false
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let meet: () => void = () => undefined
  const met = new Promise<void>((resolve) => {
    meet = resolve
  })
  const store: ObjectStore = {
    ...memory,
    async put(key, body) {
      if (isHeld(key)) {
        held.push(key)
        meet()
        await released
      }
      await memory.put(key, body)
    },
  }
  const hold = (which: (key: string) => boolean): void => {
    isHeld = which
  }
  return { store, hold, held, met, release }
}

test('writes are acknowledged while the upload of another write is being sent', async (t) => {
  const { store, hold, held, met, release } = holding()
  const [source, sending] = await sent(t, store)
  const { tasks } = acknowledging(source.opened, senderOf(t, source, { sending }), 'bucket', () => true)
  hold((key) => key.startsWith('spool/') && held.length === 0)
  let isAcknowledged = false
  const large = add(tasks, 'a', [{ id: 1 }]).then((task) => {
    isAcknowledged = true
    return task
  })
  await met
  for (let id = 2; id < 5; id++) t.is((await add(tasks, 'b', [{ id }])).status, 'enqueued')
  t.false(isAcknowledged)
  t.is(await countOf(source), 3)
  release()
  t.is((await large).taskUid, 3)
})

test('writes are acknowledged while index files are being sent', async (t) => {
  const { store, hold, met, release } = holding()
  const [source, sending] = await sent(t, store)
  const { tasks } = acknowledging(source.opened, senderOf(t, source, { sending }), 'bucket', () => true)
  source.opened.start()
  hold((key) => key.startsWith('index/'))
  const text = 'word '.repeat(100_000)
  const large = await add(
    tasks,
    'a',
    Array.from({ length: 5 }, (_, id) => ({ id, text: `${id} ${text}` })),
  )
  await met
  t.is((await tasks.get(large.taskUid, null))?.status, 'processing')
  for (let id = 2; id < 5; id++) t.is((await add(tasks, 'b', [{ id }])).status, 'enqueued')
  release()
  t.is((await ended(tasks, large.taskUid)).status, 'succeeded')
})

test('a writer that does not reach the end of the log for a while is not confirmed', async (t) => {
  const memory = memoryStore()
  let isCutOff = false
  let skippedMs = 0
  const store: ObjectStore = {
    ...memory,
    get: (key, options) => (isCutOff ? unanswered(options.signal ?? never) : memory.get(key, options)),
  }
  const [source, sending] = await sent(t, store)
  const timing = { ...systemTiming, now: () => systemTiming.now() + skippedMs }
  const sender = senderOf(t, source, { sending, timing, ack: 'local' })
  const { outbox } = await source.opened.outgoing.facts()
  const position = (await sender.position())!
  t.deepEqual([position.outbox, position.epoch], [outbox, sending.writer.epoch])
  t.true((await sender.figures()).isConfirmed)
  isCutOff = true
  skippedMs = 60_000
  const { isConfirmed, staleSeconds } = await sender.figures()
  t.false(isConfirmed)
  t.true(staleSeconds! >= 60)
  const other = '11111111-1111-4111-8111-111111111111'
  t.true(await sender.reaches(position))
  t.false(await sender.reaches({ outbox: other, last: 1, epoch: position.epoch! + 1 }))
  t.true(await sender.reaches({ outbox: other, last: 1_000, epoch: position.epoch! - 1 }))
  t.false(await sender.reaches({ outbox: other, last: 1, epoch: null }), 'a position of a former version')
})

const lost: readonly (readonly [
  ack: 'local' | 'bucket',
  awayMs: number,
  isUnsent: boolean,
  isLost: boolean,
])[] = [
  ['bucket', 9_000, true, false],
  ['bucket', 11_000, true, true],
  ['local', 11_000, false, true],
  ['local', 11_000, true, false],
]
for (const [ack, awayMs, isUnsent, isLost] of lost)
  test(`a leader with ${ack}, unsent ${isUnsent}, away ${awayMs} ms is replaceable: ${isLost}`, async (t) => {
    const { store, hold, release } = holding()
    const [source, sending] = await sent(t, store)
    const sender = senderOf(t, source, { sending, ack, reachability: { awayMs: () => awayMs } })
    t.teardown(release)
    while ((await sender.figures()).unsent > 0) await new Promise((resolve) => setTimeout(resolve, 1))
    hold((key) => key.startsWith('spool/'))
    if (isUnsent) await add(source.opened.tasks, 'a', [{ id: 1 }])
    const { isReplaceable, unsent } = await sender.figures()
    t.is(unsent > 0, isUnsent)
    t.is(isReplaceable, isLost)
    t.true(sender.isCutOff)
  })

test('a webhook that answers during a handover leaves no change that the bucket lacks', async (t) => {
  const store = memoryStore()
  const [source, sending] = await sent(t, store)
  const { tasks, outgoing } = source.opened
  let name: () => void = () => undefined
  const named = new Promise<void>((resolve) => {
    name = resolve
  })
  const sender = senderOf(t, source, {
    sending,
    handover: {
      stopBatches: () => source.opened.stop(),
      successor: async () => ({ id: 'another', address: 'http://second', nudge: name }),
    },
  })
  const { webhooks } = acknowledging(source.opened, sender, 'local', () => true)
  const uuid = '11111111-1111-4111-8111-111111111111'
  await webhooks.put({ uuid, url: 'http://receiver', headers: {} }, 1)
  source.opened.start()
  await ended(tasks, (await add(tasks, 'a', [{ id: 1 }])).taskUid)
  const handover = sender.handOver()
  await named
  const delivered = t.throwsAsync(webhooks.delivered(uuid, 0), { code: 'not_leader' })
  const log = new Log({ store, ...repeating })
  const candidate = {
    ...{ instanceUid: 'one', address: 'http://second', engine: 'fallback' as const, version: '0.0.0' },
    ...{ writer: 'another', next: sending.writer.epoch + 1, known: null },
  }
  await takeOver({ log, store, repeating }, candidate, () => undefined, never)
  t.is((await handover)?.kind, 'done')
  await delivered
  t.is((await outgoing.facts()).unsent, 0)
})

test('a server takes over from a faster one that appends all the time, which then names the new leader', async (t) => {
  const memory = memoryStore()
  const late = async <T>(ms: number, call: () => Promise<T>): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, ms / 2))
    const result = await call()
    await new Promise((resolve) => setTimeout(resolve, ms / 2))
    return result
  }
  const withLatency = (ms: number): ObjectStore => ({
    ...memory,
    create: (key, body) => late(ms, () => memory.create(key, body)),
    put: (key, body) => late(ms, () => memory.put(key, body)),
    get: (key, options) => late(ms, () => memory.get(key, options)),
  })
  const slow = withLatency(100)
  const [source, sending] = await sent(t, withLatency(5))
  let isFenced = false
  const sender = senderOf(t, source, {
    sending,
    onFenced: () => {
      isFenced = true
    },
  })
  const writes = acknowledging(source.opened, sender, 'bucket', () => true)
  let acknowledged = 0
  const refusals: unknown[] = []
  const writing = async (): Promise<void> => {
    while (!isFenced)
      await writes.instance.putValue('count', acknowledged).then(
        () => void acknowledged++,
        async ({ code }) => {
          refusals.push(code)
          await new Promise((resolve) => setTimeout(resolve, 20))
        },
      )
  }
  const busy = writing()
  while (acknowledged < 3) await new Promise((resolve) => setTimeout(resolve, 5))
  const log = new Log({ store: slow, ...repeating })
  const candidate = {
    ...{ instanceUid: 'one', address: 'http://second', engine: 'fallback' as const, version: '0.0.0' },
    ...{ writer: 'another', next: sending.writer.epoch + 1, known: null },
  }
  let met = 0
  const taken = await takeOver({ log, store: slow, repeating }, candidate, () => void met++, never)
  await busy
  t.true(met > 0 && acknowledged > 0)
  t.is(taken.writer.epoch, sending.writer.next)
  await t.throwsAsync(writes.instance.putValue('count', 0), {
    code: 'not_leader',
    message: /http:\/\/second/,
  })
  t.deepEqual(
    refusals.filter((code) => code !== 'bucket_unavailable' && code !== 'not_leader'),
    [],
  )
})
