import type { Access } from '../../auth/index.js'
import { ApiError, type ErrorCode } from '../../errors/index.js'
import type { Features } from '../../instance/index.js'
import type { Network } from '../remotes/index.js'
import type { Federation, PlacedQuery, Query } from './fields.js'

/** The same error, its message saying which part of the body it is about. */
export function inside(where: string, error: ApiError): ApiError {
  return new ApiError(error.code, `inside \`${where}\`: ${error.message}`, error.status)
}

/** What may be asked of several queries answered apart. @throws ApiError */
export function requirePlain({ query, at }: PlacedQuery): void {
  if (query.federationOptions === null) return
  const reason = '`federationOptions` is only accepted along with `federation`'
  throw inside(`.queries[${at}]`, new ApiError('invalid_multi_search_federation_options', reason))
}

/** @throws ApiError `invalid_api_key` */
export function requireAllowed(access: Access, { query, at }: PlacedQuery): void {
  if (!access.allows(query.indexUid)) throw inside(`.queries[${at}]`, access.refusal(query.indexUid))
}

/** What may be asked of one query of a federation. @throws ApiError */
export function requireFederable(
  { query, at }: PlacedQuery,
  federation: Federation,
  features: Features,
): void {
  const found = mistakeOf(query, federation)
  if (found !== null) throw inside(`.queries[${at}]`, new ApiError(...found))
  const { remote = null, queryPosition = null } = query.federationOptions ?? {}
  if (remote !== null || queryPosition !== null) features.require('network', 'federating over remotes')
  if (remote !== null && query.useNetwork !== null) {
    const reason = '`useNetwork` and `federationOptions.remote` exclude each other'
    throw inside(`.queries[${at}]`, new ApiError('invalid_multi_search_federation_options', reason))
  }
}

function mistakeOf(query: Query, federation: Federation): readonly [ErrorCode, string] | null {
  const paged = (['limit', 'offset', 'page', 'hitsPerPage'] as const).find((name) => query[name] !== null)
  const elsewhere = (name: string, place: string): string =>
    `\`${name}\` is not accepted in a federated query; use \`federation.${place}\``
  if (paged !== undefined) return ['invalid_multi_search_query_pagination', elsewhere(paged, paged)]
  if (query.facets !== null && query.facets.length > 0)
    return ['invalid_multi_search_query_facets', elsewhere('facets', 'facetsByIndex')]
  if (query.personalize !== null)
    return ['invalid_multi_search_query_personalization', elsewhere('personalize', 'personalize')]
  if (query.showPerformanceDetails !== null) {
    const name = 'showPerformanceDetails'
    return ['invalid_multi_search_query_show_performance_details', elsewhere(name, name)]
  }
  return query.distinct !== null && federation.distinct !== null
    ? ['invalid_multi_search_distinct', '`distinct` is given both here and in `federation`']
    : null
}

/** Who answers which queries. */
export interface Partition {
  readonly local: readonly PlacedQuery[]
  readonly remote: ReadonlyMap<string, readonly PlacedQuery[]>
}

/** @throws ApiError `invalid_multi_search_remote` for a name that the network does not know */
export function partition(placed: readonly PlacedQuery[], network: Network): Partition {
  const local: PlacedQuery[] = []
  const remote = new Map<string, PlacedQuery[]>()
  for (const one of placed) {
    const name = one.query.federationOptions?.remote ?? null
    if (name === null || name === network.self) local.push(one)
    else if (Object.hasOwn(network.remotes, name)) remote.set(name, [...(remote.get(name) ?? []), one])
    else {
      const error = new ApiError('invalid_multi_search_remote', `there is no remote \`${name}\``)
      throw inside(`.queries[${one.at}]`, error)
    }
  }
  return { local, remote }
}
