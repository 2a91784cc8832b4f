/** Types of searches: their parameters and answers. */
import type { Attribute, Document, Hit, HitFields, Pattern, ReservedAttribute } from './document-types.js'
import type { Checked, Filter } from './filter-types.js'

/** An attribute to sort by, with its direction. */
export type SortBy<T> =
  string extends Attribute<T>
    ? string
    : `${Attribute<T> | ReservedAttribute}:${'asc' | 'desc'}` | `_geoPoint(${string}):${'asc' | 'desc'}`

/** An attribute to crop, optionally with the number of words. */
type Cropped<T> = Attribute<T> | Pattern | `${Attribute<T> | Pattern}:${number}`

/** Parameters of a search, as in the body of POST /search. `F` is the type of the filter, which is inferred. */
export interface SearchParameters<T = Document, F extends Filter = Filter> {
  readonly filter?: (F & Checked<T, F>) | null
  readonly sort?: readonly SortBy<T>[] | null
  readonly facets?: readonly (Attribute<T> | Pattern | ReservedAttribute)[] | null
  readonly distinct?: Attribute<T> | null
  readonly offset?: number
  /** Default: 20. */
  readonly limit?: number
  readonly page?: number | null
  readonly hitsPerPage?: number | null
  readonly attributesToRetrieve?: readonly (Attribute<T> | Pattern | ReservedAttribute)[] | null
  readonly attributesToHighlight?: readonly (Attribute<T> | Pattern)[] | null
  /** Default: `<em>`. */
  readonly highlightPreTag?: string
  /** Default: `</em>`. */
  readonly highlightPostTag?: string
  readonly attributesToCrop?: readonly Cropped<T>[] | null
  /** Words. Default: 10. */
  readonly cropLength?: number
  /** Default: `…`. */
  readonly cropMarker?: string
  readonly attributesToSearchOn?: readonly (Attribute<T> | Pattern)[] | null
  readonly showMatchesPosition?: boolean
  /** Default: `last`. */
  readonly matchingStrategy?: 'last' | 'all' | 'frequency' | 'any'
  readonly rankingScoreThreshold?: number | null
  readonly locales?: readonly string[] | null
  readonly hybrid?: { readonly embedder: string; readonly semanticRatio?: number } | null
  readonly vector?: readonly number[] | null
  /** Requires the experimental feature `multimodal`. */
  readonly media?: Readonly<Record<string, unknown>> | null
  /** Orders the first hits by a reranker of the index. Default of `topK`: 50. */
  readonly rerank?: { readonly model: string; readonly topK?: number } | null
  readonly retrieveVectors?: boolean
  readonly showRankingScore?: boolean
  readonly showRankingScoreDetails?: boolean
  readonly showPerformanceDetails?: boolean
}

/** Counts by facet value, by facet. */
export type FacetDistribution = Readonly<Record<string, Readonly<Record<string, number>>>>
/** Lowest and highest number, by facet. */
export type FacetStats = Readonly<Record<string, { readonly min: number; readonly max: number }>>

/** Members that searches and federations share. */
interface Answer {
  readonly processingTimeMs: number
  readonly requestUid?: string
  /** Without `page` and `hitsPerPage`. */
  readonly offset?: number
  readonly limit?: number
  readonly estimatedTotalHits?: number
  /** With `page` or `hitsPerPage`. */
  readonly page?: number
  readonly hitsPerPage?: number
  readonly totalPages?: number
  readonly totalHits?: number
  /** With `hybrid`. */
  readonly semanticHitCount?: number
  /** With `facets`. */
  readonly facetDistribution?: FacetDistribution
  readonly facetStats?: FacetStats
  /** With `showPerformanceDetails`: the time of each stage. */
  readonly performanceDetails?: Readonly<Record<string, string>>
  /** With `rerank`: whether the hits are in the order of the model, and if not, why. */
  readonly rerank?:
    | { readonly applied: true; readonly model: string; readonly hits: number }
    | { readonly applied: false; readonly model: string; readonly reason: string }
}

