/**
 * Here are hits by words and hits by meaning: what is the one list?
 *
 * Source: vectors §6.7.
 *  1. If words alone fill the page with scores that meaning can hardly beat, they are the answer.
 *  2. Else the heads of both lists are compared by their weighted scores; equal ones: meaning first.
 *  3. A document comes once, where it stands better, with the score it has there.
 */
import { compareValues, globalScore, type Ranked, valuesOf } from '../ranking/index.js'

/** Weighted scores from here on are good enough to leave meaning out. Source: vectors §6.7. */
const GOOD_ENOUGH = 0.45

/** Whether words alone fill a page of `wanted` hits well. */
export const wordsSuffice = (byWords: readonly Ranked[], wanted: number, ratio: number): boolean =>
  byWords.length >= wanted &&
  byWords.slice(0, wanted).every(({ details }) => globalScore(details) * (1 - ratio) >= GOOD_ENOUGH)

/** A merged hit, and which list it came from. */
export interface MergedHit extends Ranked {
  readonly byMeaning: boolean
}

/**
 * Merges the first `wanted` hits.
 * @param keep whether a document stays that no other one of its kind was taken for
 */
export function mergeHits(
  byWords: readonly Ranked[],
  byMeaning: readonly Ranked[],
  { ratio, wanted, keep }: { ratio: number; wanted: number; keep: (docid: number) => boolean },
): MergedHit[] {
  const weighted = ({ details }: Ranked, weight: number) => ({
    values: valuesOf(details, weight),
    score: globalScore(details) * weight,
  })
  const merged: MergedHit[] = []
  const seen = new Set<number>()
  let [word, meaning] = [0, 0]
  while (merged.length < wanted) {
    const [left, right] = [byMeaning[meaning], byWords[word]]
    if (left === undefined && right === undefined) break
    const first =
      right === undefined ||
      (left !== undefined && compareValues(weighted(left, ratio), weighted(right, 1 - ratio)) <= 0)
    const next = first ? left! : right
    if (first) meaning++
    else word++
    if (seen.has(next.docid)) continue
    seen.add(next.docid)
    if (keep(next.docid)) merged.push({ ...next, byMeaning: first })
  }
  return merged
}
