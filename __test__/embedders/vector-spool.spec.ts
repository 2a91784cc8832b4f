/**
 * Properties of the vector spool:
 *
 * 1. The next batch of the index finds spooled vectors. Other indexes do not.
 * 2. A damaged or truncated record is lost with all records after it. Earlier records are never lost, and no vector is
 *    ever wrong.
 * 3. A commit drops the vectors that its batch put or got, and no others.
 * 4. All files together stay within the size limit.
 */
import { readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { openVectorSpool, type SpooledVectors, spoolKey } from '../../ts/embedding/vector-spool.js'
import { temporaryDirectory } from '../tasks/test-queue.js'

const key = (text: string): string => spoolKey('an embedder', text)
const vector = (...components: number[]): Float32Array => Float32Array.from(components)
const entries = ['red', 'green', 'blue'].map((text, at) => ({ key: key(text), vector: vector(at, 0.5) }))
const RECORD_BYTES = 24 + 2 * 4

async function opened(t: ExecutionContext, bytesMax?: number) {
  const directory = join(await temporaryDirectory(t), 'spool')
  const logged: string[] = []
  const store = openVectorSpool(directory, (_facts, message) => void logged.push(message), bytesMax)
  const within = async <T>(indexUid: string, work: (spooled: SpooledVectors) => Promise<T>): Promise<T> => {
    const spooled = await store.open(indexUid)
    const result = await work(spooled)
    await spooled.close()
    return result
  }
  const found = (indexUid = 'films') =>
    within(indexUid, (spooled) =>
      Promise.all(entries.map(async (entry) => (await spooled.get(entry.key)) !== null)),
    )
  const path = async () => join(directory, (await readdir(directory))[0]!)
  return { directory, logged, store, within, found, path }
}

test('spooled vectors are found by the next batch of their index only', async (t) => {
  const { within, found, store } = await opened(t)
  await within('films', (spooled) => spooled.put(entries))
  t.deepEqual(await found('books'), [false, false, false])
  const read = await within('films', (spooled) => Promise.all(entries.map((entry) => spooled.get(entry.key))))
  t.deepEqual(
    read,
    entries.map((entry) => entry.vector),
  )
  await store.forget('films')
  t.deepEqual(await found(), [false, false, false])
})

test('texts of different embedders have different keys', (t) => {
  t.not(spoolKey('a', 'text'), spoolKey('b', 'text'))
  t.not(spoolKey('a', 'bc'), spoolKey('ab', 'c'))
})

test('a damaged record is lost with all records after it', async (t) => {
  const wanted: readonly [what: string, expected: readonly boolean[], damage: (bytes: Buffer) => Buffer][] = [
    ['a flipped bit in the second vector', [true, false, false], flipped(8 + RECORD_BYTES + 25)],
    ['a flipped bit in the second length', [true, false, false], flipped(8 + RECORD_BYTES + 5)],
    ['a length beyond all vectors', [true, false, false], (bytes) => (bytes.fill(255, 44, 48), bytes)],
    ['a flipped bit in the first checksum', [false, false, false], flipped(8)],
    ['another format', [false, false, false], flipped(0)],
    ['a cut third record', [true, true, false], (bytes) => bytes.subarray(0, -1)],
    ['a head without a vector', [true, true, true], (bytes) => Buffer.concat([bytes, Buffer.alloc(24)])],
    ['an empty file', [false, false, false], () => Buffer.alloc(0)],
    ['garbage', [false, false, false], () => Buffer.alloc(100_000, 'garbage')],
  ]
  for (const [what, expected, damage] of wanted) {
    const { within, found, path, logged } = await opened(t)
    await within('films', (spooled) => spooled.put(entries))
    await writeFile(await path(), damage(await readFile(await path())))
    t.deepEqual(await found(), expected, what)
    t.is(logged.length, what === 'an empty file' ? 0 : 1, what)
    await within('films', (spooled) => spooled.put(entries))
    t.deepEqual(await found(), [true, true, true], `${what}: the file is usable again`)
  }
})

const flipped = (at: number) => (bytes: Buffer) => {
  bytes[at]! ^= 1
  return bytes
}

test('a record that is damaged while the file is open is not found', async (t) => {
  const { within, path } = await opened(t)
  await within('films', async (spooled) => {
    await spooled.put(entries)
    await truncate(await path(), 8 + RECORD_BYTES + 30)
    t.deepEqual(await spooled.get(key('red')), vector(0, 0.5))
    t.is(await spooled.get(key('green')), null)
  })
})

test('a commit drops the vectors that its batch used and keeps the others', async (t) => {
  const { within, found, directory } = await opened(t)
  await within('films', (spooled) => spooled.put(entries))
  await within('films', async (spooled) => {
    await spooled.get(key('red'))
    await spooled.put([{ key: key('white'), vector: vector(9) }])
    await spooled.committed()
  })
  t.deepEqual(await found(), [false, true, true])
  await within('films', async (spooled) => {
    for (const entry of entries) await spooled.get(entry.key)
    await spooled.committed()
  })
  t.deepEqual(await readdir(directory), [])
})

test('all files together stay within the size limit', async (t) => {
  const bytesMax = 8 + 2 * RECORD_BYTES + 8 + RECORD_BYTES
  const { within, found, directory } = await opened(t, bytesMax)
  await within('films', (spooled) => spooled.put(entries.slice(0, 2)))
  await within('books', async (spooled) => {
    await spooled.put(entries.slice(0, 2))
    await spooled.put(entries.slice(2))
    await spooled.put(entries.slice(0, 1))
  })
  t.deepEqual(await found('films'), [true, true, false])
  t.deepEqual(await found('books'), [false, false, true])
  const sizes = await Promise.all((await readdir(directory)).map((name) => stat(join(directory, name))))
  t.true(sizes.reduce((sum, { size }) => sum + size, 0) <= bytesMax)
})

test('files that no batch has used for a week are removed', async (t) => {
  const { within, found, path } = await opened(t)
  await within('films', (spooled) => spooled.put(entries))
  const longAgo = Date.now() / 1000 - 8 * 24 * 3600
  await utimes(await path(), longAgo, longAgo)
  await found('books')
  t.deepEqual(await found('films'), [false, false, false])
})
