import test from 'ava'
import { edited, UidSet } from '../../ts/tasks/listing/uid-set.js'
import fc from '../support/property.js'

/** At this number of members, a chunk is stored as a bitmap. */
const LISTED_MAX = 4_096

/** Edits of a chunk: few and many, dense and sparse, so that lists become bitmaps and lists again. */
const edits = fc
  .tuple(fc.constantFrom(40, 6_000, 65_536), fc.constantFrom(2, 300, 5_000), fc.integer(), fc.nat(10))
  .map(([span, count, seed, additions]) => {
    let state = seed >>> 0
    const below = (bound: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 2 ** 32) * bound)
    }
    return new Map(Array.from({ length: count }, () => [below(span), below(10) < additions] as const))
  })

test('an edited chunk equals a set with the same edits, and null means no change', (t) => {
  const property = fc.property(fc.array(edits, { maxLength: 12 }), (steps) => {
    const members = new Set<number>()
    let stored: Uint8Array | null = null
    for (const step of steps) {
      const before = new Set(members)
      for (const [offset, isMember] of step) {
        if (isMember) members.add(offset)
        else members.delete(offset)
      }
      const chunk = edited(stored, step)
      const isSame = before.size === members.size && [...members].every((offset) => before.has(offset))
      t.is(chunk === null, isSame)
      stored = chunk === null ? stored : chunk.bytes
      const found = new UidSet()
      if (stored !== null) found.addStored(0, stored)
      t.deepEqual(
        found.uids(),
        [...members].sort((a, b) => a - b),
      )
      if (chunk === null) continue
      t.is(chunk.count, members.size)
      t.is(chunk.bytes.length, members.size < LISTED_MAX ? members.size * 2 : 8_192)
    }
  })
  fc.assert(property, { numRuns: 60 })
})

for (const count of [LISTED_MAX - 1, LISTED_MAX, LISTED_MAX + 1])
  test(`a chunk of ${count} members is read back, whether it grew or shrank`, (t) => {
    const offsets = Array.from({ length: count + 2 }, (_, at) => 3 * at)
    const [members, others] = [offsets.slice(0, count), offsets.slice(count)]
    const edit = (edits: readonly number[], isMember: boolean) => new Map(edits.map((at) => [at, isMember]))
    const smaller = edited(null, edit(members.slice(2), true))
    const larger = edited(null, edit(offsets, true))
    for (const chunk of [
      edited(null, edit(members, true)),
      edited(smaller!.bytes, edit(members.slice(0, 2), true)),
      edited(larger!.bytes, edit(others, false)),
    ]) {
      const found = new UidSet()
      found.addStored(0, chunk!.bytes)
      t.deepEqual([chunk!.count, found.uids().length], [count, count])
      t.is(
        found.uids().findIndex((uid, at) => uid !== members[at]),
        -1,
      )
    }
  })