/** The answer to a search, as in the HTTP API. */
export interface SearchAnswer<T = Document> extends Answer {
  readonly hits: readonly Hit<T>[]
  readonly query: string
  /** With `retrieveVectors` in a search by vectors. */
  readonly queryVector?: readonly number[]
}

export interface FacetSearchParameters<T = Document, F extends Filter = Filter> {
  readonly facetName: Attribute<T> | ReservedAttribute
  readonly facetQuery?: string | null
  readonly q?: string | null
  readonly filter?: (F & Checked<T, F>) | null
  readonly matchingStrategy?: 'last' | 'all' | 'frequency' | 'any'
  readonly attributesToSearchOn?: readonly (Attribute<T> | Pattern)[] | null
  readonly rankingScoreThreshold?: number | null
  readonly locales?: readonly string[] | null
  readonly hybrid?: { readonly embedder: string; readonly semanticRatio?: number } | null
  readonly vector?: readonly number[] | null
  /** Requires the experimental feature `multimodal`. */
  readonly media?: Readonly<Record<string, unknown>> | null
  readonly exhaustiveFacetCount?: boolean | null
}

export interface FacetSearchAnswer {
  readonly facetHits: readonly { readonly value: string; readonly count: number }[]
  readonly facetQuery: string | null
  readonly processingTimeMs: number
}

export interface SimilarParameters<T = Document, F extends Filter = Filter> {
  readonly id: string | number
  readonly embedder: string
  readonly offset?: number
  /** Default: 20. */
  readonly limit?: number
  readonly filter?: (F & Checked<T, F>) | null
  readonly attributesToRetrieve?: readonly (Attribute<T> | Pattern | ReservedAttribute)[] | null
  readonly retrieveVectors?: boolean
  readonly rankingScoreThreshold?: number | null
  readonly showRankingScore?: boolean
  readonly showRankingScoreDetails?: boolean
  readonly showPerformanceDetails?: boolean
}

export interface SimilarAnswer<T = Document> {
  readonly hits: readonly Hit<T>[]
  readonly id: string
  readonly processingTimeMs: number
  readonly offset?: number
  readonly limit?: number
  readonly estimatedTotalHits?: number
}

export interface MultiSearchQuery<T = Document> extends SearchParameters<T> {
  readonly indexUid: string
  readonly q?: string | null
  /** Only with `federation`. */
  readonly federationOptions?: { readonly weight?: number; readonly queryPosition?: number }
}

/** Options for merging the hits of several queries into one list. */
export interface Federation {
  readonly offset?: number
  readonly limit?: number
  readonly page?: number
  readonly hitsPerPage?: number
  readonly facetsByIndex?: Readonly<Record<string, readonly string[]>>
  readonly mergeFacets?: { readonly maxValuesPerFacet?: number }
  readonly distinct?: string
  /**
   * Orders the first merged hits by a reranker that all searched indexes have. Default of `topK`: 50. Default of `query`:
   * the text of the queries, if it is the same.
   */
  readonly rerank?: { readonly model: string; readonly topK?: number; readonly query?: string } | null
}

export interface MultiSearchAnswer<T = Document> {
  readonly results: readonly (SearchAnswer<T> & { readonly indexUid: string })[]
}

/** A hit of a federation, and the query that found it. */
export type FederatedHit<T = Document> = T &
  HitFields<T> & {
    readonly _federation: {
      readonly indexUid: string
      readonly queriesPosition: number
      readonly weightedRankingScore?: number
    }
  }

export interface FederatedAnswer<T = Document> extends Answer {
  readonly hits: readonly FederatedHit<T>[]
  /** With `facetsByIndex` and without `mergeFacets`. */
  readonly facetsByIndex?: Readonly<
    Record<string, { readonly distribution: FacetDistribution; readonly stats: FacetStats }>
  >
}
