/**
 * Writers of one log, with a store that delays, loses and refuses calls. Rules held here:
 * 1. What was acknowledged stands in the log for ever, once, in the order of its writer.
 * 2. No entry of a writer stands behind the fence of a later one, and the log has no gaps.
 * 3. A writer that slept through a takeover appends nothing more.
 * 4. Damaged entries are refused.
 */
import test, { type ExecutionContext } from 'ava'
import {
  BucketError,
  baseKey,
  DamagedEntryError,
  decodeEntry,
  type Entry,
  encodeEntry,
  entryKey,
  FencedError,
  Log,
  type LogWriter,
  type ObjectStore,
} from '../../ts/bucket/index.js'
import { memoryStore } from '../support/memory-store.js'
import { numbers } from '../support/numbers.js'

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await null
}

/** What entries say of their writer, which no test here looks at. */
const unnamed = { address: null, writer: 'a directory', about: Buffer.alloc(0) }

/** All that a reader from the beginning would have seen. */
class History {
  readonly entries = new Map<number, Entry>()
  newestBase = 0
}

/** The store of one server: calls take a while, some are never answered, and some of these happen later all the same. */
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
        if (outcome === 'created' && seq > history.newestBase && !history.entries.has(seq))
          history.entries.set(seq, decodeEntry(Buffer.from(body)))
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

/** Lets several servers take over from each other. @returns what was acknowledged */
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
          const seq = await writer.append(writer.entry(Buffer.from(text)), stop.signal)
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

  /** Publishes a base, then deletes what it covers, except for fences. */
  async function collect(seq: number): Promise<void> {
    await real.put(baseKey(seq), Buffer.alloc(0))
    history.newestBase = Math.max(history.newestBase, seq)
    for (const [key, bytes] of [...real.objects]) {
      await turns(lot() * 20)
      const isCovered = key.startsWith('log/') && key <= entryKey(seq)
      if (isCovered && decodeEntry(bytes).kind === 'changes') await real.delete(key)
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
    t.is(String(history.entries.get(seq)?.body), text, `seed ${seed}: entry ${seq} was acknowledged`)
  const seqs = [...history.entries.keys()].sort((a, b) => a - b)
  t.deepEqual(
    seqs,
    Array.from(seqs, (_, i) => i + 1),
    `seed ${seed}: no gaps`,
  )
  let epoch = 0
  for (const seq of seqs) {
    const entry = history.entries.get(seq) as Entry
    if (entry.kind === 'fence') epoch = seq
    t.is(entry.epoch, epoch, `seed ${seed}: entry ${seq} is of the newest writer`)
  }
  const texts = [...history.entries.values()]
    .filter(({ kind }) => kind === 'changes')
    .map(({ body }) => String(body))
  t.is(new Set(texts).size, texts.length, `seed ${seed}: nothing stands there twice`)
}

for (const servers of [1, 2, 3, 5])
  test(`${servers} servers that take a log over from each other lose and double nothing`, async (t) => {
    let appended = 0
    for (let seed = 1; seed <= 60; seed++) {
      const result = await run(seed * 10 + servers, servers)
      check(t, result, seed)
      appended += result[1].length
    }
    t.true(appended >= 60 * 12, `${appended} entries were acknowledged`)
  })

test('a writer that slept through a takeover appends nothing and says who took over', async (t) => {
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
  const kept = first.entry(Buffer.from('kept'))
  t.is(await first.append(first.entry(Buffer.from('a')), signal), 2)
  await first.look(signal)
  const second = await log.takeOver({ ...candidate, address: 'http://second:7700' }, signal)
  t.is(second.epoch, 3)
  const error = await t.throwsAsync(first.look(signal), { instanceOf: FencedError })
  t.deepEqual([error?.seq, error?.by.address], [3, 'http://second:7700'])
  await t.throwsAsync(first.append(kept, signal), { instanceOf: FencedError })
  t.is(await second.append(second.entry(Buffer.from('b')), signal), 4)
  t.is(String((await log.read(2, signal))?.body), 'a')
  t.is(await log.read(5, signal), null)
})

test('an entry whose bytes changed anywhere is refused', (t) => {
  const entry: Entry = {
    kind: 'changes',
    instanceUid: 'one',
    epoch: 7,
    writeId: 'w',
    address: null,
    writer: 'a directory',
    writtenAt: 1,
    body: Buffer.from('body'),
  }
  const bytes = encodeEntry(entry)
  t.deepEqual({ ...decodeEntry(bytes), body: String(decodeEntry(bytes).body) }, { ...entry, body: 'body' })
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] as number) ^ 0x10
    t.throws(() => decodeEntry(changed), { instanceOf: DamagedEntryError }, `byte ${at}`)
    t.throws(() => decodeEntry(bytes.subarray(0, at)), { instanceOf: DamagedEntryError }, `length ${at}`)
  }
})

for (const { what, entries, bytes, mostAtOnce } of [
  { what: 'many entries', entries: 80, bytes: 10, mostAtOnce: 32 },
  { what: 'large entries', entries: 6, bytes: 5 * 2 ** 20, mostAtOnce: 3 },
  { what: 'no entry', entries: 0, bytes: 0, mostAtOnce: 1 },
])
  test(`a pass over a log of ${what} makes at most ${mostAtOnce} calls at a time, and gives them in order`, async (t) => {
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
    for (let seq = 0; seq < entries; seq++)
      real.objects.set(
        entryKey(seq),
        encodeEntry({ ...head, writeId: String(seq), body: Buffer.alloc(bytes, seq) }),
      )
    const { signal } = new AbortController()
    const log = new Log({ store, wait: async () => undefined, onRetry: () => undefined })
    const found: string[] = []
    for await (const { writeId } of log.entries(0, signal)) found.push(writeId)
    t.deepEqual(
      found,
      Array.from({ length: entries }, (_, seq) => String(seq)),
    )
    t.true(most <= mostAtOnce && most >= mostAtOnce / 2, String(most))
  })
