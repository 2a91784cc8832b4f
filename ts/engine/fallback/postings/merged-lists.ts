/** Merges posting lists. */
import { DocSet } from '../store/docid-set.js'
import { EMPTY_LIST, occurrencesEnd, type PostingList } from './postings.js'

/** Merges the occurrences of several lists. @param bound exclusive upper bound of docids */
export function mergedLists(lists: readonly PostingList[], bound: number): PostingList {
  if (lists.length === 0) return EMPTY_LIST
  if (lists.length === 1) return lists[0]!
  const documents = new DocSet(bound)
  for (const list of lists) {
    const count = list[0]!
    for (let nth = 1; nth <= count; nth++) documents.add(list[nth]!)
  }
  const docids = documents.toArray()
  const placeOf = documents.places()
  const next = new Uint32Array(docids.length + 1)
  for (const list of lists) {
    const count = list[0]!
    let before = 0
    for (let nth = 0; nth < count; nth++) {
      const end = list[1 + count + nth]!
      const after = placeOf(list[1 + nth]!) + 1
      next[after] = next[after]! + end - before
      before = end
    }
  }
  for (let place = 0; place < docids.length; place++) next[place + 1] = next[place + 1]! + next[place]!
  const base = 1 + 2 * docids.length
  const merged = new Uint32Array(base + next[docids.length]!)
  merged[0] = docids.length
  merged.set(docids, 1)
  merged.set(next.subarray(1), 1 + docids.length)
  for (const list of lists) {
    const count = list[0]!
    let at = 1 + 2 * count
    for (let nth = 0; nth < count; nth++) {
      const end = occurrencesEnd(list, nth)
      const place = placeOf(list[1 + nth]!)
      let slot = base + next[place]!
      while (at < end) merged[slot++] = list[at++]!
      next[place] = slot - base
    }
  }
  for (let place = 0, from = base; place < docids.length; place++) {
    const to = base + merged[1 + docids.length + place]!
    sortRange(merged, from, to)
    from = to
  }
  return merged
}

/** Longer ranges are sorted by the library. */
const INSERTED_MAX = 32

/** Sorts a range that consists of few ascending runs. */
export function sortRange(numbers: Uint32Array, from: number, to: number): void {
  if (to - from > INSERTED_MAX) {
    numbers.subarray(from, to).sort()
    return
  }
  for (let at = from + 1; at < to; at++) {
    const number = numbers[at]!
    let hole = at
    for (; hole > from && numbers[hole - 1]! > number; hole--) numbers[hole] = numbers[hole - 1]!
    numbers[hole] = number
  }
}
