import type { Ranked, SortCriterion } from '../ranking/index.js'
import type { DocSet } from '../store/docid-set.js'
import type { Candidates } from './candidates.js'
import type { Stages } from './stages.js'

/** A ranked page before it is written. */
export interface RankedSearch {
  readonly candidates: Candidates
  readonly sort: readonly SortCriterion[]
  /** From the first document on. */
  readonly ranked: readonly Ranked[]
  /** Matching documents without those excluded or dropped. */
  readonly counted: DocSet
  readonly degraded: boolean
  /** Whether a hit came from vectors; null for a search by words alone. */
  readonly byMeaning: ((docid: number) => boolean) | null
  /** Whether words were not looked at. */
  readonly onlyMeaning: boolean
  /** Whether vectors were looked at. */
  readonly comparedVectors: boolean
  /** Whether a vector would have been looked at; absent: no. */
  readonly lacksVector?: boolean
  readonly stages: Stages
}
