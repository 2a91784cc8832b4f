/** Complete requests of several searches, and what reorders their hits. */
import type { Answer, Paging, SearchRequest } from '../../../engine/index.js'
import type { IndexEntry } from '../../../tasks/index.js'
import type { DisconnectSignal } from '../disconnect-signal.js'
import type { PositionedQuery } from './fields.js'

/** A query, and its complete request to the engine. */
export interface Completed {
  readonly asked: PositionedQuery
  readonly entry: IndexEntry
  readonly request: SearchRequest
}

/** Asks the engine for other hits than the client wants, and makes the answer for the client. */
export interface ReorderedSearches {
  readonly requests: readonly SearchRequest[]
  /** The page of merged hits to ask for; null for separate searches. */
  readonly paging: Paging | null
  /** @param again runs a federated search once more with other requests, without facets and metadata */
  apply(
    answer: Answer,
    stop: DisconnectSignal,
    again: (requests: readonly SearchRequest[]) => Promise<Answer>,
  ): Promise<Uint8Array>
}
