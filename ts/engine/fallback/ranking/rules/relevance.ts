/**
 * Ranks documents by how well and how often they match the words of the query: BM25F over the searchable attributes.
 *
 * 1. Scores depend on the complete query and on the live documents of the index, neither on earlier rules nor on the
 *    filter.
 * 2. Later rules see the same readings of the query as this one.
 * 3. Words near each other count for the best documents only: reading positions is expensive.
 * 4. Only the best documents are brought into order: as many as the caller takes.
 */
import type { IndexData } from '../../index-data/index-data.js'
import type { QueryGraph } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { NEARNESS_DOCUMENTS_MAX, rankOf } from '../relevance/formula.js'
import { nearness } from '../relevance/nearness.js'
import { type Scores, scored } from '../relevance/scores.js'
import { attributeWeights } from '../relevance/weights.js'
import type { Bucket, RankingRule } from '../rule.js'

/** @param query all readings of the query */
export function relevanceRule(data: IndexData, resolver: TermResolver, query: QueryGraph): RankingRule {
  let scores: Scores | null = null
  return function* (docids, graph) {
    scores ??= yield* scored(resolver, query, attributeWeights(data))
    const { sums, max, pairs, units } = scores
    const heap = new DocumentHeap(docids, sums)
    const bucketOf = (equal: readonly number[], score: number): Bucket => ({
      docids: Uint32Array.from(equal),
      graph,
      detail: { rule: 'relevance', ...rankOf(score, max) },
    })
    const best: { docid: number; score: number }[] = []
    const lengths = resolver.lengths()
    const bestMax = pairs.length === 0 ? 0 : NEARNESS_DOCUMENTS_MAX
    while (!heap.isEmpty && best.length < bestMax) {
      const docid = heap.pop()
      best.push({ docid, score: sums[docid]! + nearness(resolver, pairs, docid, lengths, units) })
    }
    best.sort((a, b) => b.score - a.score || a.docid - b.docid)
    for (let from = 0; from < best.length; ) {
      const { score } = best[from]!
      let to = from + 1
      while (best[to]?.score === score) to++
      yield bucketOf(
        best.slice(from, to).map(({ docid }) => docid),
        score,
      )
      from = to
    }
    while (!heap.isEmpty) {
      const first = heap.pop()
      const equal = [first]
      while (!heap.isEmpty && sums[heap.top] === sums[first]) equal.push(heap.pop())
      yield bucketOf(equal, sums[first]!)
    }
  }
}

/** Documents with the best at the top; equal ones by docid. */
class DocumentHeap {
  private readonly docids: Uint32Array
  private readonly sums: Float64Array
  private size: number

  constructor(docids: Uint32Array, sums: Float64Array) {
    this.docids = docids.slice()
    this.sums = sums
    this.size = docids.length
    for (let at = (this.size >>> 1) - 1; at >= 0; at--) this.sink(at)
  }

  get isEmpty(): boolean {
    return this.size === 0
  }

  get top(): number {
    return this.docids[0]!
  }

  pop(): number {
    const { top } = this
    this.size--
    this.docids[0] = this.docids[this.size]!
    this.sink(0)
    return top
  }

  private isBefore(a: number, b: number): boolean {
    const [left, right] = [this.docids[a]!, this.docids[b]!]
    const difference = this.sums[left]! - this.sums[right]!
    return difference > 0 || (difference === 0 && left < right)
  }

  private sink(from: number): void {
    for (let at = from; ; ) {
      let best = at
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < this.size && this.isBefore(child, best)) best = child
      if (best === at) return
      const moved = this.docids[at]!
      this.docids[at] = this.docids[best]!
      this.docids[best] = moved
      at = best
    }
  }
}
