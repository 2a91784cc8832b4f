/**
 * Encrypted objects in a store. Rules:
 * 1. Contents are read completely and by any range, with the same limits and lengths as in a store without encryption.
 * 2. Changed bits, truncation, and swapped frames or objects are detected.
 * 3. A wrong key, no key and an unencrypted object give different errors, each with a remedy.
 * 4. The same content is stored as different bytes each time. The log and the probe still work.
 */
import { randomBytes } from 'node:crypto'
import test from 'ava'
import { LaunchError } from '../../../ts/launch/index.js'
import {
  BucketError,
  bucketKey,
  DamagedRecordError,
  decodeRecord,
  Log,
  type ObjectStore,
  probe,
  recordKey,
  sealedStore,
} from '../../../ts/replication/index.js'
import { DamagedCheckpointError, decodeCheckpoint } from '../../../ts/replication/log/checkpoint.js'
import { memoryStore, never, noRepeating } from '../../support/memory-store.js'
import { startStore, storeAt, storeServer } from '../../support/store-servers.js'
import { testNeeding } from '../../support/test-needing.js'

const FRAME = 64 * 2 ** 10
const EXTRA = 46 + 16
const SEALED = FRAME + EXTRA
const key = Buffer.alloc(32, 'the key of these tests')

const sizes = [0, 1, 1000, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME, 3 * FRAME + 77]
const bodyOf = (size: number): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8) * 7) % 256))

const all = (size: number) => ({ bytesMax: size })

async function keptIn(
  inner: ReturnType<typeof memoryStore>,
  name: string,
  body: Buffer,
): Promise<ObjectStore> {
  const store = sealedStore(inner, key)
  await store.put(name, body)
  return store
}

for (const size of sizes)
  test(`a content of ${size} bytes is read completely and by ranges`, async (t) => {
    const inner = memoryStore()
    const body = bodyOf(size)
    const store = await keptIn(inner, 'index/a', body)
    t.deepEqual(await store.get('index/a', all(size)), body)
    if (size > 0) await t.throwsAsync(sealedOf(inner).get('index/a', all(0)), { instanceOf: BucketError })
    const edges = [0, 1, 2, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME - 1, 2 * FRAME, size - 1, size, size + 1]
    const far = [5 * FRAME, 9 * FRAME + 3]
    for (const first of [...edges, ...far].filter((at) => at >= 0))
      for (const last of [first, ...edges, ...far].filter((at) => at >= first)) {
        const found = await store.get('index/a', { bytesMax: last + 1 - first, range: [first, last] })
        t.true(found?.equals(body.subarray(first, last + 1)), `${first} to ${last}`)
      }
    const listed = []
    for await (const object of store.list('index/')) listed.push(object)
    t.deepEqual(listed, [{ key: 'index/a', bytes: size }])
    t.is(await store.get('index/b', all(size)), null)
    t.is(await store.get('index/b', { bytesMax: 9, range: [9 * FRAME, 9 * FRAME + 8] }), null)
  })

/** A memory store that enforces `bytesMax` like real stores. */
function sealedOf(inner: ObjectStore): ObjectStore {
  const limited: ObjectStore = {
    ...inner,
    async get(name, options) {
      const found = await inner.get(name, options)
      if (found !== null && found.length > options.bytesMax) throw new BucketError('too long', 'malformed')
      return found
    },
  }
  return sealedStore(limited, key)
}

test('the limit of a read applies to the decrypted content', async (t) => {
  const inner = memoryStore()
  for (const size of sizes.filter((one) => one > 0)) {
    const store = sealedOf(inner)
    await store.put('a', bodyOf(size))
    t.is((await store.get('a', all(size)))?.length, size)
    await t.throwsAsync(store.get('a', all(size - 1)), { instanceOf: BucketError }, String(size))
    await t.throwsAsync(store.get('a', { bytesMax: size - 1, range: [0, size - 1] }), undefined, String(size))
  }
})

/** Reads that must be refused: the complete object and ranges. */
const refusals = [undefined, [0, 9], [FRAME, FRAME + 9], [2 * FRAME + 5, 2 * FRAME + 9]] as const

