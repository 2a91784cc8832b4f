/** Tells how near two words are in a document. */
import { occurrencesEnd, occurrencesStart, type PostingList } from './postings.js'

/** Smallest distance from an occurrence in one list to a later occurrence in the other, within a field. */
export function forwardDistance(lefts: PostingList, a: number, rights: PostingList, b: number): number {
  const [left, right] = [occurrencesStart(lefts, a), occurrencesStart(rights, b)]
  return leastDistance(lefts, left, occurrencesEnd(lefts, a), rights, right, occurrencesEnd(rights, b))
}

/** As `forwardDistance`, for ranges of ascending occurrences. Each range ends before its `to`. */
export function leastDistance(
  lefts: Uint32Array,
  leftFrom: number,
  leftTo: number,
  rights: Uint32Array,
  rightFrom: number,
  rightTo: number,
): number {
  let least = Number.POSITIVE_INFINITY
  let next = leftFrom
  for (let at = rightFrom; at < rightTo; at++) {
    const right = rights[at]!
    while (next < leftTo && lefts[next]! < right) next++
    if (next === leftFrom) continue
    const left = lefts[next - 1]!
    if (right - left < least && right >>> 16 === left >>> 16) least = right - left
  }
  return least
}

/** Returns true if the documents at `a` and `b` of two lists contain both words in the same field. */
export function shareField(lefts: PostingList, a: number, rights: PostingList, b: number): boolean {
  let left = occurrencesStart(lefts, a)
  let right = occurrencesStart(rights, b)
  const leftEnd = occurrencesEnd(lefts, a)
  const rightEnd = occurrencesEnd(rights, b)
  while (left < leftEnd && right < rightEnd) {
    const difference = (lefts[left]! >>> 16) - (rights[right]! >>> 16)
    if (difference === 0) return true
    if (difference < 0) left++
    else right++
  }
  return false
}
