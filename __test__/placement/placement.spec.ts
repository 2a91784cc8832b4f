import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { LaunchError } from '../../ts/launch/index.js'
import {
  cellOfIndex,
  cellOfUid,
  DamagedPlacementError,
  emptyPlacement,
  openPlacement,
  type Placement,
  PlacementStore,
  readPlacement,
  withCell,
  withIndex,
} from '../../ts/placement/index.js'
import { BucketError } from '../../ts/replication/index.js'
import { firstUid } from '../../ts/tasks/index.js'
import { tempDir } from '../backup/archives.js'
import { memoryStore } from '../support/memory-store.js'

const urls = ['http://one:7700']
const cell = (placement: Placement, name: string, number: number | null = null): Placement =>
  withCell(placement, name, { number, urls })
const two = cell(cell(emptyPlacement, 'a'), 'b')

test('the first cell is home, and each gets the lowest free number', (t) => {
  const three = cell(cell(cell(emptyPlacement, 'a'), 'b', 5), 'c')
  t.deepEqual(
    Object.entries(three.cells).map(([name, { number }]) => [name, number]),
    [
      ['a', 0],
      ['b', 5],
      ['c', 1],
    ],
  )
  t.deepEqual([three.home, three.version], ['a', 3])
  const moved = withCell(three, 'b', { number: null, urls: ['http://two:7700'] })
  t.deepEqual(moved.cells.b, { number: 5, urls: ['http://two:7700'] })
})

test('an index is in the home cell unless it is placed', (t) => {
  const placed = withIndex(two, 'films', 'b')
  t.is(cellOfIndex(placed, 'films'), 'b')
  t.is(cellOfIndex(placed, 'books'), 'a')
  t.is(cellOfIndex(placed, '__proto__'), 'a')
  t.deepEqual(withIndex(placed, 'films', 'a').indexes, {})
})

test('the remainder of a uid names its cell', (t) => {
  t.deepEqual(
    [0, 1, 2, 64, 65].map((uid) => cellOfUid(two, uid)),
    ['a', 'b', null, 'a', 'b'],
  )
  const uidClass = { modulus: 64, rest: 3 }
  t.deepEqual(
    [0, 3, 4, 67, 68].map((least) => firstUid(least, uidClass)),
    [3, 3, 67, 67, 131],
  )
  t.deepEqual(
    [0, 1, 7].map((least) => firstUid(least, { modulus: 1, rest: 0 })),
    [0, 1, 7],
  )
})

for (const [name, change, says] of [
  ['an unknown cell', () => withIndex(two, 'films', 'c'), /there is no cell `c`; there is `a`, `b`/],
  ['a cell before there is any', () => withIndex(emptyPlacement, 'films', 'c'), /set-cell/],
  ['a malformed index', () => withIndex(two, 'a b', 'b'), /`a b` is no uid/],
  ['a taken number', () => cell(two, 'c', 1), /number 1 is taken by the cell `b`/],
  ['another number', () => cell(two, 'b', 7), /`b` has number 1, which never changes/],
  ['a number out of range', () => cell(two, 'c', 64), /from 0 to 63, not 64/],
  ['a malformed name', () => cell(two, 'a/b'), /`a\/b` is no name of a cell/],
  ['no address', () => withCell(two, 'c', { number: null, urls: [] }), /1 to 16 addresses/],
  ['a malformed address', () => withCell(two, 'c', { number: null, urls: ['x'] }), /`x` is no address/],
] as const)
  test(`a change is refused for ${name}`, (t) => {
    const error = t.throws(change, { instanceOf: LaunchError, message: says })
    t.is(error.exitCode, 2)
  })

test('there are at most 64 cells', (t) => {
  let full = emptyPlacement
  for (let at = 0; at < 64; at++) full = cell(full, `cell-${at}`)
  t.throws(() => cell(full, 'more'), { message: /64 cells already/ })
})

