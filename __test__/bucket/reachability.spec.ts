/** Detection of an unreachable bucket. */
import test from 'ava'
import { BucketError, type BucketFault, type ObjectStore, Reachability } from '../../ts/replication/index.js'
import { memoryStore } from '../support/memory-store.js'

/** A store whose calls the test answers, by the order of their start. */
function world() {
  let now = 0
  const calls: { resolve(): void; reject(error: Error): void }[] = []
  const reachability = new Reachability(() => now)
  const call = (): Promise<void> => new Promise((resolve, reject) => calls.push({ resolve, reject }))
  const store: ObjectStore = reachability.noting({ ...memoryStore(), put: call })
  return {
    awayMs: () => reachability.awayMs(),
    begin: (bytes: number) => void store.put('key', Buffer.alloc(bytes)).catch(() => undefined),
    pass: (ms: number) => {
      now += ms
    },
    async answer(which: number): Promise<void> {
      calls[which]?.resolve()
      await new Promise((resolve) => setImmediate(resolve))
    },
    async fail(which: number, kind: BucketFault): Promise<void> {
      calls[which]?.reject(new BucketError('no', kind))
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

test('a late call counts as an outage since its start, until another call is answered', async (t) => {
  const { awayMs, begin, pass, answer } = world()
  begin(0)
  pass(9_000)
  t.is(awayMs(), 0)
  pass(3_000)
  t.is(awayMs(), 12_000)
  begin(0)
  await answer(1)
  t.is(awayMs(), 0)
})

test('a call with many bytes is late only after the time that its bytes take', (t) => {
  const { awayMs, begin, pass } = world()
  begin(64 * 60_000)
  pass(60_000)
  t.is(awayMs(), 0)
  pass(10_000)
  t.is(awayMs(), 70_000)
})

for (const { kind, isAway } of [
  { kind: 'unanswered', isAway: true },
  { kind: 'busy', isAway: true },
  { kind: 'refused', isAway: false },
  { kind: 'malformed', isAway: false },
] as const)
  test(`after a call that fails as ${kind}, the bucket is ${isAway ? 'unreachable' : 'reachable'}`, async (t) => {
    const { awayMs, begin, pass, answer, fail } = world()
    begin(0)
    pass(1_000)
    await fail(0, kind)
    pass(2_000)
    t.is(awayMs(), isAway ? 3_000 : 0)
    begin(0)
    await answer(1)
    t.is(awayMs(), 0)
  })
