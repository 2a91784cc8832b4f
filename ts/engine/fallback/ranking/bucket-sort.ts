/**
 * Here are the candidates and the rules: who is on the page, in which order?
 *
 * Source: search §6.4, §8 (threshold), §11 (distinct), §17 (cutoff).
 *  1. Each bucket of a rule is the universe of the next one; after the last rule docids decide.
 *  2. Ranking stops once enough documents are placed.
 *  3. Distinct acts on final buckets, whole; what it excludes leaves all outer universes.
 *  4. Below the threshold a bucket and all that its rule has left are dropped, and not counted.
 *  5. Past the deadline what is left comes in docid order, marked as skipped. Rules that look at every document
 *     let the clock be looked at after each step of a reading.
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
  /** Documents to place. */
  readonly wanted: number
  /** Column of the distinct attribute, null without one. */
  readonly distinct: Column | null
  readonly threshold: number | null
  /** Whether to go on past the deadline. */
  readonly expired: () => boolean
}

export interface Ranked {
  readonly docid: number
  readonly details: readonly ScoreDetail[]
}

export interface BucketSortResult {
  readonly ranked: readonly Ranked[]
  /** Documents that still count as matching: not excluded, not dropped. */
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

  /** Splits `universe` by the rules from `depth` on. */
  private sort(
    universe: Uint32Array,
    graph: QueryGraph | null,
    depth: number,
    details: readonly ScoreDetail[],
  ): void {
    const { rules, threshold } = this.request
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
        if (threshold !== null && globalScore(bucketDetails) < threshold) {
          this.drop(docids)
          this.drop(seen.rest())
          return
        }
        this.sort(docids, bucket.graph, depth + 1, bucketDetails)
      }
      if (this.full || this.expire(seen, details)) return
    }
  }

  /** Places what is left of a rule's universe if time is up. @returns whether it was */
  private expire(seen: SeenDocuments, details: readonly ScoreDetail[]): boolean {
    if (!this.request.expired()) return false
    this.degraded = true
    const rest = this.remaining(seen.rest())
    if (rest.length > 0) this.emit(rest, [...details, { rule: 'skipped' }], false)
    return true
  }

  private remaining(docids: Uint32Array): Uint32Array {
    const { distinct } = this
    return distinct === null ? docids : docids.filter((docid) => !distinct.excludes(docid))
  }

  private drop(docids: Uint32Array): void {
    for (const docid of docids) this.dropped.add(docid)
  }

  /** Emits a final bucket. `partial`: evaluation may stop inside it. */
  private emit(docids: Uint32Array, details: readonly ScoreDetail[], partial: boolean): void {
    for (const docid of docids) {
      if (this.full && (partial || this.distinct === null)) return
      if (this.distinct !== null && !this.distinct.keep(docid)) continue
      if (!this.full) this.ranked.push({ docid, details })
    }
  }
}

/** Remembers which documents of a universe a rule has handed out. */
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

  /** Documents in no bucket so far, ascending. */
  rest(): Uint32Array {
    for (const bucket of this.buckets) for (const docid of bucket.docids) this.seen.add(docid)
    return this.universe.filter((docid) => !this.seen.has(docid))
  }
}
