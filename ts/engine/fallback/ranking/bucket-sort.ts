/**
 * Splits documents rule by rule until the page is full.
 *
 * Source: search §6.4, §8 (threshold), §11 (distinct), §17 (cutoff).
 * 1. Each bucket of a rule is the universe of the next rule. Documents that the last rule leaves together come in docid
 *    order.
 * 2. Ranking stops once enough documents are placed.
 * 3. Distinct applies to complete final buckets. Excluded documents are removed from all outer universes.
 * 4. A bucket below the threshold is dropped together with the remaining documents of its rule; they are not counted.
 * 5. After the deadline, remaining documents come in docid order, marked as skipped. Rules that read every document
 *    allow a deadline check after each step of a reading.
 */
import type { Column } from '../facets/columns.js'
import { Distinct } from '../facets/distinct.js'
import type { QueryGraph } from '../query/graph.js'
import type { Bucket, RankingRule, ScoreDetail } from './rule.js'
import { globalScore } from './score.js'

export interface BucketSortRequest {
  /** Ascending. */
  readonly docids: Uint32Array
  readonly graph: QueryGraph | null
  readonly rules: readonly RankingRule[]
  /** Number of documents to place. */
  readonly wanted: number
  /** Column of the distinct attribute, null without one. */
  readonly distinct: Column | null
  readonly threshold: number | null
  /** Returns true after the deadline. */
  readonly expired: () => boolean
}

export interface Ranked {
  readonly docid: number
  readonly details: readonly ScoreDetail[]
}

export interface BucketSortResult {
  readonly ranked: readonly Ranked[]
  /** True for documents that still count as matching: neither excluded nor dropped. */
  readonly isCandidate: (docid: number) => boolean
  readonly degraded: boolean
}

export function bucketSort(request: BucketSortRequest): BucketSortResult {
  return new BucketSorter(request).run()
}

class BucketSorter {
  private readonly request: BucketSortRequest
  private readonly ranked: Ranked[] = []
  private readonly distinct: Distinct | null
  private readonly dropped = new Set<number>()
  private degraded = false

  constructor(request: BucketSortRequest) {
    this.request = request
    this.distinct = request.distinct === null ? null : new Distinct(request.distinct)
  }

  run(): BucketSortResult {
    const { docids, graph, rules } = this.request
    if (rules.length === 0) this.emit(docids, [], true)
    else if (!this.full) this.sort(docids, graph, 0, [])
    return {
      ranked: this.ranked,
      isCandidate: (docid) => !this.dropped.has(docid) && this.distinct?.excludes(docid) !== true,
      degraded: this.degraded,
    }
  }

  private get full(): boolean {
    return this.ranked.length >= this.request.wanted
  }

  /** Splits `universe` by the rules from index `depth`. */
  private sort(
    universe: Uint32Array,
    graph: QueryGraph | null,
    depth: number,
    details: readonly ScoreDetail[],
  ): void {
    const { rules } = this.request
    const rule = rules[depth]
    if (rule === undefined) {
      this.emit(universe, details, false)
      return
    }
    const seen = new SeenDocuments(universe)
    if (this.expire(seen, details)) return
    for (const bucket of rule(universe, graph)) {
      if (bucket === null) {
        if (this.expire(seen, details)) return
        continue
      }
      const bucketDetails = [...details, bucket.detail]
      seen.note(bucket)
      const docids = this.remaining(bucket.docids)
      if (docids.length > 0) {
        if (this.isBelowThreshold(bucketDetails)) {
          this.drop(docids)
          this.drop(seen.rest())
          return
        }
        this.sort(docids, bucket.graph, depth + 1, bucketDetails)
      }
      if (this.full || this.expire(seen, details)) return
    }
  }

  /** Places the remaining documents of a rule's universe after the deadline. @returns true after the deadline */
  private expire(seen: SeenDocuments, details: readonly ScoreDetail[]): boolean {
    if (!this.request.expired()) return false
    this.degraded = true
    const rest = this.remaining(seen.rest())
    const skipped: readonly ScoreDetail[] = [...details, { rule: 'skipped' }]
    if (this.isBelowThreshold(skipped)) this.drop(rest)
    else if (rest.length > 0) this.emit(rest, skipped, false)
    return true
  }

  private isBelowThreshold(details: readonly ScoreDetail[]): boolean {
    const { threshold } = this.request
    return threshold !== null && globalScore(details) < threshold
  }

  private remaining(docids: Uint32Array): Uint32Array {
    const { distinct } = this
    return distinct === null ? docids : docids.filter((docid) => !distinct.excludes(docid))
  }

  private drop(docids: Uint32Array): void {
    for (const docid of docids) this.dropped.add(docid)
  }

  /** Emits a final bucket. With `partial`, evaluation may stop within the bucket. */
  private emit(docids: Uint32Array, details: readonly ScoreDetail[], partial: boolean): void {
    for (const docid of docids) {
      if (this.full && (partial || this.distinct === null)) return
      if (this.distinct !== null && !this.distinct.keep(docid)) continue
      if (!this.full) this.ranked.push({ docid, details })
    }
  }
}

/** Tracks which documents of a universe are already in a bucket. */
class SeenDocuments {
  private readonly universe: Uint32Array
  private readonly seen = new Set<number>()
  private readonly buckets: Bucket[] = []

  constructor(universe: Uint32Array) {
    this.universe = universe
  }

  note(bucket: Bucket): void {
    this.buckets.push(bucket)
  }

  /** Documents that are in no bucket so far, in ascending order. */
  rest(): Uint32Array {
    for (const bucket of this.buckets) for (const docid of bucket.docids) this.seen.add(docid)
    return this.universe.filter((docid) => !this.seen.has(docid))
  }
}
