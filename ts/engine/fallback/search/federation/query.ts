/** Here are queries of a federated search: what is known of each once it is ranked? */
import type { OpenIndex } from '../../open-index.js'
import type { Comparable, Ranked } from '../../ranking/index.js'
import type { HitWriter } from '../hits.js'
import type { RankedSearch } from '../ranked-search.js'
import type { StoppableRequest } from '../search.js'

/** One query of the federation. */
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

/** A hit of a query, which may be listed. */
export interface Candidate extends Comparable {
  readonly query: RankedQuery
  readonly ranked: Ranked
  /** What the federation's `distinct` tells it apart by. */
  readonly distinct: readonly (number | string)[]
}
