import { searchedText } from '../../engine/index.js'
import type { MatchingStrategy } from '../../settings/index.js'
import { MARK_BYTES_MAX, NAMES_MAX, RERANK_TOP_K_MAX, USER_CONTEXT_BYTES_MAX } from './limits.js'
import { locale } from './locales.js'
import {
  anything,
  atMost,
  badValue,
  boolean,
  defaulted,
  filter,
  integer,
  jsonOrText,
  list,
  number,
  oneOf,
  optional,
  refined,
  required,
  shape,
  sortList,
  string,
  strings,
  type Type,
  unitInterval,
} from './parse/index.js'
import { inlineRule } from './rule-fields.js'

/** The text of a query, cut at a length beyond which the answer no longer changes. */
const query: Type<string> = refined(string, searchedText)

/** A highlight tag or the crop marker. */
const mark: Type<string> = refined(
  string,
  (text, at) => {
    const bytes = Buffer.byteLength(text)
    if (bytes > MARK_BYTES_MAX) throw badValue(`it has ${bytes} bytes, the most are ${MARK_BYTES_MAX}`, at)
    return text
  },
  { maxLength: MARK_BYTES_MAX },
)

/** Names of attributes, patterns or criteria. */
const names: Type<readonly string[]> = atMost(strings, NAMES_MAX)

/** A non-empty name. */
const nonEmpty: Type<string> = refined(string, (text, at) => {
  if (text === '') throw badValue('it is empty', at)
  return text
})

/** A component of a vector. Must fit into a 32-bit float. */
const component: Type<number> = refined(number(), (value, at) => {
  if (!Number.isFinite(Math.fround(value))) throw badValue(`\`${value}\` is too large for a 32-bit float`, at)
  return value
})

const components = list(component)

const vector: Type<readonly number[]> = {
  ...components,
  // Most vectors are valid, so the path of a component is computed only for an error message.
  json(node, at) {
    const numbers = node.kind === 'array' ? node.numbers : undefined
    const isSound = numbers?.every((value) => Number.isFinite(Math.fround(value)))
    return numbers !== undefined && isSound ? numbers : components.json(node, at)
  },
}

/** Default weight of meaning against words in a hybrid search. */
export const defaultSemanticRatio = 0.5

const hybrid = shape(
  {
    embedder: required(string, 'invalid_search_embedder'),
    semanticRatio: defaulted(unitInterval, defaultSemanticRatio, 'invalid_search_semantic_ratio'),
  },
  { notesSent: true },
)

const userContext: Type<string> = refined(string, (text, at) => {
  const bytes = Buffer.byteLength(text)
  if (bytes > USER_CONTEXT_BYTES_MAX)
    throw badValue(`it has ${bytes} bytes, the most are ${USER_CONTEXT_BYTES_MAX}`, at)
  return text
})

/** `personalize` of searches and federations. */
export const personalize = shape({
  userContext: required(userContext, 'invalid_search_personalize_user_context'),
})

/** Default number of hits that a reranker ranks. */
export const defaultTopK = 50

const topK: Type<number> = refined(
  integer(),
  (count, at) => {
    if (count < 1 || count > RERANK_TOP_K_MAX)
      throw badValue(`\`${count}\` is not between 1 and ${RERANK_TOP_K_MAX}`, at)
    return count
  },
  { minimum: 1, maximum: RERANK_TOP_K_MAX },
)

const rerankFields = {
  model: required(nonEmpty, 'invalid_search_rerank_model'),
  topK: defaulted(topK, defaultTopK, 'invalid_search_rerank_top_k'),
}

/** `rerank` of searches. */
const rerank = shape(rerankFields)

/** `rerank` of federations. */
export const federationRerank = shape({
  ...rerankFields,
  query: optional(query, 'invalid_search_rerank'),
})

const matchingStrategy = oneOf(['last', 'all', 'frequency', 'any'])

