/**
 * Shapes of the requests that an engine takes as UTF-8 JSON.
 *
 * Requests are already validated and complete: `http/` fills in every default, so an engine does not need to know any.
 * Unless stated otherwise, `null` means "not given". `encoding.ts` encodes and decodes them.
 */

import type { MatchingStrategy } from '../settings/index.js'

export type { MatchingStrategy }

/** A filter as in the API: an expression, or AND of (expressions or OR of expressions). */
export type FilterValue = string | readonly (string | readonly string[])[]

/** Paging by offset and limit, or by page. With `page`, totals are exact. */
export type Paging =
  | { readonly kind: 'offset'; readonly offset: number; readonly limit: number }
  | { readonly kind: 'page'; readonly page: number; readonly hitsPerPage: number }

/** Experimental features that affect a request. */
export interface RequestFeatures {
  readonly containsFilter: boolean
  readonly legacySearch: boolean
  /** Filters may use `_vectors`. */
  readonly multimodal: boolean
  /** Filters may use `_foreign`, if the request has foreign keys. */
  readonly foreignKeys: boolean
}

/**
 * A field with document ids of another index, and the access of the request to that index. The server resolves the
 * index uid and the rights of the request; the engine knows neither.
 */
export interface ForeignKey {
  readonly fieldName: string
  readonly foreignIndexUid: string
  readonly access: /** `filter`: documents that do not match it are treated as missing; null: all are readable. */
    | { readonly kind: 'granted'; readonly index: string; readonly filter: FilterValue | null }
    /** The index does not exist: following the key fails with `index_not_found`. */
    | { readonly kind: 'missing' }
    /** Ids are returned unchanged, and a filter that follows the key fails with `invalid_api_key`. */
    | { readonly kind: 'refused'; readonly message: string }
}

/** A filter to check without an index. */
export interface FilterCheck {
  readonly filter: unknown
  readonly features: RequestFeatures
}

/** Multiplies the scores of documents, of those with an id of `ids` or that match `filter`. */
export interface Scale {
  /** Uid of the rule that the action belongs to. */
  readonly ruleUid: string
  /** Zero or more. A document whose weights multiply to 0 is hidden, unless it is pinned. */
  readonly weight: number
  readonly ids: readonly string[]
  /** null: matches no document. A filter that the settings of the index do not allow matches none either. */
  readonly filter: FilterValue | null
}

export interface SearchRequest {
  /** Used in error messages only; does not affect the answer. */
  readonly indexUid: string
  readonly q: string | null
  readonly paging: Paging
  /** null: all displayed fields. */
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
  /** null: the default of the index. */
  readonly matchingStrategy: MatchingStrategy | null
  readonly attributesToSearchOn: readonly string[] | null
  readonly rankingScoreThreshold: number | null
  readonly locales: readonly string[] | null
  readonly hybrid: { readonly embedder: string; readonly semanticRatio: number } | null
  readonly vector: readonly number[] | null
  /** Milliseconds spent embedding the query; absent: the vector was given. */
  readonly embeddingMs?: number
  readonly retrieveVectors: boolean
  readonly showRankingScore: boolean
  readonly showRankingScoreDetails: boolean
  readonly showPerformanceDetails: boolean
  readonly features: RequestFeatures
  /** Used by hits and by `_foreign` in filters; absent: hits are not joined, and `_foreign` is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
  /** UUID v7, echoed in the answer. */
  readonly requestUid: string
  /** Raw `metadata` object, echoed in the answer; null when the header was not sent. */
  readonly metadata: unknown
  /** Documents with a fixed position, whatever their rank, in descending priority. */
  readonly pins: readonly { readonly id: string; readonly position: number }[]
  /** Actions that multiply scores, in the order of their display; absent: none. */
  readonly scales?: readonly Scale[]
  /** Id of the only document to rank; absent: all documents are ranked. */
  readonly only?: string
  /** Maximum bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

/** Asks why a document is at its position among the hits of a search. The answer is `ExplainFacts`. */
export interface ExplainRequest {
  /** Paging and projection fields of this search are ignored. */
  readonly search: SearchRequest
  readonly documentId: string
  /** Documents that the caller may see; the explanation mentions no other documents. null: all. */
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
  /** Position of each query as shown in hits, in query order. */
  readonly positions: readonly number[]
  /** Origin fields of hits; null: none. */
  readonly origin: { readonly remote: string | null } | null
  /** Hits include `weightedScoreValues` and `distinctValues`, for another instance that merges them. */
  readonly showScoreValues: boolean
  /** Maximum bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

export interface FacetSearchRequest {
  readonly indexUid: string
  readonly facetName: string
  readonly facetQuery: string | null
  readonly q: string | null
  readonly filter: FilterValue | null
  /** null: the default of the index. */
  readonly matchingStrategy: MatchingStrategy | null
  readonly attributesToSearchOn: readonly string[] | null
  readonly rankingScoreThreshold: number | null
  readonly locales: readonly string[] | null
  readonly exhaustiveFacetCount: boolean
  readonly hybrid: { readonly embedder: string; readonly semanticRatio: number } | null
  readonly vector: readonly number[] | null
  readonly features: RequestFeatures
  /** Used by `_foreign` in filters; absent: `_foreign` is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
  /** As for a search: pinned documents are counted too, and hidden ones are not. */
  readonly pins: SearchRequest['pins']
  readonly scales?: readonly Scale[]
  /** Maximum bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

export interface SimilarRequest {
  readonly indexUid: string
  readonly id: string
  readonly embedder: string
  /** Documents that the caller may see. Unlike `filter`, the document itself must match it too. */
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
  /** Used by `_foreign` in filters; absent: `_foreign` is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
  /** Maximum bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

export interface DocumentsRequest {
  readonly indexUid: string
  readonly offset: number
  readonly limit: number
  /** null: all fields. `[]`: no fields, so every document is `{}`. Dotted paths select nested values. */
  readonly fields: readonly string[] | null
  readonly retrieveVectors: boolean
  /** null: no restriction. */
  readonly ids: readonly string[] | null
  readonly filter: FilterValue | null
  readonly sort: readonly string[] | null
  readonly features: RequestFeatures
  /** Used by `_foreign` in filters; absent: `_foreign` is refused. */
  readonly foreignKeys?: readonly ForeignKey[]
  /** Maximum bytes of the answer; absent: no limit. */
  readonly answerBytesMax?: number
}

export interface DocumentRequest {
  readonly id: string
  readonly fields: readonly string[] | null
  readonly retrieveVectors: boolean
}
