import type { Embedders } from '../embedders/index.js'
import type { Answers, Engine } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import type { Features } from '../instance/index.js'
import type { SearchRights } from '../requests/index.js'
import type { Tasks } from '../tasks/index.js'

/** What searches need of an open instance. */
export interface SearchServices {
  readonly engine: Engine
  /** The engine's answers to searches. */
  readonly answers: Answers
  readonly embedders: Embedders
  readonly tasks: Tasks
  readonly features: Features
  /** Whether every search measures its stages, for who watches them. */
  readonly queries: { readonly timesStages: boolean }
}

/** What a request may search. */
export interface SearchAccess extends SearchRights {
  /** Whether the request may search this index. */
  allows(indexUid: string): boolean
  /** The error for an index that is not allowed. */
  refusal(indexUid: string): ApiError
}

/** The rights of the process itself, which may read all of its indexes. */
export const everyRight: SearchAccess = {
  allows: () => true,
  refusal: (indexUid) => new ApiError('invalid_api_key', `the index \`${indexUid}\` is not allowed`),
  maySearch: () => true,
  forcedFilter: () => null,
}
