/**
 * Shapes of the requests that cross into an engine as UTF-8 JSON.
 *
 * They are already validated and complete: `http/` fills in every default, so an engine never needs to
 * know one. Unless stated, `null` means "not given". `encoding.ts` makes bytes of them, and reads those.
 */

export type MatchingStrategy = 'last' | 'all' | 'frequency'

/** A filter as the API takes it: an expression, or AND of (expressions or OR of expressions). */
export type FilterValue = string | readonly (string | readonly string[])[]

/** Rows by count, or by page: with `page`, totals are exact. */
export type Paging =
  | { readonly kind: 'offset'; readonly offset: number; readonly limit: number }
  | { readonly kind: 'page'; readonly page: number; readonly hitsPerPage: number }

/** Experimental features that change how a request is read. */
export interface RequestFeatures {
  readonly containsFilter: boolean
  readonly legacySearch: boolean
  /** Filters may ask for `_vectors`. */
  readonly multimodal: boolean
  /** Filters may say `_foreign`, where a request has foreign keys. */
  readonly foreignKeys: boolean
}

/**
 * A field whose values are ids of documents of another index, and what the request may do with that index. The server
 * finds the index by its uid and knows the rights of the request; the engine knows neither.
 */
export interface ForeignKey {
  readonly fieldName: string
  readonly foreignIndexUid: string
  readonly access: /** `filter`: documents that do not pass it are as if they did not exist; null: all may be read. */
    | { readonly kind: 'granted'; readonly index: string; readonly filter: FilterValue | null }
    /** There is no such index: following the key is `index_not_found`. */
    | { readonly kind: 'missing' }
    /** Ids stay as they are, and a filter that follows the key is `invalid_api_key`. */
    | { readonly kind: 'refused'; readonly message: string }
}

/** A filter to be checked without an index. */
export interface FilterCheck {
  readonly filter: unknown
  readonly features: RequestFeatures
}

export interface SearchRequest {
  /** Names the index in error messages; the answer never depends on it. */
  readonly indexUid: string
  readonly q: string | null
  readonly paging: Paging
  /** null: all displayed. */
  readonly attributesToRetrieve: readonly string[] | null
  readonly attributesToCrop: readonly string[] | null
  readonly cropLength: number
  readonly cropMarker: string
  readonly attributesToHighlight: readonly string[] | null
  readonly highlightPreTag: string
  readonly highlightPostTag: string
  readonly showMatchesPosition: boolean
  readonly filter: FilterValue | null
  readonly sort: readonly string[] | null
  readonly distinct: string | null
  readonly facets: readonly string[] | null
  readonly matchingStrategy: MatchingStrategy
  readonly attributesToSearchOn: readonly string[] | null
  readonly rankingScoreThreshold: number | null
  readonly locales: readonly string[] | null
  readonly hybrid: { readonly embedder: string; readonly semanticRatio: number } | null
  readonly vector: readonly number[] | null
  /** Milliseconds that making the vector took; absent: it was given. */
  readonly embeddingMs?: number
  readonly retrieveVectors: boolean
  readonly showRankingScore: boolean
  readonly showRankingScoreDetails: boolean
  readonly showPerformanceDetails: boolean
  readonly features: RequestFeatures
  /** Followed by hits and by `_foreign` in filters; absent: none is, and `_foreign` is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
  /** UUID v7, echoed at its place in the answer. */
  readonly requestUid: string
  /** Raw `metadata` object, echoed at its place in the answer; null when the header was not sent. */
  readonly metadata: unknown
  /** Documents with a place of their own, whatever their rank; those that count more come first. */
  readonly pins: readonly { readonly id: string; readonly position: number }[]
  /** The id of the only document that is ranked; absent: all are. */
  readonly only?: string
  /** Bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

/** A question about a document: why is it where it is among the hits of a search? Its answer: `ExplainFacts`. */
export interface ExplainRequest {
  /** Of its page and of what hits show nothing is looked at. */
  readonly search: SearchRequest
  readonly documentId: string
  /** What the asker may see; nothing is told of other documents. null: all. */
  readonly visible: FilterValue | null
}

export interface FederationRequest {
  readonly paging: Paging
  readonly facetsByIndex: Readonly<Record<string, readonly string[] | null>>
  readonly mergeFacets: { readonly maxValuesPerFacet: number | null } | null
  readonly distinct: string | null
  readonly showPerformanceDetails: boolean
  readonly requestUid: string
  readonly metadata: unknown
  /** Weight of each query, in query order. */
  readonly weights: readonly number[]
  /** Place of each query as hits show it, in query order. */
  readonly positions: readonly number[]
  /** What hits say of the instance they come from; null: nothing. */
  readonly origin: { readonly remote: string | null } | null
  /** Hits carry `weightedScoreValues` and `distinctValues`, for another instance that merges them. */
  readonly showScoreValues: boolean
  /** Bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

export interface FacetSearchRequest {
  readonly indexUid: string
  readonly facetName: string
  readonly facetQuery: string | null
  readonly q: string | null
  readonly filter: FilterValue | null
  readonly matchingStrategy: MatchingStrategy
  readonly attributesToSearchOn: readonly string[] | null
  readonly rankingScoreThreshold: number | null
  readonly locales: readonly string[] | null
  readonly exhaustiveFacetCount: boolean
  readonly hybrid: { readonly embedder: string; readonly semanticRatio: number } | null
  readonly vector: readonly number[] | null
  readonly features: RequestFeatures
  /** Followed by `_foreign` in filters; absent: it is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
  /** As of a search: they are counted too. */
  readonly pins: SearchRequest['pins']
  /** Bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

export interface SimilarRequest {
  readonly indexUid: string
  readonly id: string
  readonly embedder: string
  /** What the caller may see at all; the document itself must pass it, unlike `filter`. */
  readonly visible: FilterValue | null
  readonly offset: number
  readonly limit: number
  readonly filter: FilterValue | null
  readonly attributesToRetrieve: readonly string[] | null
  readonly retrieveVectors: boolean
  readonly showRankingScore: boolean
  readonly showRankingScoreDetails: boolean
  readonly showPerformanceDetails: boolean
  readonly rankingScoreThreshold: number | null
  readonly features: RequestFeatures
  /** Followed by `_foreign` in filters; absent: it is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
  /** Bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

export interface DocumentsRequest {
  readonly indexUid: string
  readonly offset: number
  readonly limit: number
  /** null: all fields. `[]`: none, so every document is `{}`. Dotted paths select nested values. */
  readonly fields: readonly string[] | null
  readonly retrieveVectors: boolean
  /** null: no restriction. */
  readonly ids: readonly string[] | null
  readonly filter: FilterValue | null
  readonly sort: readonly string[] | null
  readonly features: RequestFeatures
  /** Followed by `_foreign` in filters; absent: it is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
  /** Bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

export interface DocumentRequest {
  readonly id: string
  readonly fields: readonly string[] | null
  readonly retrieveVectors: boolean
}
