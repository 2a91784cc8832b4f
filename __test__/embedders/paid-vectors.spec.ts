/**
 * Properties of the vectors on disk that no commit holds yet:
 *
 * 1. What was put is found by the next batch of the index, and by no other index.
 * 2. A damaged or cut record loses itself and what follows it, never more and never wrongly.
 * 3. A commit drops what its batch put or found, and nothing else.
 * 4. All files together keep within their bound.
 */
import { readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { openPaidVectors, type PaidVectors, paidKey } from '../../ts/embedders/paid-vectors.js'
import { temporaryDirectory } from '../tasks/test-queue.js'

const key = (text: string): string => paidKey('an embedder', text)
const vector = (...components: number[]): Float32Array => Float32Array.from(components)
const entries = ['red', 'green', 'blue'].map((text, at) => ({ key: key(text), vector: vector(at, 0.5) }))
const RECORD_BYTES = 24 + 2 * 4

async function opened(t: ExecutionContext, bytesMax?: number) {
  const directory = join(await temporaryDirectory(t), 'paid')
  const logged: string[] = []
  const store = openPaidVectors(directory, (_facts, message) => void logged.push(message), bytesMax)
  const within = async <T>(indexUid: string, work: (paid: PaidVectors) => Promise<T>): Promise<T> => {
    const paid = await store.open(indexUid)
    const result = await work(paid)
    await paid.close()
    return result
  }
  const found = (indexUid = 'films') =>
    within(indexUid, (paid) =>
      Promise.all(entries.map(async (entry) => (await paid.get(entry.key)) !== null)),
    )
  const path = async () => join(directory, (await readdir(directory))[0]!)
  return { directory, logged, store, within, found, path }
}

test('vectors that were put are found by the next batch of their index alone', async (t) => {
  const { within, found, store } = await opened(t)
  await within('films', (paid) => paid.put(entries))
  t.deepEqual(await found('books'), [false, false, false])
  const read = await within('films', (paid) => Promise.all(entries.map((entry) => paid.get(entry.key))))
  t.deepEqual(
    read,
    entries.map((entry) => entry.vector),
  )
  await store.forget('films')
  t.deepEqual(await found(), [false, false, false])
})

test('texts of different embedders have different keys', (t) => {
  t.not(paidKey('a', 'text'), paidKey('b', 'text'))
  t.not(paidKey('a', 'bc'), paidKey('ab', 'c'))
})

test('a damaged record loses itself and those after it', async (t) => {
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
    await within('films', (paid) => paid.put(entries))
    await writeFile(await path(), damage(await readFile(await path())))
    t.deepEqual(await found(), expected, what)
    t.is(logged.length, what === 'an empty file' ? 0 : 1, what)
    await within('films', (paid) => paid.put(entries))
    t.deepEqual(await found(), [true, true, true], `${what}: the file is usable again`)
  }
})

const flipped = (at: number) => (bytes: Buffer) => {
  bytes[at]! ^= 1
  return bytes
}

test('a record that is damaged while the file is open is not found', async (t) => {
  const { within, path } = await opened(t)
  await within('films', async (paid) => {
    await paid.put(entries)
    await truncate(await path(), 8 + RECORD_BYTES + 30)
    t.deepEqual(await paid.get(key('red')), vector(0, 0.5))
    t.is(await paid.get(key('green')), null)
  })
})

test('a commit drops what its batch used and leaves the rest', async (t) => {
  const { within, found, directory } = await opened(t)
  await within('films', (paid) => paid.put(entries))
  await within('films', async (paid) => {
    await paid.get(key('red'))
    await paid.put([{ key: key('white'), vector: vector(9) }])
    await paid.committed()
  })
  t.deepEqual(await found(), [false, true, true])
  await within('films', async (paid) => {
    for (const entry of entries) await paid.get(entry.key)
    await paid.committed()
  })
  t.deepEqual(await readdir(directory), [])
})

test('all files together stay within their bound', async (t) => {
  const bytesMax = 8 + 2 * RECORD_BYTES + 8 + RECORD_BYTES
  const { within, found, directory } = await opened(t, bytesMax)
  await within('films', (paid) => paid.put(entries.slice(0, 2)))
  await within('books', async (paid) => {
    await paid.put(entries.slice(0, 2))
    await paid.put(entries.slice(2))
    await paid.put(entries.slice(0, 1))
  })
  t.deepEqual(await found('films'), [true, true, false])
  t.deepEqual(await found('books'), [false, false, true])
  const sizes = await Promise.all((await readdir(directory)).map((name) => stat(join(directory, name))))
  t.true(sizes.reduce((sum, { size }) => sum + size, 0) <= bytesMax)
})

test('files that no batch came back for within a week are removed', async (t) => {
  const { within, found, path } = await opened(t)
  await within('films', (paid) => paid.put(entries))
  const longAgo = Date.now() / 1000 - 8 * 24 * 3600
  await utimes(await path(), longAgo, longAgo)
  await found('books')
  t.deepEqual(await found('films'), [false, false, false])
})
