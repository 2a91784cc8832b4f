import type { FastifyRequest } from 'fastify'
import type { FilterValue, SearchFacts } from '../../engine/index.js'
import type { Facts, UsageEvent } from '../../telemetry/index.js'
import type { Services } from '../services.js'
import type { Metrics } from './metrics.js'

/** Counts a request, with the client that its headers name. */
export function recordUse(
  { usage }: Pick<Services, 'usage'>,
  request: FastifyRequest,
  event: UsageEvent,
  facts: Facts,
): void {
  // Clients in browsers cannot set the user agent.
  const agent = request.headers['x-meilisearch-client'] ?? request.headers['user-agent']
  const agents = [agent].flat().filter((one) => one !== undefined)
  usage.record(event, { ...facts, ...(agents.length > 0 && { user_agent: agents }) })
}

/** The parameters of a search that its facts are derived from; each route has some of them. */
interface Asked {
  readonly q?: string | null
  readonly filter?: FilterValue | null
  readonly sort?: readonly string[] | null
  readonly distinct?: string | null
  readonly facets?: readonly string[] | null
  readonly offset?: number | null
  readonly limit?: number | null
  readonly page?: number | null
  readonly hitsPerPage?: number | null
  readonly attributesToRetrieve?: readonly string[] | null
  readonly attributesToHighlight?: readonly string[] | null
  readonly attributesToCrop?: readonly string[] | null
  readonly highlightPreTag?: string
  readonly highlightPostTag?: string
  readonly cropLength?: number
  readonly cropMarker?: string
  readonly showMatchesPosition?: boolean
  readonly showRankingScore?: boolean
  readonly showRankingScoreDetails?: boolean
  readonly rankingScoreThreshold?: number | null
  readonly attributesToSearchOn?: readonly string[] | null
  readonly matchingStrategy?: string
  readonly locales?: readonly string[] | null
  readonly vector?: readonly number[] | null
  readonly retrieveVectors?: boolean
  readonly hybrid?: { readonly semanticRatio: number } | null
  readonly media?: unknown
}

/** Facts about the parameters of a search: counts and switches, never its words, names or values. */
export function askedFacts(asked: Asked): Facts {
  const { sort, distinct, facets, vector, hybrid } = asked
  const paging = asked.page ?? asked.hitsPerPage ?? null
  return {
    'requests.total_received': 1,
    ...(sort && {
      'sort.avg_criteria_number': sort.length,
      'sort.with_geoPoint': sort.some((one) => one.startsWith('_geoPoint(')),
    }),
    ...filterFacts(asked.filter ?? null),
    ...(facets && {
      'facets.avg_facets_number': facets.length,
      'facets.total_distinct_facet_count': new Set(facets).size,
    }),
    distinct: distinct !== null && distinct !== undefined,
    'pagination.max_limit': asked.hitsPerPage ?? asked.limit ?? 20,
    'pagination.max_offset': asked.offset ?? 0,
    'pagination.most_used_navigation': paging === null ? 'estimated' : 'exhaustive',
    'formatting.max_attributes_to_retrieve': asked.attributesToRetrieve?.length ?? 0,
    'formatting.max_attributes_to_highlight': asked.attributesToHighlight?.length ?? 0,
    'formatting.max_attributes_to_crop': asked.attributesToCrop?.length ?? 0,
    'formatting.highlight_pre_tag': (asked.highlightPreTag ?? '<em>') !== '<em>',
    'formatting.highlight_post_tag': (asked.highlightPostTag ?? '</em>') !== '</em>',
    'formatting.crop_length': (asked.cropLength ?? 10) !== 10,
    'formatting.crop_marker': (asked.cropMarker ?? '…') !== '…',
    'formatting.show_matches_position': asked.showMatchesPosition ?? false,
    'scoring.show_ranking_score': asked.showRankingScore ?? false,
    'scoring.show_ranking_score_details': asked.showRankingScoreDetails ?? false,
    'scoring.ranking_score_threshold': typeof asked.rankingScoreThreshold === 'number',
    'attributes_to_search_on.total_number_of_uses': asked.attributesToSearchOn ? 1 : 0,
    ...(asked.matchingStrategy && { 'matching_strategy.most_used_strategy': asked.matchingStrategy }),
    ...(asked.locales && { locales: asked.locales }),
    'vector.max_vector_size': vector?.length ?? 0,
    'vector.retrieve_vectors': asked.retrieveVectors ?? false,
    'hybrid.enabled': hybrid !== null && hybrid !== undefined,
    'hybrid.semantic_ratio': (hybrid?.semanticRatio ?? 0.5) !== 0.5,
    'hybrid.total_media': asked.media === null || asked.media === undefined ? 0 : 1,
  }
}

