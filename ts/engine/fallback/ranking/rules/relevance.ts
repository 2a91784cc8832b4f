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
import { Scores } from '../relevance/scores.js'
import type { Sums } from '../relevance/sums.js'
import { attributeWeights } from '../relevance/weights.js'
import type { Bucket, RankingRule } from '../rule.js'

/** @param query all readings of the query */
export function relevanceRule(data: IndexData, resolver: TermResolver, query: QueryGraph): RankingRule {
  let prepared: Scores | null = null
  return function* (docids, graph) {
    const scores = prepared ?? new Scores(resolver, attributeWeights(data))
    if (prepared === null) yield* scores.prepare(query)
    prepared = scores
    const { pairs, max, units } = scores
    const bucketOf = (equal: readonly number[], score: number): Bucket => ({
      docids: Uint32Array.from(equal).sort(),
      graph,
      detail: { rule: 'relevance', ...rankOf(score, max) },
    })
    const best = yield* scores.best(docids, NEARNESS_DOCUMENTS_MAX)
    const lengths = resolver.lengths()
    for (const scored of best) scored.score += nearness(resolver, pairs, scored.docid, lengths, units)
    best.sort((a, b) => b.score - a.score || a.docid - b.docid)
    let others: DocumentHeap | null = null
    for (let from = 0; from < best.length; ) {
      const { score } = best[from]!
      let to = from + 1
      while (best[to]?.score === score) to++
      const equal = best.slice(from, to).map(({ docid }) => docid)
      // Later rules get all equal documents together. If there are pairs, only the best documents have complete scores.
      if (to === best.length && pairs.length === 0) {
        others = yield* othersOf(scores, docids, best)
        equal.push(...others.popEqual(score))
      }
      yield bucketOf(equal, score)
      from = to
    }
    others ??= yield* othersOf(scores, docids, best)
    while (!others.isEmpty) {
      const score = others.topScore
      yield bucketOf(others.popEqual(score), score)
    }
  }
}

/** All of `docids` that are not among `best`. */
function* othersOf(
  scores: Scores,
  docids: Uint32Array,
  best: readonly { readonly docid: number }[],
): Generator<null, DocumentHeap> {
  const known = new Set(best.map(({ docid }) => docid))
  const rest = docids.filter((docid) => !known.has(docid))
  return new DocumentHeap(rest, rest.length === 0 ? null : yield* scores.all())
}

/** A heap of documents: the best at the top, equal ones by docid. */
class DocumentHeap {
  private readonly docids: Uint32Array
  private readonly scores: Float64Array
  private size: number

  constructor(docids: Uint32Array, sums: Sums | null) {
    this.docids = docids.slice()
    this.scores = Float64Array.from(docids, (docid) => sums?.of(docid) ?? 0)
    this.size = docids.length
    for (let at = (this.size >>> 1) - 1; at >= 0; at--) this.sink(at)
  }

  get isEmpty(): boolean {
    return this.size === 0
  }

  get topScore(): number {
    return this.scores[0]!
  }

  /** Removes all documents with this score from the top. */
  popEqual(score: number): number[] {
    const equal: number[] = []
    while (!this.isEmpty && this.topScore === score) equal.push(this.pop())
    return equal
  }

  private pop(): number {
    const top = this.docids[0]!
    this.size--
    this.swap(0, this.size)
    this.sink(0)
    return top
  }

  private swap(a: number, b: number): void {
    const [docid, score] = [this.docids[a]!, this.scores[a]!]
    this.docids[a] = this.docids[b]!
    this.scores[a] = this.scores[b]!
    this.docids[b] = docid
    this.scores[b] = score
  }

  private isBefore(a: number, b: number): boolean {
    const difference = this.scores[a]! - this.scores[b]!
    return difference > 0 || (difference === 0 && this.docids[a]! < this.docids[b]!)
  }

  private sink(from: number): void {
    for (let at = from; ; ) {
      let best = at
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < this.size && this.isBefore(child, best)) best = child
      if (best === at) return
      this.swap(at, best)
      at = best
    }
  }
}
