/**
 * What is a ranking rule? It splits documents into buckets, best first.
 *
 * Source: search §6.4, §7.
 *  1. Buckets are disjoint and together hold all documents.
 *  2. A bucket says by which readings of the query its documents were found: the next rule knows no others.
 *  3. A bucket says why it stands where it does: scores and details come from that alone.
 */
import type { GeoPoint } from '../index-data/index-data.js'
import type { QueryGraph } from '../query/graph.js'

/** Why a document stands where it does: one entry per rule it went through. */
export type ScoreDetail =
  | { readonly rule: 'words'; readonly rank: number; readonly max: number }
  | { readonly rule: 'typo'; readonly typos: number; readonly rank: number; readonly max: number }
  | {
      readonly rule: 'proximity' | 'attributeRank' | 'wordPosition'
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
  /** Likeness of vectors, null for a document without any. */
  | { readonly rule: 'vector'; readonly similarity: number | null }
  | { readonly rule: 'skipped' }
  /** The document has a place of its own; no rule was asked. */
  | { readonly rule: 'pin'; readonly position: number }

/** Documents a rule holds equal. */
export interface Bucket {
  /** Ascending. */
  readonly docids: Uint32Array
  readonly detail: ScoreDetail
  /** The readings of the query that these documents satisfy; null without a query. */
  readonly graph: QueryGraph | null
}

/**
 * Splits `docids` (ascending) into disjoint buckets that together cover them, best first. Buckets are made
 * as they are asked for. A null stands for work done without a bucket to show for it yet: a chance to look at
 * the clock.
 */
export type RankingRule = (docids: Uint32Array, graph: QueryGraph | null) => Iterable<Bucket | null>
