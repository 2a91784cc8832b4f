import {
  atMost,
  badValue,
  boolean,
  defaulted,
  federationRerank,
  indexUid,
  integer,
  isIndexUid,
  list,
  mapOf,
  multiSearchQueryFields,
  NAMES_MAX,
  nullable,
  number,
  optional,
  personalize,
  QUERIES_MAX,
  RERANKED_HITS_MAX,
  refined,
  required,
  shape,
  string,
  strings,
  type Values,
} from '../../requests/index.js'

const weight = number((value) => value >= 0, 'zero or more')
const queryFields = {
  indexUid: required(indexUid, 'invalid_index_uid', 'missing_index_uid'),
  ...multiSearchQueryFields,
  federationOptions: optional(
    shape({
      weight: defaulted(weight, 1, 'invalid_multi_search_weight'),
      remote: optional(string, 'invalid_multi_search_remote'),
      queryPosition: optional(integer(), 'invalid_multi_search_query_position'),
    }),
    'bad_request',
  ),
}
const facetsByIndex = refined(mapOf(nullable(atMost(strings, NAMES_MAX))), (facets, at) => {
  for (const uid of facets.keys()) {
    if (!isIndexUid(uid)) throw badValue(`\`${uid}\` is not a valid index uid`, at)
  }
  return facets
})
const federationFields = {
  limit: defaulted(integer(), 20, 'invalid_search_limit'),
  offset: defaulted(integer(), 0, 'invalid_search_offset'),
  page: optional(integer(), 'invalid_search_page'),
  hitsPerPage: optional(integer(), 'invalid_search_hits_per_page'),
  facetsByIndex: defaulted(
    facetsByIndex,
    new Map<string, readonly string[] | null>(),
    'invalid_multi_search_facets_by_index',
  ),
  mergeFacets: optional(
    shape({
      maxValuesPerFacet: optional(integer(), 'invalid_multi_search_max_values_per_facet'),
    }),
    'invalid_multi_search_merge_facets',
  ),
  distinct: optional(string, 'invalid_search_distinct'),
  showPerformanceDetails: defaulted(boolean, false, 'invalid_search_show_performance_details'),
  personalize: optional(personalize, 'invalid_search_personalize'),
  rerank: optional(federationRerank, 'invalid_search_rerank'),
} as const
const queries = refined(atMost(list(shape(queryFields)), QUERIES_MAX), (all, at) => {
  const hits = all.reduce((sum, { rerank }) => sum + (rerank?.topK ?? 0), 0)
  if (hits <= RERANKED_HITS_MAX) return all
  const reason = `\`rerank.topK\` is ${hits} for all queries together, the most is ${RERANKED_HITS_MAX}`
  throw badValue(reason, { ...at, code: 'invalid_search_rerank_top_k' })
})
export const multiSearchBody = shape({
  federation: optional(shape(federationFields), 'bad_request'),
  queries: required(queries, 'bad_request'),
})

export type Query = Values<typeof queryFields>
export type Federation = Values<typeof federationFields>

/** A query, and its position in the request. */
export interface PositionedQuery {
  readonly query: Query
  readonly position: number
}

/** Returns the query position for hits. Another instance that sends the query may set it. */
export const shownPosition = ({ query, position }: PositionedQuery): number =>
  query.federationOptions?.queryPosition ?? position
