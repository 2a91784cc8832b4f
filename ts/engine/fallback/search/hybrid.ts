/**
 * Merges keyword hits and semantic hits.
 *
 * Source: vectors §6.7.
 * 1. If keyword hits fill the page with scores that semantic hits can hardly exceed, only keyword hits are returned.
 * 2. Otherwise the first hits of both lists are compared by weighted score; semantic hits win ties.
 * 3. A document appears once, at its better position, with the score of that position.
 */
import { compareValues, globalScore, type Ranked, scaleOf, valuesOf } from '../ranking/index.js'

/** Weighted keyword scores from this value make a semantic search unnecessary. Source: vectors §6.7. */
const GOOD_ENOUGH = 0.45

/** Returns true if keyword hits alone fill a page of `wanted` hits well. */
export const keywordHitsSuffice = (keywordHits: readonly Ranked[], wanted: number, ratio: number): boolean =>
  keywordHits.length >= wanted &&
  keywordHits.slice(0, wanted).every(({ details }) => globalScore(details) * (1 - ratio) >= GOOD_ENOUGH)

/** A merged hit, and the list it came from. */
interface MergedHit extends Ranked {
  readonly isSemantic: boolean
}

/**
 * Merges the first `wanted` hits.
 * @param keep returns false for a document that the distinct attribute excludes
 */
export function mergeHits(
  keywordHits: readonly Ranked[],
  semanticHits: readonly Ranked[],
  { ratio, wanted, keep }: { ratio: number; wanted: number; keep: (docid: number) => boolean },
): MergedHit[] {
  const weighted = ({ details }: Ranked, weight: number) => ({
    values: valuesOf(details, weight),
    score: globalScore(details) * (weight * scaleOf(details)),
  })
  const merged: MergedHit[] = []
  const seen = new Set<number>()
  let [nextKeyword, nextSemantic] = [0, 0]
  while (merged.length < wanted) {
    const [left, right] = [semanticHits[nextSemantic], keywordHits[nextKeyword]]
    if (left === undefined && right === undefined) break
    const first =
      right === undefined ||
      (left !== undefined && compareValues(weighted(left, ratio), weighted(right, 1 - ratio)) <= 0)
    const next = first ? left! : right
    if (first) nextSemantic++
    else nextKeyword++
    if (seen.has(next.docid)) continue
    seen.add(next.docid)
    if (keep(next.docid)) merged.push({ ...next, isSemantic: first })
  }
  return merged
}
