/** Walking and merging the posting lists of the fallback. */
import test from 'ava'
import { ListCursor } from '../../ts/engine/fallback/postings/list-cursor.js'
import { mergedLists, sortRange } from '../../ts/engine/fallback/postings/merged-lists.js'
import { find, occurrencesEnd, occurrencesStart } from '../../ts/engine/fallback/postings/postings.js'
import { BUCKET_POSITIONS, positionBucket } from '../../ts/engine/fallback/store/buckets.js'
import fc from '../support/property.js'

const BOUND = 200

/** Docid → ascending occurrences. */
type Contents = ReadonlyMap<number, readonly number[]>

const ascending = (numbers: Iterable<number>): number[] => [...new Set(numbers)].sort((a, b) => a - b)

const contents: fc.Arbitrary<Contents> = fc
  .array(fc.tuple(fc.nat(BOUND - 1), fc.array(fc.nat(2 ** 20), { minLength: 1, maxLength: 40 })), {
    maxLength: 60,
  })
  .map((entries) => new Map(entries.map(([docid, occurrences]) => [docid, ascending(occurrences)])))

function listOf(documents: Contents): Uint32Array {
  const docids = ascending(documents.keys())
  let end = 0
  const ends = docids.map((docid) => {
    end += documents.get(docid)!.length
    return end
  })
  return Uint32Array.from([
    docids.length,
    ...docids,
    ...ends,
    ...docids.flatMap((docid) => documents.get(docid)!),
  ])
}

test('a cursor finds the documents that a search in the list finds', (t) => {
  fc.assert(
    fc.property(contents, fc.array(fc.nat(BOUND + 10)), (documents, sought) => {
      const list = listOf(documents)
      const cursor = new ListCursor(list)
      for (const docid of sought.sort((a, b) => a - b)) {
        const nth = find(list, docid)
        t.is(cursor.seek(docid), nth !== -1)
        if (nth !== -1)
          t.deepEqual([cursor.from, cursor.to], [occurrencesStart(list, nth), occurrencesEnd(list, nth)])
      }
    }),
  )
})

test('a merged list has the occurrences of all lists, in order', (t) => {
  fc.assert(
    fc.property(fc.array(contents, { minLength: 2, maxLength: 5 }), (lists) => {
      const all = new Map<number, number[]>()
      for (const documents of lists)
        for (const [docid, occurrences] of documents)
          all.set(
            docid,
            [...(all.get(docid) ?? []), ...occurrences].sort((a, b) => a - b),
          )
      t.deepEqual(mergedLists(lists.map(listOf), BOUND), listOf(all))
    }),
  )
})

test('a range is sorted, and the rest stays', (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(1000), { maxLength: 100 }), fc.nat(100), fc.nat(100), (numbers, a, b) => {
      const [from, to] = [Math.min(a, b, numbers.length), Math.min(Math.max(a, b), numbers.length)]
      const sorted = Uint32Array.from(numbers)
      sortRange(sorted, from, to)
      const middle = numbers.slice(from, to).sort((x, y) => x - y)
      t.deepEqual([...sorted], [...numbers.slice(0, from), ...middle, ...numbers.slice(to)])
    }),
  )
})

test('a position is rounded up to the position of its bucket', (t) => {
  for (let position = 0; position < 2 ** 16; position++) {
    const rounded = position < 16 ? position : position < 24 ? 24 : 2 ** Math.ceil(Math.log2(position))
    if (BUCKET_POSITIONS[positionBucket(position)] !== rounded) t.fail(`position ${position}`)
  }
  t.is(BUCKET_POSITIONS[positionBucket(2 ** 31 - 1)], 2 ** 31)
})
