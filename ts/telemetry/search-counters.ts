import { wasSent } from '../parse/index.js'
import { Durations } from './durations.js'
import { Agents, MostUsed, Words } from './words.js'

/** Most distinct facet names that are counted. */
const FACET_NAMES_MAX = 1_000

/** A filter of a request: an expression, or nested lists of expressions. */
export type CountedFilter = string | readonly CountedFilter[]

/**
 * The counted parameters of a search. Each kind of search has some of them. A parameter with a default counts as used
 * if the client sent it (`wasSent`).
 */
export interface CountedSearch {
  readonly filter?: CountedFilter | null
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
  readonly matchingStrategy?: string | null
  readonly locales?: readonly string[] | null
  readonly vector?: readonly number[] | null
  readonly retrieveVectors?: boolean
  readonly hybrid?: { readonly semanticRatio: number } | null
  readonly media?: unknown
  readonly rerank?: object | null
  readonly personalize?: object | null
}

/** Counted properties of an engine's answer. */
export interface CountedAnswer {
  readonly degraded: boolean
  readonly usedNegativeOperator: boolean
  /** Number of query terms. */
  readonly terms: number
}

/**
 * Counts the searches of one kind: numbers and switches, but never words, names or values. Counting allocates nothing,
 * since it is part of every search.
 */
export class SearchCounters {
  received = 0
  /** Start of the counting, in milliseconds since 1970. */
  readonly firstAt = Date.now()
  #succeeded = 0
  #failed = 0
  #degraded = 0
  #negated = 0
  readonly #durations = new Durations()
  readonly #agents = new Agents()
  #sorted = 0
  #sortCriteria = 0
  #sortGeo = false
  #distinct = false
  #filtered = 0
  #filterCriteria = 0
  readonly #filterSyntax = new MostUsed()
  #filterGeoRadius = false
  #filterGeoBox = false
  #filterVectors = false
  #termsMax = 0
  #limitMax = 0
  #offsetMax = 0
  #exhaustive = 0
  #retrieveMax = 0
  #highlightMax = 0
  #cropMax = 0
  #preTag = false
  #postTag = false
  #cropLength = false
  #cropMarker = false
  #matchesPosition = false
  #faceted = 0
  #facets = 0
  #searchOn = 0
  readonly #strategies = new MostUsed()
  readonly #locales = new Words()
  #score = false
  #scoreDetails = false
  #threshold = false
  #vectorMax = 0
  #retrieveVectors = false
  #hybrid = false
  #semanticRatio = false
  #media = 0
  #reranked = 0
  #personalized = 0
  readonly #facetNames = new Words(FACET_NAMES_MAX)
  #moreFacetParameters = false