test('a changed bit is detected by any read of its frame', async (t) => {
  const inner = memoryStore()
  const body = bodyOf(2 * FRAME + 20)
  const store = await keptIn(inner, 'a', body)
  const bytes = inner.objects.get('a')!
  // All bytes of heads and tags, and a few content bytes of each frame.
  const places = new Set<number>()
  for (let frame = 0; frame < 3; frame++) {
    const start = frame * SEALED
    const end = Math.min(start + SEALED, bytes.length)
    for (let at = start; at < start + 46; at++) places.add(at)
    for (let at = end - 16; at < end; at++) places.add(at)
    for (const at of [start + 46, start + 50, end - 17]) places.add(at)
  }
  for (const at of places) {
    const frame = Math.floor(at / SEALED)
    bytes[at]! ^= 1 << (at % 8)
    const range = [frame * FRAME, frame * FRAME + 9] as const
    for (const options of [{ bytesMax: body.length }, { bytesMax: 10, range }]) {
      const error = await t.throwsAsync(store.get('a', options), { instanceOf: BucketError }, `byte ${at}`)
      t.regex(error?.message ?? '', /`a` (was changed|is not encrypted|is encrypted with another key)/)
      t.false(error?.isUnknown)
    }
    bytes[at]! ^= 1 << (at % 8)
  }
  t.deepEqual(await store.get('a', all(body.length)), body)
})

test('a truncated or extended object is detected, also by a range after the cut', async (t) => {
  const inner = memoryStore()
  const body = bodyOf(3 * FRAME)
  const store = await keptIn(inner, 'a', body)
  const bytes = Buffer.from(inner.objects.get('a')!)
  const cuts = [
    0,
    1,
    4,
    45,
    61,
    62,
    SEALED - 1,
    SEALED,
    SEALED + 1,
    2 * SEALED,
    2 * SEALED + 62,
    bytes.length - 1,
  ]
  for (const length of cuts) {
    inner.objects.set('a', bytes.subarray(0, length))
    await t.throwsAsync(store.get('a', all(body.length)), { instanceOf: BucketError }, `cut at ${length}`)
    const range = [2 * FRAME, 2 * FRAME + 9] as const
    await t.throwsAsync(store.get('a', { bytesMax: 10, range }), { instanceOf: BucketError }, `${length}`)
  }
  for (const more of [Buffer.of(0), bytes.subarray(0, SEALED), bytes]) {
    inner.objects.set('a', Buffer.concat([bytes, more]))
    await t.throwsAsync(store.get('a', all(9 * FRAME)), { instanceOf: BucketError }, `${more.length} more`)
  }
})

test('a swapped frame or object is detected', async (t) => {
  const inner = memoryStore()
  const store = sealedStore(inner, key)
  const [body, other] = [bodyOf(3 * FRAME), Buffer.alloc(3 * FRAME, 'other')]
  await store.put('a', other)
  const before = inner.objects.get('a')!
  await store.put('a', body)
  const bytes = inner.objects.get('a')!
  const frame = (from: Buffer, number: number) => from.subarray(number * SEALED, (number + 1) * SEALED)
  const swapped = [
    [frame(bytes, 1), frame(bytes, 0), frame(bytes, 2)],
    [frame(bytes, 0), frame(bytes, 0), frame(bytes, 2)],
    [frame(bytes, 0), frame(bytes, 2)],
    [frame(bytes, 1), frame(bytes, 2)],
    [frame(bytes, 0), frame(before, 1), frame(bytes, 2)],
    [frame(before, 0), frame(bytes, 1), frame(bytes, 2)],
  ]
  for (const [number, frames] of swapped.entries()) {
    inner.objects.set('a', Buffer.concat(frames))
    await t.throwsAsync(store.get('a', all(3 * FRAME)), { instanceOf: BucketError }, `case ${number}`)
  }
  inner.objects.set('b', bytes)
  for (const range of refusals) {
    const options = { bytesMax: 3 * FRAME, ...(range !== undefined && { range }) }
    await t.throwsAsync(store.get('b', options), { instanceOf: BucketError, message: /`b` was changed/ })
  }
})

test('a wrong key, a missing key and an unencrypted object give errors that say what to do', async (t) => {
  const inner = memoryStore()
  const store = sealedStore(inner, key)
  await store.put(recordKey(0), Buffer.from('a record'))
  const wrong = sealedStore(inner, Buffer.alloc(32, 'another'))
  const error = await t.throwsAsync(wrong.get(recordKey(0), all(99)), { instanceOf: BucketError })
  t.is(error?.kind, 'refused')
  t.regex(error?.message ?? '', /is encrypted with another key than the one of --bucket-key-file/)

  const bare = inner.objects.get(recordKey(0))!
  t.throws(() => decodeRecord(bare), {
    instanceOf: DamagedRecordError,
    message: /encrypted.*--bucket-key-file/,
  })
  t.throws(() => decodeCheckpoint(0, bare), {
    instanceOf: DamagedCheckpointError,
    message: /encrypted.*--bucket-key-file/,
  })

  for (const plain of ['', 'SF', 'SFLG and more', 'x'.repeat(100)]) {
    inner.objects.set('plain', Buffer.from(plain))
    const refused = await t.throwsAsync(store.get('plain', all(999)), { instanceOf: BucketError })
    t.is(refused?.kind, 'refused')
    t.regex(refused?.message ?? '', /`plain` is not encrypted; leave out --bucket-key-file/)
  }
})