/** Fields that the bodies and query strings of all searches share. */
const common = {
  q: optional(query, 'invalid_search_q'),
  attributesToRetrieve: optional(names, 'invalid_search_attributes_to_retrieve'),
  attributesToCrop: optional(names, 'invalid_search_attributes_to_crop'),
  cropLength: defaulted(integer(), 10, 'invalid_search_crop_length'),
  cropMarker: defaulted(mark, '…', 'invalid_search_crop_marker'),
  attributesToHighlight: optional(names, 'invalid_search_attributes_to_highlight'),
  highlightPreTag: defaulted(mark, '<em>', 'invalid_search_highlight_pre_tag'),
  highlightPostTag: defaulted(mark, '</em>', 'invalid_search_highlight_post_tag'),
  showMatchesPosition: defaulted(boolean, false, 'invalid_search_show_matches_position'),
  filter: optional(filter, 'invalid_search_filter'),
  sort: optional(names, 'invalid_search_sort'),
  distinct: optional(string, 'invalid_search_distinct'),
  facets: optional(names, 'invalid_search_facets'),
  matchingStrategy: defaulted<MatchingStrategy | null>(
    matchingStrategy,
    null,
    'invalid_search_matching_strategy',
  ),
  attributesToSearchOn: optional(names, 'invalid_search_attributes_to_search_on'),
  rankingScoreThreshold: optional(unitInterval, 'invalid_search_ranking_score_threshold'),
  locales: optional(atMost(list(locale), NAMES_MAX), 'invalid_search_locales'),
  hybrid: optional(hybrid, 'invalid_search_hybrid_query'),
  vector: optional(vector, 'invalid_search_vector'),
  media: optional(anything, 'invalid_search_media'),
  retrieveVectors: defaulted(boolean, false, 'invalid_search_retrieve_vectors'),
  showRankingScore: defaulted(boolean, false, 'invalid_search_show_ranking_score'),
  showRankingScoreDetails: defaulted(boolean, false, 'invalid_search_show_ranking_score_details'),
  page: optional(integer(), 'invalid_search_page'),
  hitsPerPage: optional(integer(), 'invalid_search_hits_per_page'),
  personalize: optional(personalize, 'invalid_search_personalize'),
  rerank: optional(rerank, 'invalid_search_rerank'),
  useNetwork: optional(boolean, 'invalid_search_use_network'),
  inlineRule: optional(inlineRule, 'invalid_search_inline_rule'),
} as const

/** Fields of the body of POST search. */
export const searchFields = {
  ...common,
  offset: defaulted(integer(), 0, 'invalid_search_offset'),
  limit: defaulted(integer(), 20, 'invalid_search_limit'),
  showPerformanceDetails: defaulted(boolean, false, 'invalid_search_show_performance_details'),
} as const

/** Fields of a query of multi-search. Paging has no default here, because queries of a federation must not have it. */
export const multiSearchQueryFields = {
  ...common,
  offset: optional(integer(), 'invalid_search_offset'),
  limit: optional(integer(), 'invalid_search_limit'),
  showPerformanceDetails: optional(boolean, 'invalid_search_show_performance_details'),
} as const

const {
  hybrid: _hybrid,
  media: _media,
  personalize: _personalize,
  rerank: _rerank,
  inlineRule: _inlineRule,
  ...alsoInQueries
} = searchFields

/** Query parameters of GET search, with flat names for nested members of the body. */
export const searchParameters = {
  ...alsoInQueries,
  filter: optional(jsonOrText(filter), 'invalid_search_filter'),
  sort: optional(atMost(sortList, NAMES_MAX), 'invalid_search_sort'),
  distinct: optional(nonEmpty, 'invalid_search_distinct'),
  hybridEmbedder: optional(nonEmpty, 'invalid_search_embedder'),
  hybridSemanticRatio: optional(unitInterval, 'invalid_search_semantic_ratio'),
  personalizeUserContext: optional(userContext, 'invalid_search_personalize_user_context'),
  rerankModel: optional(nonEmpty, 'invalid_search_rerank_model'),
  rerankTopK: optional(topK, 'invalid_search_rerank_top_k'),
} as const

/** Fields of the body of facet search. It ignores other fields, so that the body of a search can be sent. */
export const facetSearchFields = {
  facetName: required(string, 'invalid_facet_search_facet_name', 'missing_facet_search_facet_name'),
  facetQuery: optional(query, 'invalid_facet_search_query'),
  q: common.q,
  vector: common.vector,
  media: common.media,
  hybrid: common.hybrid,
  filter: common.filter,
  matchingStrategy: common.matchingStrategy,
  attributesToSearchOn: common.attributesToSearchOn,
  rankingScoreThreshold: common.rankingScoreThreshold,
  locales: common.locales,
  useNetwork: common.useNetwork,
  exhaustiveFacetCount: optional(boolean, 'invalid_facet_search_exhaustive_facet_count'),
} as const
