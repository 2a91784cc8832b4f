import type { SearchFacts } from '../../engine.js'
import type { FederationRequest, SearchRequest } from '../../requests.js'
import type { OpenIndex } from '../open-index.js'

export interface FederatedQuery {
  readonly index: OpenIndex
  readonly request: SearchRequest
}

export function federatedSearch(
  _queries: readonly FederatedQuery[],
  _federation: FederationRequest,
): { json: string; facts: SearchFacts } {
  throw new Error('federated search is not written yet')
}