type Shown = Pick<SearchFacts, 'degraded' | 'usedNegativeOperator' | 'terms'>

/** Facts about the answer to a search. */
function answeredFacts({ degraded, usedNegativeOperator, terms }: Shown, ms: number): Facts {
  return {
    'requests.total_succeeded': 1,
    'requests.total_degraded': degraded ? 1 : 0,
    'requests.total_used_negative_operator': usedNegativeOperator ? 1 : 0,
    'requests.99th_response_time': ms,
    'q.max_terms_number': terms,
  }
}

/** Facts about a filter: its syntax, and which special operators it uses. */
export function filterFacts(filter: FilterValue | null): Facts {
  if (filter === null) return {}
  const shown = JSON.stringify(filter)
  return {
    'filter.most_used_syntax': typeof filter === 'string' ? 'string' : mixed(filter) ? 'mixed' : 'array',
    'filter.with_geoRadius': shown.includes('_geoRadius('),
    'filter.with_geoBoundingBox': shown.includes('_geoBoundingBox('),
    'filter.on_vectors': onVectors(filter),
  }
}

export const onVectors = (filter: unknown): boolean => /\b_vectors\b/.test(JSON.stringify(filter ?? ''))

const mixed = (filter: readonly unknown[]): boolean =>
  filter.some(Array.isArray) && filter.some((part) => typeof part === 'string')

/**
 * Runs a search and counts it, whether it succeeds or fails.
 * @param asked facts about the request; called only while usage is counted
 * @param search receives a function to report the engine's facts about its answer
 */
export async function observed<T>(
  services: Pick<Services, 'usage'> & { readonly metrics: Metrics },
  request: FastifyRequest,
  event: UsageEvent,
  asked: () => Facts,
  search: (answered: (facts: SearchFacts) => void) => Promise<T>,
): Promise<T> {
  const start = performance.now()
  let shown: Shown = { degraded: false, usedNegativeOperator: false, terms: 0 }
  try {
    const result = await search((facts) => {
      shown = facts
    })
    if (shown.degraded) services.metrics.countDegraded()
    if (services.usage.isOpen) {
      recordUse(services, request, event, { ...asked(), ...answeredFacts(shown, performance.now() - start) })
    }
    return result
  } catch (error) {
    if (services.usage.isOpen) recordUse(services, request, event, { ...asked(), 'requests.total_failed': 1 })
    throw error
  }
}

/** Facts about the filters of a listing of tasks; undefined: the request does not have this filter. */
export function taskFacts(filters: Readonly<Record<TaskFilterName, unknown>>): Facts {
  const by = (name: TaskFilterName): boolean => filters[name] !== undefined
  return {
    per_task_uid: by('uids'),
    filtered_by_uid: by('uids'),
    filtered_by_index_uid: by('indexUids'),
    filtered_by_type: by('types'),
    filtered_by_status: by('statuses'),
    filtered_by_canceled_by: by('canceledBy'),
    filtered_by_before_enqueued_at: by('beforeEnqueuedAt'),
    filtered_by_after_enqueued_at: by('afterEnqueuedAt'),
    filtered_by_before_started_at: by('beforeStartedAt'),
    filtered_by_after_started_at: by('afterStartedAt'),
    filtered_by_before_finished_at: by('beforeFinishedAt'),
    filtered_by_after_finished_at: by('afterFinishedAt'),
  }
}
type TaskFilterName =
  | 'uids'
  | 'indexUids'
  | 'types'
  | 'statuses'
  | 'canceledBy'
  | 'beforeEnqueuedAt'
  | 'afterEnqueuedAt'
  | 'beforeStartedAt'
  | 'afterStartedAt'
  | 'beforeFinishedAt'
  | 'afterFinishedAt'
