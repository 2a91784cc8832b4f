import type { FilterValue, ForeignKey, Paging, SearchRequest } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { type Features, requestFeatures } from '../../instance/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import {
  type ConditionOutcomes,
  effectiveRule,
  effectsOf,
  type InlineRule,
  inlineOutcomes,
  type RuleBook,
  type RuledSearch,
  type RuleEffects,
} from '../../tasks/index.js'
import { ANSWER_BYTES_MAX } from './limits.js'
import type { Values } from './parse/index.js'
import type { searchFields } from './search-fields.js'
import { uuidV7 } from './uuid-v7.js'

/** A parsed search, from any route. */
export type ParsedSearch = Values<typeof searchFields>

export interface SearchContext {
  readonly entry: IndexEntry
  readonly features: Features
  /** The filter of the tenant token; null: no filter. */
  readonly forcedFilter: unknown
  readonly includeMetadata: boolean
  /** All dynamic search rules. They apply only while their feature is on. null: no rules. */
  readonly rules: RuleBook | null
  /** Absent: `_foreign` is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
}

/**
 * Returns the complete request to the engine.
 * @throws ApiError for conflicting parameters and for features that are off
 */
export function searchRequest(search: ParsedSearch, context: SearchContext): SearchRequest {
  const { entry, features } = context
  requireConsistent(search, features)
  const filter = bothFilters(search.filter, context.forcedFilter)
  const ruled = ruledSearch({ entry, q: search.q, filter, inlineRule: search.inlineRule }, features)
  const { pins, scales } = ruleEffects(ruled, context)
  return {
    indexUid: entry.uid,
    q: search.q,
    paging: paging(search),
    attributesToRetrieve: search.attributesToRetrieve?.includes('*') ? null : search.attributesToRetrieve,
    attributesToCrop: search.attributesToCrop,
    cropLength: search.cropLength,
    cropMarker: search.cropMarker,
    attributesToHighlight: search.attributesToHighlight,
    highlightPreTag: search.highlightPreTag,
    highlightPostTag: search.highlightPostTag,
    showMatchesPosition: search.showMatchesPosition,
    filter,
    sort: search.sort,
    distinct: search.distinct,
    facets: search.facets,
    matchingStrategy: search.matchingStrategy,
    attributesToSearchOn: search.attributesToSearchOn,
    rankingScoreThreshold: search.rankingScoreThreshold,
    locales: search.locales,
    hybrid: search.hybrid,
    vector: search.vector,
    retrieveVectors: search.retrieveVectors,
    showRankingScore: search.showRankingScore,
    showRankingScoreDetails: search.showRankingScoreDetails,
    showPerformanceDetails: search.showPerformanceDetails,
    features: requestFeatures(features),
    ...(context.foreignKeys && { foreignKeys: context.foreignKeys }),
    requestUid: uuidV7(),
    metadata: context.includeMetadata
      ? searchMetadata(search.q, entry, inlineOutcomes(ruled, features.ruleBudgets))
      : null,
    pins,
    ...(scales.length > 0 && { scales }),
    answerBytesMax: ANSWER_BYTES_MAX,
  }
}

/**
 * Returns the search for matching with rules.
 * @throws ApiError `feature_not_enabled` for an inline rule
 */
export function ruledSearch(
  search: Pick<RuledSearch, 'q' | 'filter'> & {
    readonly entry: IndexEntry
    readonly inlineRule: InlineRule | null
  },
  features: Features,
): RuledSearch {
  const { entry, q, filter, inlineRule } = search
  if (inlineRule !== null) features.require('dynamicSearchRules', 'passing `inlineRule`')
  const inline = inlineRule === null ? null : effectiveRule(inlineRule)
  return { indexUid: entry.uid, q, filter, now: Date.now(), inline }
}

/** Returns the effects of dynamic rules on a search; none while their feature is off. */
export function ruleEffects(
  search: RuledSearch,
  { features, rules }: Pick<SearchContext, 'features' | 'rules'>,
): RuleEffects {
  if (rules === null || !features.flags.dynamicSearchRules) return { pins: [], scales: [] }
  return effectsOf(rules, search, features.ruleBudgets)
}

/**
 * Refuses a search over all instances of the network, which is not part of this service.
 * @throws ApiError `feature_not_enabled`
 */
export function requireNoNetwork(useNetwork: boolean | null, features: Features): void {
  if (useNetwork === null) return
  features.require('network', 'passing `useNetwork`')
  if (useNetwork)
    throw new ApiError(
      'feature_not_enabled',
      '`useNetwork` is not part of this service; name remotes by `federationOptions.remote` in a federated ' +
        'multi-search instead',
    )
}

/** Checks the parameters that reorder hits. @throws ApiError `invalid_search_rerank` */
export function requireOneOrder({ personalize, rerank }: { personalize?: unknown; rerank?: unknown }): void {
  if (personalize && rerank)
    throw new ApiError('invalid_search_rerank', '`rerank` and `personalize` cannot be used together')
}

/** Checks the parameters for vectors and features, which all searches share. @throws ApiError */
export function requireConsistent(
  search: Pick<ParsedSearch, 'hybrid' | 'vector' | 'media' | 'useNetwork'> &
    Partial<Pick<ParsedSearch, 'personalize' | 'rerank'>>,
  features: Features,
): void {
  requireNoNetwork(search.useNetwork, features)
  requireOneOrder(search)
  if (search.media !== null && search.vector !== null) {
    throw new ApiError('invalid_search_media_and_vector', '`media` and `vector` cannot be used together')
  }
  if (search.hybrid === null && (search.media !== null || search.vector !== null)) {
    const given = search.media === null ? 'vector' : 'media'
    throw new ApiError('missing_search_hybrid', `\`${given}\` needs \`hybrid\`, which names the embedder`)
  }
  if (search.media !== null) features.require('multimodal', 'passing `media`')
}

/** Returns the paging of a search: by page if it has `page` or `hitsPerPage`, else by offset. */
export function paging(search: {
  readonly page: number | null
  readonly hitsPerPage: number | null
  readonly offset: number
  readonly limit: number
}): Paging {
  return search.page === null && search.hitsPerPage === null
    ? { kind: 'offset', offset: search.offset, limit: search.limit }
    : { kind: 'page', page: search.page ?? 1, hitsPerPage: search.hitsPerPage ?? 20 }
}

/** Returns a filter that requires both. The elements of an array are AND-ed, so joining two arrays suffices. */
export function bothFilters(own: FilterValue | null, forced: unknown): FilterValue | null {
  if (forced === null || forced === undefined) return own
  return [...conjuncts(own), ...conjuncts(forced as FilterValue)]
}

function conjuncts(filter: FilterValue | null): readonly (string | readonly string[])[] {
  if (filter === null || (typeof filter === 'string' && filter.trim() === '')) return []
  return typeof filter === 'string' ? [filter] : filter
}

/** Returns true if the header of the request asks for `metadata` in the answer. */
export function includesMetadata(request: { readonly headers: Readonly<Record<string, unknown>> }): boolean {
  const value = String(request.headers['meili-include-metadata'] ?? '')
  return value === '1' || value.toLowerCase() === 'true'
}

/** Returns the member `metadata` of the answer to one query. */
function searchMetadata(
  q: string | null,
  entry: IndexEntry,
  inlineRuleConditionOutcomes: ConditionOutcomes | null,
): Readonly<Record<string, unknown>> {
  return {
    ...(q !== null && { query: q }),
    queryUid: uuidV7(),
    indexUid: entry.uid,
    ...(entry.primaryKey !== null && { primaryKey: entry.primaryKey }),
    ...(inlineRuleConditionOutcomes !== null && { inlineRuleConditionOutcomes }),
  }
}
