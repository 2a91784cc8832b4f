import { ApiError, type ErrorCode } from '../../../errors/index.js'
import type { Features } from '../../../instance/index.js'
import type { SearchAccess } from '../services.js'
import type { Federation, PositionedQuery, Query } from './fields.js'

/** Returns the error with a message that starts with its location in the body. */
export function inside(where: string, error: ApiError): ApiError {
  return new ApiError(error.code, `inside \`${where}\`: ${error.message}`, error.status)
}

/** Checks a query outside a federation. @throws ApiError */
export function requirePlain({ query, position }: PositionedQuery): void {
  if (query.federationOptions === null) return
  const reason = '`federationOptions` is only accepted along with `federation`'
  throw inside(`.queries[${position}]`, new ApiError('invalid_multi_search_federation_options', reason))
}

/** @throws ApiError `invalid_api_key` */
export function requireAllowed(access: SearchAccess, { query, position }: PositionedQuery): void {
  if (!access.allows(query.indexUid)) throw inside(`.queries[${position}]`, access.refusal(query.indexUid))
}

/**
 * Checks a query of a federation.
 * @param features null: another cell of this instance has checked them
 * @param isElsewhere true if another cell has the index
 * @throws ApiError
 */
export function requireFederable(
  { query, position }: PositionedQuery,
  federation: Federation,
  features: Features | null,
  isElsewhere = false,
): void {
  const found = mistakeOf(query, federation)
  if (found !== null) throw inside(`.queries[${position}]`, new ApiError(...found))
  const { remote = null, queryPosition = null } = query.federationOptions ?? {}
  if (remote !== null || queryPosition !== null) features?.require('network', 'federating over remotes')
  if (remote !== null && federation.rerank !== null) {
    const reason = '`federation.rerank` orders hits of this instance only: leave it out to search remotes'
    throw inside(`.queries[${position}]`, new ApiError('invalid_search_rerank', reason))
  }
  if (isElsewhere && federation.rerank !== null) {
    const reason = '`federation.rerank` orders hits of this cell only: leave it out to search other cells'
    throw inside(`.queries[${position}]`, new ApiError('invalid_search_rerank', reason))
  }
  if (remote !== null && query.useNetwork !== null) {
    const reason = '`useNetwork` and `federationOptions.remote` exclude each other'
    throw inside(`.queries[${position}]`, new ApiError('invalid_multi_search_federation_options', reason))
  }
}

function mistakeOf(query: Query, federation: Federation): readonly [ErrorCode, string] | null {
  const paged = (['limit', 'offset', 'page', 'hitsPerPage'] as const).find((name) => query[name] !== null)
  const elsewhere = (name: string, field: string): string =>
    `\`${name}\` is not accepted in a federated query; use \`federation.${field}\``
  if (paged !== undefined) return ['invalid_multi_search_query_pagination', elsewhere(paged, paged)]
  if (query.facets !== null && query.facets.length > 0)
    return ['invalid_multi_search_query_facets', elsewhere('facets', 'facetsByIndex')]
  if (query.personalize !== null)
    return ['invalid_multi_search_query_personalization', elsewhere('personalize', 'personalize')]
  if (query.rerank !== null) return ['invalid_search_rerank', elsewhere('rerank', 'rerank')]
  if (query.showPerformanceDetails !== null) {
    const name = 'showPerformanceDetails'
    return ['invalid_multi_search_query_show_performance_details', elsewhere(name, name)]
  }
  return query.distinct !== null && federation.distinct !== null
    ? ['invalid_multi_search_distinct', '`distinct` is given both here and in `federation`']
    : null
}
