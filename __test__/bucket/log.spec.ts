/**
 * Writers of one log, with a store that delays, loses and refuses calls. Rules:
 * 1. An acknowledged record stays in the log, once, in the order of its writer.
 * 2. After a fence no record of a former writer follows, and the log has no gaps.
 * 3. A writer that was suspended during a takeover appends nothing more.
 * 4. Damaged records are refused.
 */
import test, { type ExecutionContext } from 'ava'
import {
  BucketError,
  checkpointKey,
  DamagedRecordError,
  decodeRecord,
  encodeRecord,
  FencedError,
  Log,
  type LogRecord,
  type LogWriter,
  type ObjectStore,
  recordKey,
} from '../../ts/replication/index.js'
import { memoryStore } from '../support/memory-store.js'
import { numbers } from '../support/numbers.js'

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await null
}

/** Fields of the writer that no test here checks. */
const unnamed = { address: null, writer: 'a directory', about: Buffer.alloc(0) }

/** All records that a reader from the start would have seen. */
class History {
  readonly records = new Map<number, LogRecord>()
  newestCheckpoint = 0
}

/** The store of one server: calls take time, some answers are lost, and some unanswered calls happen later. */
function unsteady(real: ObjectStore, history: History, lot: () => number): ObjectStore {
  const call = async <T>(act: () => Promise<T>): Promise<T> => {
    await turns(lot() * 30)
    const fate = lot()
    if (fate < 0.05) throw new BucketError('too busy', 'busy')
    if (fate < 0.1) throw new BucketError('lost before', 'unanswered')
    if (fate < 0.15) {
      void turns(lot() * 200).then(act)
      throw new BucketError('happens later', 'unanswered')
    }
    const result = await act()
    await turns(lot() * 30)
    if (fate < 0.25) throw new BucketError('answer lost', 'unanswered')
    return result
  }
  return {
    name: 'an unsteady store',
    create: (key, body) =>
      call(async () => {
        const outcome = await real.create(key, body)
        const seq = Number(key.slice(4))
        if (outcome === 'created' && seq > history.newestCheckpoint && !history.records.has(seq))
          history.records.set(seq, decodeRecord(Buffer.from(body)))
        return outcome
      }),
    put: (key, body) => call(() => real.put(key, body)),
    get: (key, options) => call(() => real.get(key, options)),
    async *list(prefix, options) {
      const found = await call(async () => {
        const objects = []
        for await (const object of real.list(prefix, options)) objects.push(object)
        return objects
      })
      yield* found
    },
    delete: (key) => call(() => real.delete(key)),
  }
}

interface Acknowledged {
  readonly seq: number
  readonly text: string
}

/** Runs servers that take over from each other. @returns the history and the acknowledged records */
async function run(seed: number, servers: number): Promise<readonly [History, readonly Acknowledged[]]> {
  const lot = numbers(seed)
  const history = new History()
  const real = memoryStore()
  const acknowledged: Acknowledged[] = []

  async function serve(name: string): Promise<void> {
    const stop = new AbortController()
    const log = new Log({
      store: unsteady(real, history, lot),
      wait: (_ms, signal) => turns(lot() * 100).then(() => signal.throwIfAborted()),
      onRetry: () => undefined,
    })
    for (let start = 0; start < 3; start++) {
      await turns(lot() * 300)
      let writer: LogWriter
      const known = { next: 1 }
      try {
        writer = await log.takeOver(
          {
            instanceUid: 'one',
            ...unnamed,
            next: 1,
            apply: async (seq) => {
              known.next = seq + 1
            },
            restore: async (base) => base + 1,
          },
          stop.signal,
        )
      } catch (error) {
        if (stop.signal.aborted) return
        throw error
      }
      try {
        for (let i = 0; i < 4; i++) {
          const text = `${name} ${start} ${i}`
          const seq = await writer.append(writer.record(Buffer.from(text)), stop.signal)
          acknowledged.push({ seq, text })
          if (lot() < 0.2) await writer.look(stop.signal)
          if (lot() < 0.2) await collect(writer.next - 1)
          if (lot() < 0.2) await turns(lot() * 1000)
        }
      } catch (error) {
        if (!(error instanceof FencedError)) throw error
      }
    }
  }

  /** Publishes a checkpoint, then deletes the records that it covers, except fences. */
  async function collect(seq: number): Promise<void> {
    await real.put(checkpointKey(seq), Buffer.alloc(0))
    history.newestCheckpoint = Math.max(history.newestCheckpoint, seq)
    for (const [key, bytes] of [...real.objects]) {
      await turns(lot() * 20)
      const isCovered = key.startsWith('log/') && key <= recordKey(seq)
      if (isCovered && decodeRecord(bytes).kind === 'changes') await real.delete(key)
    }
  }

  await Promise.all(Array.from({ length: servers }, (_, i) => serve(`server ${i}`)))
  return [history, acknowledged]
}

function check(
  t: ExecutionContext,
  [history, acknowledged]: Awaited<ReturnType<typeof run>>,
  seed: number,
): void {
  for (const { seq, text } of acknowledged)
    t.is(String(history.records.get(seq)?.body), text, `seed ${seed}: record ${seq} was acknowledged`)
  const seqs = [...history.records.keys()].sort((a, b) => a - b)
  t.deepEqual(
    seqs,
    Array.from(seqs, (_, i) => i + 1),
    `seed ${seed}: no gaps`,
  )
  let epoch = 0
  for (const seq of seqs) {
    const record = history.records.get(seq) as LogRecord
    if (record.kind === 'fence') epoch = seq
    t.is(record.epoch, epoch, `seed ${seed}: record ${seq} is of the newest writer`)
  }
  const texts = [...history.records.values()]
    .filter(({ kind }) => kind === 'changes')
    .map(({ body }) => String(body))
  t.is(new Set(texts).size, texts.length, `seed ${seed}: no record is in the log twice`)
}