  /** @param agent the header that names the client */
  add(asked: CountedSearch, agent: string | undefined): void {
    this.received += 1
    this.#agents.add(agent)
    this.#addSelection(asked)
    this.#addFormatting(asked)
    if (asked.matchingStrategy !== undefined) this.#strategies.add(asked.matchingStrategy ?? 'last')
    if (asked.locales) for (const locale of asked.locales) this.#locales.add(locale)
    if (asked.attributesToSearchOn) this.#searchOn += 1
    if (asked.showRankingScore) this.#score = true
    if (asked.showRankingScoreDetails) this.#scoreDetails = true
    if (typeof asked.rankingScoreThreshold === 'number') this.#threshold = true
    if (asked.vector && asked.vector.length > this.#vectorMax) this.#vectorMax = asked.vector.length
    if (asked.retrieveVectors) this.#retrieveVectors = true
    if (asked.hybrid) {
      this.#hybrid = true
      if (wasSent(asked.hybrid, 'semanticRatio')) this.#semanticRatio = true
    }
    if (asked.media !== null && asked.media !== undefined) this.#media += 1
    if (asked.rerank) this.#reranked += 1
    if (asked.personalize) this.#personalized += 1
  }

  /**
   * Counts a search for facet values, in addition to `add`.
   * @param facet its name, only counted
   * @param hasMore true if it has other parameters than the facet name and the facet query
   */
  addFacetSearch(facet: string, hasMore: boolean): void {
    this.#facetNames.add(facet)
    if (hasMore) this.#moreFacetParameters = true
  }

  /** Counts a search that was refused before its parameters were parsed. */
  refused(agent: string | undefined): void {
    this.received += 1
    this.#agents.add(agent)
    this.failed()
  }

  succeeded(answer: CountedAnswer | null, ms: number): void {
    this.#succeeded += 1
    this.#durations.add(ms)
    if (answer === null) return
    if (answer.degraded) this.#degraded += 1
    if (answer.usedNegativeOperator) this.#negated += 1
    if (answer.terms > this.#termsMax) this.#termsMax = answer.terms
  }

  failed(): void {
    this.#failed += 1
  }

  #addSelection(asked: CountedSearch): void {
    const { sort, facets } = asked
    if (sort) {
      this.#sorted += 1
      this.#sortCriteria += sort.length
      for (const one of sort) if (one.startsWith('_geoPoint(')) this.#sortGeo = true
    }
    if (asked.filter !== null && asked.filter !== undefined) this.#addFilter(asked.filter)
    if (asked.distinct !== null && asked.distinct !== undefined) this.#distinct = true
    if (facets) {
      this.#faceted += 1
      this.#facets += facets.length
    }
    const limit = asked.hitsPerPage ?? (wasSent(asked, 'limit') ? asked.limit : null) ?? 0
    if (limit > this.#limitMax) this.#limitMax = limit
    if ((asked.offset ?? 0) > this.#offsetMax) this.#offsetMax = asked.offset ?? 0
    if ((asked.page ?? asked.hitsPerPage ?? null) !== null) this.#exhaustive += 1
  }

  #addFilter(filter: CountedFilter): void {
    this.#filtered += 1
    this.#filterCriteria += typeof filter === 'string' ? clausesIn(filter) : filter.length
    this.#filterSyntax.add(filterSyntax(filter))
    if (mentions(filter, '_geoRadius(')) this.#filterGeoRadius = true
    if (mentions(filter, '_geoBoundingBox(')) this.#filterGeoBox = true
    if (mentions(filter, '_vectors')) this.#filterVectors = true
  }

  #addFormatting(asked: CountedSearch): void {
    const { attributesToRetrieve: retrieved, attributesToHighlight: highlighted } = asked
    if (retrieved && retrieved.length > this.#retrieveMax) this.#retrieveMax = retrieved.length
    if (highlighted && highlighted.length > this.#highlightMax) this.#highlightMax = highlighted.length
    const cropped = asked.attributesToCrop
    if (cropped && cropped.length > this.#cropMax) this.#cropMax = cropped.length
    if (wasSent(asked, 'highlightPreTag')) this.#preTag = true
    if (wasSent(asked, 'highlightPostTag')) this.#postTag = true
    if (wasSent(asked, 'cropLength')) this.#cropLength = true
    if (wasSent(asked, 'cropMarker')) this.#cropMarker = true
    if (asked.showMatchesPosition) this.#matchesPosition = true
  }

  /** Returns all figures by their published names. */
  figures() {
    const p99 = this.#durations.p99()
    return {
      user_agent: this.#agents.sorted(),
      'requests.99th_response_time': p99 === null ? null : String(p99),
      'requests.total_succeeded': this.#succeeded,
      'requests.total_failed': this.#failed,
      'requests.total_received': this.received,
      'requests.total_degraded': this.#degraded,
      'requests.total_used_negative_operator': this.#negated,
      'sort.with_geoPoint': this.#sortGeo,
      'sort.avg_criteria_number': average(this.#sortCriteria, this.#sorted),
      distinct: this.#distinct,
      'filter.with_geoRadius': this.#filterGeoRadius,
      'filter.with_geoBoundingBox': this.#filterGeoBox,
      'filter.on_vectors': this.#filterVectors,
      'filter.avg_criteria_number': average(this.#filterCriteria, this.#filtered),
      'filter.most_used_syntax': this.#filterSyntax.word(),
      'attributes_to_search_on.total_number_of_uses': this.#searchOn,
      'q.max_terms_number': this.#termsMax,
      'vector.max_vector_size': this.#vectorMax,
      'vector.retrieve_vectors': this.#retrieveVectors,
      'hybrid.enabled': this.#hybrid,
      'hybrid.semantic_ratio': this.#semanticRatio,
      'hybrid.total_media': this.#media,
      'rerank.total_number_of_uses': this.#reranked,
      'personalize.total_number_of_uses': this.#personalized,
      'pagination.max_limit': this.#limitMax,
      'pagination.max_offset': this.#offsetMax,
      'pagination.most_used_navigation': this.#exhaustive * 2 > this.received ? 'exhaustive' : 'estimated',
      'formatting.max_attributes_to_retrieve': this.#retrieveMax,
      'formatting.max_attributes_to_highlight': this.#highlightMax,
      'formatting.max_attributes_to_crop': this.#cropMax,
      'formatting.highlight_pre_tag': this.#preTag,
      'formatting.highlight_post_tag': this.#postTag,
      'formatting.crop_marker': this.#cropMarker,
      'formatting.crop_length': this.#cropLength,
      'formatting.show_matches_position': this.#matchesPosition,
      'facets.avg_facets_number': average(this.#facets, this.#faceted),
      'facets.total_distinct_facet_count': this.#facetNames.size,
      'facets.additional_search_parameters_provided': this.#moreFacetParameters,
      'matching_strategy.most_used_strategy': this.#strategies.word(),
      locales: this.#locales.sorted(),
      'scoring.show_ranking_score': this.#score,
      'scoring.show_ranking_score_details': this.#scoreDetails,
      'scoring.ranking_score_threshold': this.#threshold,
    } as const
  }
}

/** An average in the format of the published search metrics. */
const average = (sum: number, count: number): string => (sum / count).toFixed(2)

const filterSyntax = (filter: CountedFilter): 'string' | 'mixed' | 'array' =>
  typeof filter === 'string' ? 'string' : isMixed(filter) ? 'mixed' : 'array'

function isMixed(filter: readonly CountedFilter[]): boolean {
  let [hasText, hasList] = [false, false]
  for (const part of filter) {
    if (typeof part === 'string') hasText = true
    else hasList = true
  }
  return hasText && hasList
}

/** True if an expression of the filter contains `word`. */
export function mentions(filter: CountedFilter, word: string): boolean {
  if (typeof filter === 'string') return filter.includes(word)
  // The elements are unchecked client input. The engine refuses wrong types later.
  return Array.isArray(filter) && filter.some((part) => mentions(part, word))
}

/** Counts the conditions joined by `AND` and `OR`, at any depth. */
function clausesIn(filter: string): number {
  let clauses = 1
  for (const operator of [' AND ', ' OR ']) {
    for (let at = filter.indexOf(operator); at !== -1; at = filter.indexOf(operator, at + 1)) clauses += 1
  }
  return clauses
}
