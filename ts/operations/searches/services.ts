import type { Embedders } from '../../embedding/index.js'
import type { Answers, Engine } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import type { Features } from '../../instance/index.js'
import type { Rerankers } from '../../reranking/index.js'
import type { Tasks } from '../../tasks/index.js'
import type { SearchRights } from '../requests/index.js'
import type { RuleFilters } from './rule-filters.js'

/** The services that searches need from an open instance. */
export interface SearchServices {
  readonly engine: Engine
  /** The cached answers of searches. */
  readonly answers: Answers
  readonly embedders: Embedders
  readonly rerankers: Rerankers
  readonly tasks: Tasks
  readonly features: Features
  /** True if every search must measure its stages, for the log of slow searches. */
  readonly queries: { readonly timesStages: boolean }
  /** Absent: filters of dynamic search rules are not checked. */
  readonly ruleFilters?: RuleFilters
}

/** The indexes that a request may search. */
export interface SearchAccess extends SearchRights {
  /** Returns true if the request may search this index. */
  allows(indexUid: string): boolean
  /** Returns the error for an index that is not allowed. */
  refusal(indexUid: string): ApiError
}

/** The rights of the process itself: all indexes. */
export const everyRight: SearchAccess = {
  allows: () => true,
  refusal: (indexUid) => new ApiError('invalid_api_key', `the index \`${indexUid}\` is not allowed`),
  maySearch: () => true,
  forcedFilter: () => null,
}