for (const [name, text, says] of [
  ['no JSON', '{', /no JSON/],
  ['no home', JSON.stringify({ ...two, home: null }), /home is not the name of a cell/],
  ['an unknown cell', JSON.stringify({ ...two, indexes: { films: 'c' } }), /there is no cell `c`/],
  [
    'an address of another kind',
    JSON.stringify({ ...two, cells: { a: { number: 0, urls: ['file:///'] } } }),
    /urls/,
  ],
  [
    'a number twice',
    JSON.stringify({ ...two, cells: { a: { number: 1, urls }, b: { number: 1, urls } } }),
    /same number/,
  ],
] as const)
  test(`a placement is damaged with ${name}`, (t) => {
    t.throws(() => readPlacement(text, 'there'), { instanceOf: DamagedPlacementError, message: says })
  })

test('of two changes at once one is stored', async (t) => {
  const bucket = memoryStore()
  const [one, other] = [new PlacementStore(bucket), new PlacementStore(bucket)]
  t.deepEqual(await one.newest(), emptyPlacement)
  t.deepEqual(await Promise.all([one.add(cell(emptyPlacement, 'a')), other.add(cell(emptyPlacement, 'z'))]), [
    true,
    false,
  ])
  for (let version = 2; version < 12; version++)
    t.true(await one.add(cell(await one.newest(), `c${version}`)))
  t.is((await other.newest()).version, 11)
  t.is((await other.later(cell(emptyPlacement, 'a'))).version, 11)
})

test('a damaged version is skipped once there is a later one', async (t) => {
  for (const damaged of ['{', JSON.stringify({ version: 1 }), 'x'.repeat(5 * 1024 * 1024)]) {
    const bucket = memoryStore()
    const store = new PlacementStore(bucket)
    const first = cell(emptyPlacement, 'a')
    await store.add(first)
    await bucket.create('placement/000000000002', Buffer.from(damaged))
    await t.throwsAsync(store.later(first))
    await store.add({ ...cell(first, 'b'), version: 3 })
    t.is((await store.later(first)).version, 3)
  }
})

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('a server reads changes, and keeps the last placement while the bucket is away', async (t) => {
  const directory = await tempDir(t)
  const store = new PlacementStore(memoryStore())
  const signal = new AbortController().signal
  const warnings: string[] = []
  const warn = (_facts: object, message: string) => void warnings.push(message)
  const setup = { directory, cell: 'b', log: { info: () => undefined, warn } as never, signal }
  await t.throwsAsync(openPlacement({ ...setup, store }), {
    message: /has no cell `b`; add it with `siftd placement/,
  })
  await store.add(cell(emptyPlacement, 'a'))
  await store.add(cell(await store.newest(), 'b'))
  await mkdir(join(directory, 'placement.json.new'))
  const opened = await openPlacement({ ...setup, store })
  t.is(opened.current().version, 2)
  await store.add(withIndex(await store.newest(), 'films', 'b'))
  await until(async () => {
    await opened.refresh()
    return opened.current().version === 3
  })
  const file = join(directory, 'placement.json')
  // The first attempt to store it fails.
  await until(() => warnings.includes('the placement cannot be stored'))
  await rmdir(`${file}.new`)
  await until(() =>
    readFile(file, 'utf8').then(
      (text) => JSON.parse(text).version === 3,
      () => false,
    ),
  )
  await opened.close()

  const away = new BucketError('no answer', 'unanswered')
  const broken = { name: 'away', newest: () => Promise.reject(away), later: () => Promise.reject(away) }
  const again = await openPlacement({ ...setup, store: broken })
  t.is(cellOfIndex(again.current(), 'films'), 'b')
  await again.refresh()
  await again.close()
  await writeFile(file, '{')
  await t.throwsAsync(openPlacement({ ...setup, store: broken }), {
    message: /--placement: it cannot be read: no answer/,
  })
})
