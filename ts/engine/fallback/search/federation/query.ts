/** Types of federated queries before and after ranking. */
import type { OpenIndex } from '../../open-index.js'
import type { Comparable, Ranked } from '../../ranking/index.js'
import type { HitWriter } from '../hits.js'
import type { RankedSearch } from '../ranked-search.js'
import type { StoppableRequest } from '../search.js'

/** A query of the federation. */
export interface FederatedQuery {
  readonly index: OpenIndex
  readonly request: StoppableRequest
}

export interface RankedQuery extends FederatedQuery {
  readonly position: number
  readonly weight: number
  readonly found: RankedSearch
  readonly writer: HitWriter
}

/** A hit of a query that may be listed. */
export interface Candidate extends Comparable {
  readonly query: RankedQuery
  readonly ranked: Ranked
  /** Values of the federation's `distinct` attribute. */
  readonly distinct: readonly (number | string)[]
}