test('stored bytes do not contain the content and differ for each write', async (t) => {
  const inner = memoryStore()
  const store = sealedStore(inner, key)
  const body = Buffer.alloc(2 * FRAME, 'a text that is easily found')
  const stored = new Set<string>()
  for (let i = 0; i < 20; i++) {
    await store.put('a', body)
    const bytes = inner.objects.get('a')!
    t.false(bytes.includes('easily'))
    stored.add(bytes.subarray(46).toString('base64'))
    t.not(
      bytes.subarray(46, 46 + 64).toString('hex'),
      bytes.subarray(SEALED + 46, SEALED + 46 + 64).toString('hex'),
    )
  }
  t.is(stored.size, 20)
})

test('the probe, and a log with lost answers, work through encryption', async (t) => {
  const inner = memoryStore()
  let calls = 0
  // The answer of every other create is lost.
  const losing: ObjectStore = {
    ...inner,
    async create(name, body) {
      const outcome = await inner.create(name, body)
      if (calls++ % 2 === 0) throw new BucketError('answer lost', 'unanswered')
      return outcome
    },
  }
  const store = sealedStore(losing, key)
  await t.notThrowsAsync(probe(sealedStore(memoryStore(), key), noRepeating, never))
  const log = new Log({ store, wait: async () => undefined, onRetry: () => undefined })
  const signal = new AbortController().signal
  const writer = await log.takeOver(
    {
      ...{ instanceUid: 'one', address: null, writer: 'a', about: Buffer.alloc(0), next: 0 },
      apply: async () => undefined,
      restore: async () => 0,
    },
    signal,
  )
  for (let i = 1; i <= 20; i++) t.is(await writer.append(writer.record(Buffer.from(`${i}`)), signal), i)
  for (let i = 1; i <= 20; i++) t.is(String((await log.read(i, signal))?.body), `${i}`)
  t.is(await log.read(21, signal), null)
})

testNeeding([storeServer('gofakes3')])(
  'gofakes3: ranges and the probe work through encryption',
  async (t) => {
    t.timeout(600_000)
    const store = sealedStore(storeAt(t, await startStore(t, 'gofakes3')), key)
    await t.notThrowsAsync(probe(store, noRepeating, never))
    const body = bodyOf(3 * FRAME + 9)
    await store.put('a', body)
    for (const [first, last] of [
      [0, 9],
      [FRAME - 5, FRAME + 5],
      [3 * FRAME, 4 * FRAME],
      [5 * FRAME, 6 * FRAME],
    ] as const)
      t.deepEqual(
        await store.get('a', { bytesMax: last + 1 - first, range: [first, last] }),
        body.subarray(first, last + 1),
      )
  },
)

const bytes = randomBytes(31)
const random = Buffer.concat([Buffer.of(0), bytes])

const forms: readonly (readonly [name: string, content: Buffer])[] = [
  ['base64', Buffer.from(`${random.toString('base64')}\n`)],
  ['base64 without its padding', Buffer.from(random.toString('base64').replace('=', ''))],
  ['hexadecimal', Buffer.from(`${random.toString('hex')}\r\n`)],
  ['capital hexadecimal', Buffer.from(random.toString('hex').toUpperCase())],
  ['bytes', random],
]

for (const [name, content] of forms)
  test(`a key file may hold ${name}`, (t) => {
    t.deepEqual(
      bucketKey('/etc/key', () => content),
      random,
    )
  })

const noKeys: readonly (readonly [name: string, content: Buffer | null, told: RegExp])[] = [
  ['is missing', null, /there is no file \/etc\/key/],
  ['is empty', Buffer.alloc(0), /does not hold a key of 32 bytes/],
  ['holds a short key', randomBytes(16), /does not hold a key of 32 bytes/],
  ['holds a short key in hexadecimal', Buffer.from(randomBytes(16).toString('hex')), /32 characters of text/],
  ['holds a long key in base64', Buffer.from(randomBytes(33).toString('base64')), /does not hold/],
  ['holds a password', Buffer.from('correct horse battery staple 123'), /32 characters of text/],
  ['holds zeros', Buffer.alloc(32), /one byte 32 times/],
]

for (const [name, content, told] of noKeys)
  test(`a key file that ${name} is refused with instructions to make a key`, (t) => {
    const error = t.throws(() => bucketKey('/etc/key', () => content), { instanceOf: LaunchError })
    t.is(error?.exitCode, 2)
    t.regex(error?.message ?? '', told)
    t.regex(error?.message ?? '', /^--bucket-key-file: .*openssl rand -base64 32/)
    if (content !== null && content.length > 0) t.false(error?.message.includes(content.toString().trim()))
  })
