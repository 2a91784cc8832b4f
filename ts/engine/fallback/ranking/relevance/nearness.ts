/** Scores words of the query that are near each other in a document, in their order. */
import type { FieldLengths } from '../../postings/field-lengths.js'
import type { PostingList } from '../../postings/postings.js'
import type { TermResolver } from '../../query/resolver.js'
import { NEAR_DISTANCE_MAX, scoreOf } from './formula.js'

/** Neighbouring words of the query. */
export interface Pair {
  readonly left: PostingList
  readonly right: PostingList
  /** The highest score for words next to each other. */
  readonly max: number
  /** True if the query writes both words without a separator. */
  readonly isAttached: boolean
}

/** Frequency of one occurrence in a field, by the code of its length. */
export type UnitsByField = ReadonlyMap<number, Float64Array>

/**
 * Returns the score of a document for all pairs. A pair counts once: in the field with the highest frequency unit among
 * those where its words are at most `NEAR_DISTANCE_MAX` positions apart.
 */
export function nearness(
  resolver: TermResolver,
  pairs: readonly Pair[],
  docid: number,
  lengths: ReadonlyMap<number, FieldLengths>,
  units: UnitsByField,
): number {
  let sum = 0
  for (const { left, right, max } of pairs) {
    const lefts = resolver.occurrencesIn(docid, left, false)
    if (lefts.length === 0) continue
    let best = 0
    let next = 0
    for (const occurrence of resolver.occurrencesIn(docid, right, false)) {
      while (next < lefts.length && lefts[next]! < occurrence) next++
      const before = lefts[next - 1]
      if (before === undefined || before >>> 16 !== occurrence >>> 16) continue
      if (occurrence - before > NEAR_DISTANCE_MAX) continue
      const field = occurrence >>> 16
      best = Math.max(best, units.get(field)![lengths.get(field)!.code(docid)]!)
    }
    if (best > 0) sum += scoreOf(max, best)
  }
  return sum
}
