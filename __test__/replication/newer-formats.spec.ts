/**
 * Parts of a log that a newer version has written, as during an upgrade in the wrong order. Rules:
 * 1. A copy has everything before the first such record, is served, and says what to do.
 * 2. A leader that finds such a record takes no more writes.
 * 3. Nothing is written to such a log, and no server takes it over.
 */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import {
  checkpointKey,
  Follower,
  LOG_FORMAT,
  Log,
  NewerFormatError,
  openCopy,
  Reachability,
  recordKey,
  resumeCopy,
  Sender,
} from '../../ts/replication/index.js'
import { fallback } from '../support/engines.js'
import { memoryStore, never } from '../support/memory-store.js'
import { withFormat } from '../support/newer-format.js'
import { add, ended, temporaryDirectory } from '../tasks/test-queue.js'
import {
  answersOf,
  type Instance,
  instance,
  makeCheckpoint,
  restoredFrom,
  shipAll,
  shipping,
} from './instance-world.js'

const repeating = { wait: async () => undefined, onRetry: () => undefined }
/** A bucket with a checkpoint and records after it. The last one or two are of a newer version. */
async function world(t: ExecutionContext) {
  const directory = await temporaryDirectory(t)
  const store = memoryStore()
  const source = await instance(t, fallback, join(directory, 'source'))
  source.opened.start()
  const sent = await shipping(source, store)
  const write = async (id: number) => {
    await ended(source.opened.tasks, (await add(source.opened.tasks, 'a', [{ id, t: `word${id}` }])).taskUid)
    await shipAll(source, sent)
  }
  await write(1)
  await makeCheckpoint(sent)
  await write(2)
  const before = await answersOf(source)
  const newer = sent.writer.next
  await write(3)
  store.objects.set(recordKey(newer), withFormat(store.objects.get(recordKey(newer))!, LOG_FORMAT + 1))
  const setup = (name: string) => ({
    ...{ log: new Log({ store, ...repeating }), store, repeating, directory: join(directory, name) },
    ...{ until: null, progress: () => undefined },
  })
  return { directory, store, source, sent, before, newer, setup }
}

const answersIn = async (t: ExecutionContext, directory: string): Promise<unknown> => {
  const opened = join(await temporaryDirectory(t), 'opened')
  await cp(directory, opened, { recursive: true })
  const served: Instance = await instance(t, fallback, opened, {})
  return answersOf(served)
}

test('a copy stops before a record of a newer format, has everything before it, and is resumed there', async (t) => {
  const { setup, before, newer } = await world(t)
  const given = setup('copy')
  const { copy, replica, target } = await openCopy(given, never)
  const { message } = await t.throwsAsync(copy.advance(target, never), { instanceOf: NewerFormatError })
  t.regex(
    message,
    new RegExp(
      `^log record ${newer} was written by a newer version .*format ${LOG_FORMAT + 1}.*upgrade this server$`,
    ),
  )
  t.is(copy.position, newer - 1)
  await replica.close()
  t.deepEqual(await answersIn(t, given.directory), before)
  const resumed = await resumeCopy(given, newer - 1, never)
  t.is(resumed.position, newer - 1)
})

test('a follower serves what it has and says what to do, logs it once, and never stands', async (t) => {
  const { setup, newer } = await world(t)
  const { copy, replica, target } = await openCopy(setup('copy'), never)
  t.teardown(() => replica.close())
  const errors: string[] = []
  let reads = 0
  const follower = new Follower({
    ...{ copy, target, intervalMs: 1, onTruncated: () => t.fail(), prepare: async () => t.fail() },
    open: async () => copy,
    newestCheckpoint: async () => null,
    candidacy: { polled: async () => true, stand: async () => t.fail() as never },
    log: {
      info: () => t.fail(),
      warn: (_, message) => t.fail(message),
      error: (facts) => void errors.push((facts as { readonly err: Error }).err.message),
    },
    watch: { reached: () => void reads++ },
  })
  t.is(follower.figures().problem, null)
  follower.start()
  while (follower.figures().problem === null) await new Promise((resolve) => setTimeout(resolve, 1))
  // Asks for a further read, which fails too.
  t.false(await follower.meetsEnd(20))
  t.regex(follower.figures().problem ?? '', /upgrade this server$/)
  t.is(follower.figures().position, newer - 1)
  t.is(errors.length, 1)
  t.is(reads, 0)
  await follower.stop()
})

test('a checkpoint of a newer format is refused as such, and a copy of before is resumed without it', async (t) => {
  const { setup, store, newer, directory } = await world(t)
  const [key] = [...store.objects.keys()].filter((name) => name.startsWith('base/'))
  for (const format of [2 * LOG_FORMAT + 1, 2 * LOG_FORMAT + 2]) {
    store.objects.set(checkpointKey(newer), withFormat(store.objects.get(key!)!, format))
    const refused = await t.throwsAsync(restoredFrom(store, join(directory, `restored-${format}`)), {
      instanceOf: NewerFormatError,
    })
    t.regex(refused.message, new RegExp(`the checkpoint at log record ${newer} .*format ${LOG_FORMAT + 1}`))
    t.is((await resumeCopy(setup('copy'), newer - 1, never)).position, newer - 1)
  }
})

test('a leader that finds a record of a newer format has been replaced: it takes no write and writes nothing', async (t) => {
  const { source, sent, store, newer } = await world(t)
  // The record after the last one of the leader.
  const at = sent.writer.next
  const record = withFormat(store.objects.get(recordKey(newer))!, LOG_FORMAT + 1)
  store.objects.set(recordKey(at), record)
  const hasEnded = new Promise<boolean>((resolve) => {
    const sender = new Sender({
      outgoing: source.opened.outgoing,
      connect: () => Promise.reject(new Error('it is connected')),
      sending: { ...sent, garbage: { sweep: async () => undefined } as never },
      ...{ ack: 'bucket', reachability: new Reachability(), intervalMs: 1 },
      log: { info: () => undefined, warn: () => undefined, error: (_, message) => t.fail(message) },
      onFenced: resolve,
    })
    t.teardown(() => sender.stop())
    sender.start()
    void source.opened.instance
      .putValue('one', true)
      .then(() => t.throwsAsync(sender.acknowledged(), { message: /another server has taken over/ }))
      .then(() => t.throws(() => sender.requireWritable(), { code: 'not_leader' }))
  })
  t.true(await hasEnded)
  t.deepEqual(store.objects.get(recordKey(at)), record)
  t.false(store.objects.has(recordKey(at + 1)))
  // It also does not take over at a restart.
  await t.throwsAsync(shipping(source, store), { instanceOf: NewerFormatError })
  t.false(store.objects.has(recordKey(at + 1)))
})
