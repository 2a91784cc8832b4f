/**
 * Interface of ranking rules, which split documents into buckets, best first.
 *
 * Source: search §6.4, §7.
 * 1. Buckets are disjoint and together contain all documents.
 * 2. A bucket holds the readings of the query that match its documents; the next rule only uses these readings.
 * 3. A bucket holds its score detail; scores and details are computed from details alone.
 */
import type { GeoPoint } from '../index-data/index-data.js'
import type { QueryGraph } from '../query/graph.js'

/** Reason for the position of a document: one detail per applied rule. */
export type ScoreDetail =
  | { readonly rule: 'words'; readonly rank: number; readonly max: number }
  | { readonly rule: 'typo'; readonly typos: number; readonly rank: number; readonly max: number }
  | {
      readonly rule: 'proximity' | 'attributeRank' | 'wordPosition' | 'relevance'
      readonly rank: number
      readonly max: number
    }
  | { readonly rule: 'exactAttribute'; readonly rank: 1 | 2 | 3; readonly max: 3 }
  | { readonly rule: 'exactWords'; readonly rank: number; readonly max: number }
  | {
      readonly rule: 'sort'
      readonly field: string
      readonly ascending: boolean
      readonly value: number | string | null
    }
  | {
      readonly rule: 'geo'
      readonly target: GeoPoint
      readonly ascending: boolean
      readonly value: GeoPoint | null
      readonly distance: number | null
    }
  /** Vector similarity, null for a document without vectors. */
  | { readonly rule: 'vector'; readonly similarity: number | null }
  | { readonly rule: 'skipped' }
  /** Dynamic search rules multiply the score. Always the first detail. */
  | {
      readonly rule: 'scale'
      readonly actions: readonly { readonly ruleUid: string; readonly weight: number }[]
      readonly totalWeight: number
    }
  /** The document is pinned to a position; no rule was applied. */
  | { readonly rule: 'pin'; readonly position: number }

/** Documents that a rule considers equal. */
export interface Bucket {
  /** Ascending. */
  readonly docids: Uint32Array
  readonly detail: ScoreDetail
  /** Readings of the query that match these documents; null without a query. */
  readonly graph: QueryGraph | null
}

/**
 * Splits `docids` (ascending) into disjoint buckets that together cover them, best first. Buckets are computed on
 * demand. A null means progress without a finished bucket, so that the caller can check the deadline.
 */
export type RankingRule = (docids: Uint32Array, graph: QueryGraph | null) => Iterable<Bucket | null>
