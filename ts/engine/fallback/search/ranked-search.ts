import type { Ranked, SortCriterion } from '../ranking/index.js'
import type { DocSet } from '../store/docid-set.js'
import type { Candidates } from './candidates.js'
import type { Stages } from './stages.js'

/** A ranked page before it is written. */
export interface RankedSearch {
  readonly candidates: Candidates
  readonly sort: readonly SortCriterion[]
  /** Ranked hits, starting with the first. */
  readonly ranked: readonly Ranked[]
  /** Matching documents that are not excluded or dropped. */
  readonly counted: DocSet
  readonly degraded: boolean
  /** True for hits from vectors; null for a keyword search. */
  readonly isSemantic: ((docid: number) => boolean) | null
  /** True if only vectors were searched. */
  readonly semanticOnly: boolean
  /** True if vectors were compared. */
  readonly comparedVectors: boolean
  /** True if a missing query vector would have been used; absent: false. */
  readonly lacksVector?: boolean
  readonly stages: Stages
}