for (const servers of [1, 2, 3, 5])
  test(`${servers} servers that take over from each other lose and duplicate no records`, async (t) => {
    let appended = 0
    for (let seed = 1; seed <= 60; seed++) {
      const result = await run(seed * 10 + servers, servers)
      check(t, result, seed)
      appended += result[1].length
    }
    t.true(appended >= 60 * 12, `${appended} records were acknowledged`)
  })

test('a writer that was suspended during a takeover appends nothing and names the new leader', async (t) => {
  const signal = new AbortController().signal
  const log = new Log({ store: memoryStore(), wait: async () => undefined, onRetry: () => undefined })
  const candidate = {
    instanceUid: 'one',
    ...unnamed,
    next: 1,
    apply: async () => undefined,
    restore: async () => 1,
  }
  const first = await log.takeOver(candidate, signal)
  const kept = first.record(Buffer.from('kept'))
  t.is(await first.append(first.record(Buffer.from('a')), signal), 2)
  await first.look(signal)
  const second = await log.takeOver({ ...candidate, address: 'http://second:7700' }, signal)
  t.is(second.epoch, 3)
  const error = await t.throwsAsync(first.look(signal), { instanceOf: FencedError })
  t.deepEqual([error?.seq, error?.by.address], [3, 'http://second:7700'])
  await t.throwsAsync(first.append(kept, signal), { instanceOf: FencedError })
  t.is(await second.append(second.record(Buffer.from('b')), signal), 4)
  t.is(String((await log.read(2, signal))?.body), 'a')
  t.is(await log.read(5, signal), null)
})

test('a log record with any changed byte is refused', (t) => {
  const record: LogRecord = {
    kind: 'changes',
    instanceUid: 'one',
    epoch: 7,
    writeId: 'w',
    address: null,
    writer: 'a directory',
    writtenAt: 1,
    body: Buffer.from('body'),
  }
  const bytes = encodeRecord(record)
  t.deepEqual({ ...decodeRecord(bytes), body: String(decodeRecord(bytes).body) }, { ...record, body: 'body' })
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] as number) ^ 0x10
    t.throws(() => decodeRecord(changed), { instanceOf: DamagedRecordError }, `byte ${at}`)
    t.throws(() => decodeRecord(bytes.subarray(0, at)), { instanceOf: DamagedRecordError }, `length ${at}`)
  }
})

for (const { what, records, bytes, mostAtOnce } of [
  { what: 'many records', records: 160, bytes: 10, mostAtOnce: 64 },
  { what: 'large records', records: 6, bytes: 5 * 2 ** 20, mostAtOnce: 3 },
  { what: 'no records', records: 0, bytes: 0, mostAtOnce: 1 },
])
  test(`reading a log of ${what} makes at most ${mostAtOnce} calls at a time and yields the records in order`, async (t) => {
    const real = memoryStore()
    const lot = numbers(7)
    let [calls, most] = [0, 0]
    const store: ObjectStore = {
      ...real,
      async get(key, options) {
        most = Math.max(most, ++calls)
        await turns(5 + lot() * 30)
        calls--
        if (lot() < 0.2) throw new BucketError('lost', 'unanswered')
        return real.get(key, options)
      },
    }
    const head = { kind: 'changes', instanceUid: 'i', epoch: 0, writtenAt: 0, ...unnamed } as const
    for (let seq = 0; seq < records; seq++)
      real.objects.set(
        recordKey(seq),
        encodeRecord({ ...head, writeId: String(seq), body: Buffer.alloc(bytes, seq) }),
      )
    const { signal } = new AbortController()
    const log = new Log({ store, wait: async () => undefined, onRetry: () => undefined })
    const found: string[] = []
    for await (const { writeId } of log.records(0, signal)) found.push(writeId)
    t.deepEqual(
      found,
      Array.from({ length: records }, (_, seq) => String(seq)),
    )
    t.true(most <= mostAtOnce && most >= mostAtOnce / 2, String(most))
  })

test('cached records are read once, up to the limit, and again after the cache is dropped', async (t) => {
  const real = memoryStore()
  const head = { kind: 'changes', instanceUid: 'i', epoch: 0, writtenAt: 0, ...unnamed } as const
  for (let seq = 0; seq < 10; seq++)
    real.objects.set(
      recordKey(seq),
      encodeRecord({ ...head, writeId: String(seq), body: Buffer.alloc(1_000, seq) }),
    )
  let gets = 0
  const store: ObjectStore = {
    ...real,
    get(...given) {
      gets++
      return real.get(...given)
    },
  }
  const log = new Log({ store, readAhead: 1, wait: async () => undefined, onRetry: () => undefined })
  const { signal } = new AbortController()
  /** Reads the log. @returns the number of calls, of which one finds the end */
  const calls = async (): Promise<number> => {
    const before = gets
    let seq = 0
    for await (const { writeId } of log.records(0, signal)) t.is(writeId, String(seq++))
    t.is(seq, 10)
    return gets - before
  }
  t.is(await calls(), 11)
  t.is(await calls(), 11)
  log.cacheRecords(5_000)
  t.is(await calls(), 11)
  t.is(await calls(), 8)
  log.cacheRecords(0)
  t.is(await calls(), 11)
})
