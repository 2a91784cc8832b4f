/** Time of a takeover from a busy writer, measured with a virtual clock. */
import test from 'ava'
import {
  Log,
  type LogWriter,
  type ObjectStore,
  Reachability,
  Sender,
  type SenderSetup,
  type Sending,
} from '../../ts/replication/index.js'
import type { Timing } from '../../ts/replication/interruptible-sleep.js'
import { memoryStore, never } from '../support/memory-store.js'
import { numbers } from '../support/numbers.js'
import { quiet } from '../tasks/test-queue.js'

/** A clock that jumps to the next timer when nothing else can run. */
class VirtualTime implements Timing {
  #now = 0
  #timers: { readonly at: number; readonly done: () => void }[] = []

  now(): number {
    return this.#now
  }

  after(ms: number, done: () => void): () => void {
    const timer = { at: this.#now + ms, done }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve))
  }

  async run<T>(work: Promise<T>, limitMs: number): Promise<T | null> {
    let found: { readonly value: T } | null = null
    void work.then((value) => {
      found = { value }
    })
    while (found === null && this.#now < limitMs) {
      await new Promise((resolve) => setImmediate(resolve))
      const next = this.#timers.reduce((first, timer) => (timer.at < first.at ? timer : first), {
        at: Number.POSITIVE_INFINITY,
        done: () => undefined,
      })
      if (next.at === Number.POSITIVE_INFINITY) continue
      this.#timers = this.#timers.filter((timer) => timer !== next)
      this.#now = Math.max(this.#now, next.at)
      next.done()
    }
    return (found as { readonly value: T } | null)?.value ?? null
  }
}

interface Case {
  readonly seed: number
  /** Milliseconds of a call, on average. */
  readonly writerMs: number
  readonly candidateMs: number
  /** Milliseconds between two records, besides the call for each. */
  readonly gapMs: number
}

/** @returns milliseconds until the candidate writes; null: more than a minute */
async function takeover({ seed, writerMs, candidateMs, gapMs }: Case): Promise<number | null> {
  const time = new VirtualTime()
  const lot = numbers(seed)
  const memory = memoryStore()
  const reached = (averageMs: number): ObjectStore => {
    const call = async <T>(act: () => Promise<T>): Promise<T> => {
      await time.wait(averageMs * (0.25 + lot() / 2))
      const result = await act()
      await time.wait(averageMs * (0.25 + lot() / 2))
      return result
    }
    return {
      ...memory,
      create: (key, body) => call(() => memory.create(key, body)),
      put: (key, body) => call(() => memory.put(key, body)),
      get: (key, options) => call(() => memory.get(key, options)),
      async *list(prefix, options) {
        await time.wait(averageMs)
        yield* memory.list(prefix, options)
      },
    }
  }
  const logOf = (store: ObjectStore): Log =>
    new Log({ store, wait: (ms) => time.wait(ms), onRetry: () => undefined, now: () => time.now() })
  const who = (writer: string, next: number) => ({
    ...{ instanceUid: 'one', address: null, writer, about: Buffer.alloc(0), next },
    apply: async () => undefined,
    restore: async (base: number) => base + 1,
  })
  const writer = (await time.run(logOf(reached(writerMs)).takeOver(who('first', 0), never), 60_000))!
  const sender = new Sender(senderSetup(time, writer, gapMs))
  sender.start()
  await time.run(time.wait(5_000), 60_000)
  const from = time.now()
  const taken = await time.run(
    logOf(reached(candidateMs)).takeOver(who('second', writer.next), never),
    from + 60_000,
  )
  const ms = taken === null ? null : time.now() - from
  await time.run(sender.stop(), from + 120_000)
  return ms
}

/** Setup of a sender that always has changes to send. */
function senderSetup(time: VirtualTime, writer: LogWriter, gapMs: number): SenderSetup {
  const shipper: Sending['shipper'] = {
    ...{
      isCheckpointDue: false,
      newestCheckpoint: 0,
      sent: 0,
      settled: () => [],
      references: () => new Set(),
    },
    async ship(signal) {
      if (gapMs > 0) await time.wait(gapMs)
      await writer.append(writer.record(Buffer.alloc(10)), signal)
      return true
    },
    refresh: async () => false,
    ...{ ahead: async () => undefined, upload: async () => undefined },
    ...{ beginCheckpoint: async () => undefined, end: async () => undefined },
    handOver: async () => undefined,
  }
  return {
    outgoing: {
      beforeRecord: () => undefined,
      facts: async () => ({ outbox: 'first', last: 0, unsent: 0, newest: 0 }),
      sync: async () => undefined,
      uploads: {
        pathOf: (name) => name,
        hold: () => async () => undefined,
        needed: async () => [],
        discard: async () => undefined,
      },
    },
    ...{ ack: 'bucket', reachability: new Reachability(() => time.now()), timing: time, log: quiet },
    connect: () => Promise.reject(new Error('it is connected')),
    sending: { shipper, writer, garbage: { sweep: async () => 0 } },
    ...{ intervalMs: 10, onFenced: () => undefined },
  }
}

test('a server takes over from a busy one within five seconds, at any write rate and latency', async (t) => {
  t.timeout(300_000)
  const lot = numbers(48)
  const times: number[] = []
  for (let seed = 1; seed <= 100; seed++) {
    const one = {
      ...{ seed, writerMs: 5 + lot() * 95, candidateMs: 5 + lot() * 95 },
      gapMs: lot() < 0.5 ? 0 : lot() * 100,
    }
    const ms = await takeover(one)
    if (ms === null) return t.fail(`it never takes over: ${JSON.stringify(one)}`)
    times.push(ms)
  }
  times.sort((one, other) => one - other)
  t.log(
    `p50 ${times[50]!.toFixed(0)} ms, p99 ${times[98]!.toFixed(0)} ms, longest ${times[99]!.toFixed(0)} ms`,
  )
  t.true(times[98]! <= 5_000, `p99 is ${times[98]} ms`)
})
