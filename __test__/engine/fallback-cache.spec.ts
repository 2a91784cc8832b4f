/** The cache of the fallback stays within its byte limit. */
import test from 'ava'
import { Cache, OwnedCache } from '../../ts/engine/fallback/cache.js'
import { DocSet } from '../../ts/engine/fallback/store/docid-set.js'
import fc from '../support/property.js'

const bytesOf = (cache: Cache): number => cache.figures().kinds.reduce((sum, { bytes }) => sum + bytes, 0)

test('an entry is returned only for its owner, kind and key', (t) => {
  const cache = new Cache(2 ** 20)
  const [first, second] = [new OwnedCache(cache), new OwnedCache(cache)]
  const one = first.get('filters', 'a', () => DocSet.of(8, [1]))
  t.is(
    first.get('filters', 'a', () => DocSet.of(8, [2])),
    one,
  )
  t.not(
    second.get('filters', 'a', () => DocSet.of(8, [2])),
    one,
  )
  t.not(
    first.get('filters', 'b', () => DocSet.of(8, [2])),
    one,
  )
  t.deepEqual(
    first.get('completions', 'a', () => new Uint32Array([7])),
    new Uint32Array([7]),
  )
  t.is(
    first.get('splits', 'a', () => null),
    null,
  )
  t.is(
    first.get('splits', 'a', () => ['x', 'y']),
    null,
    'a missing split is cached too',
  )
  const { hits, misses, entries } = cache.figures().kinds.find(({ kind }) => kind === 'filters')!
  t.deepEqual({ hits, misses, entries }, { hits: 1, misses: 3, entries: 3 })
})

test('dropping an owner removes its entries', (t) => {
  const cache = new Cache(2 ** 20)
  const [first, second] = [new OwnedCache(cache), new OwnedCache(cache)]
  second.get('filters', 'a', () => new DocSet(64))
  const before = bytesOf(cache)
  first.get('filters', 'a', () => new DocSet(640))
  first.get('completions', 'a', () => new Uint32Array(100))
  first.drop()
  t.is(bytesOf(cache), before)
})

test('a cache of 0 bytes computes every value again', (t) => {
  const owned = new OwnedCache(new Cache(0))
  let made = 0
  for (let at = 0; at < 3; at++) owned.get('filters', 'a', () => new DocSet(++made))
  t.is(made, 3)
})

test('the total size of all entries stays within the limit', (t) => {
  const step = fc.record({
    owner: fc.nat(2),
    kind: fc.constantFrom('filters' as const, 'completions' as const),
    key: fc.nat(20).map(String),
    words: fc.nat(4000),
    drops: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.nat(50_000), fc.array(step, { maxLength: 200 }), (bytesMax, steps) => {
      const cache = new Cache(bytesMax)
      const owners = [0, 1, 2].map(() => new OwnedCache(cache))
      for (const { owner, kind, key, words, drops } of steps) {
        if (drops && words < 200) owners[owner]!.drop()
        if (kind === 'filters') owners[owner]!.get(kind, key, () => new DocSet(32 * words))
        else owners[owner]!.get(kind, key, () => new Uint32Array(words))
        t.true(bytesOf(cache) <= bytesMax)
      }
      for (const owned of owners) owned.drop()
      t.is(bytesOf(cache), 0)
    }),
  )
})
