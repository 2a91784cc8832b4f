/** Followers report the position that they have reached, also during a takeover, and the end of the log. */
import { join } from 'node:path'
import test from 'ava'
import { Follower, openCopy, positionText, readPosition, takeOver } from '../../ts/replication/index.js'
import { fallback } from '../support/engines.js'
import { memoryStore, never } from '../support/memory-store.js'
import { add, temporaryDirectory } from '../tasks/test-queue.js'
import { instance, makeCheckpoint, shipAll, shipping } from './instance-world.js'

const repeating = { wait: async () => undefined, onRetry: () => undefined }

test('a follower has reached a position of a new writer once it has read its records', async (t) => {
  const directory = await temporaryDirectory(t)
  const store = memoryStore()
  const source = await instance(t, fallback, join(directory, 'source'))
  const { shipper, writer, log } = await shipping(source, store)
  await add(source.opened.tasks, 'a', [{ id: 1 }])
  await shipAll(source, { shipper })
  await makeCheckpoint({ shipper })
  await shipAll(source, { shipper })
  const setup = { log, store, repeating, directory: join(directory, 'copy'), until: null }
  const { copy, replica, target } = await openCopy({ ...setup, progress: () => undefined }, never)
  t.teardown(() => replica.close())
  while (!(await copy.advance(target, never)));
  const { outbox, last } = await source.opened.outgoing.facts()
  const sent = { outbox, last, epoch: writer.epoch }
  const unsent = { ...sent, last: last + 100 }

  const successor = {
    ...{ instanceUid: 'one', address: null, engine: 'fallback' as const, version: '0.0.0' },
    ...{ writer: '22222222-2222-4222-8222-222222222222', next: writer.next, known: null },
  }
  const taken = await takeOver({ log, store, repeating }, successor, () => undefined, never)
  const later = { outbox: successor.writer, last: 1, epoch: taken.writer.epoch }
  const reached = () => [sent, unsent, later].map((position) => copy.hasReached(position))
  t.deepEqual(reached(), [true, false, false], 'before the fence is read')
  while (!(await copy.advance(target, never)));
  t.deepEqual(reached(), [true, true, false], 'unsent changes of the former writer no longer count')
})

const outbox = '33333333-3333-4333-8333-333333333333'
for (const { text, position } of [
  { text: `${outbox}:7:12`, position: { outbox, last: 7, epoch: 12 } },
  { text: `${outbox}:7`, position: { outbox, last: 7, epoch: null } },
  { text: `${outbox}:7:`, position: null },
  { text: `${outbox}:7:12:1`, position: null },
  { text: `${outbox}:-7:12`, position: null },
  { text: 'x', position: null },
])
  test(`the text ${text} is ${position === null ? 'not a position' : 'a position and written the same way'}`, (t) => {
    t.deepEqual(readPosition(text), position)
    if (position !== null) t.is(positionText(position), text)
  })

test.serial(
  'a strong read on a follower that was suspended is not answered where a record was removed',
  async (t) => {
    // Milliseconds that the process was suspended for.
    let suspended = 0
    const { now } = performance
    performance.now = () => now.call(performance) + suspended
    t.teardown(() => {
      performance.now = now
    })
    // The bucket has no record 5, and a checkpoint that covers it.
    const copy = { position: 4, next: 5, advance: async () => true, remember: async () => undefined }
    let isTruncated = false
    const follower = new Follower({
      ...{ copy: copy as never, target: {} as never, open: t.fail as never, prepare: async () => undefined },
      newestCheckpoint: async () => (suspended > 0 ? 6 : 3),
      intervalMs: 1,
      log: { info: () => undefined, warn: () => t.fail(), error: () => t.fail() },
      onTruncated: () => {
        isTruncated = true
      },
    })
    follower.start()
    t.true(await follower.meetsEnd(1_000))
    suspended = 60_000
    t.false(await follower.meetsEnd(50))
    t.true(isTruncated)
    await follower.stop()
  },
)
