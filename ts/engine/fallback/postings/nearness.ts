/** Tells how near two words are in a document. */
import { occurrencesEnd, occurrencesStart, type PostingList } from './postings.js'

/** Smallest distance from an occurrence in one list to a later occurrence in the other, within a field. */
export function forwardDistance(lefts: PostingList, a: number, rights: PostingList, b: number): number {
  let least = Number.POSITIVE_INFINITY
  let left = occurrencesStart(lefts, a)
  const leftEnd = occurrencesEnd(lefts, a)
  const rightEnd = occurrencesEnd(rights, b)
  for (let right = occurrencesStart(rights, b); right < rightEnd; right++) {
    const occurrence = rights[right]!
    while (left < leftEnd && lefts[left]! < occurrence) left++
    const before = left - 1
    if (before < occurrencesStart(lefts, a)) continue
    const distance = occurrence - lefts[before]!
    if (distance < least && occurrence >>> 16 === lefts[before]! >>> 16) least = distance
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
