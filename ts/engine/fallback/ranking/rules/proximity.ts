/**
 * Ranks documents first whose words are closer together. Source: search §7.4.
 * 1. Neighbours in order cost 0. Each further step costs 1, and so does the reverse order.
 * 2. From four steps on, and across fields, every distance costs the same.
 * 3. Words that are not neighbours in the query have no distance.
 * 4. Phrases, splits and synonyms count from their last and first word, and only in order.
 */

import { Distances } from '../../postings/distances.js'
import { type TermNode, widthOf } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { type CostRule, NEVER, rankByCost } from '../cost/index.js'
import type { Bucket, RankingRule, ScoreDetail } from '../rule.js'
import { AttributePairs } from './attribute-pairs.js'

/** Cost of a distant pair. */
const FAR = 3

export function proximityRule(resolver: TermResolver): RankingRule {
  return rankByCost(
    {
      readsPrevious: true,
      costMax,
      costs: (from, to, docids) => {
        const costs = farCosts(resolver, from, to, docids)
        if (!adjacent(from, to)) return costs
        const base = widthOf(to) - 1
        const pair = new Distances(
          resolver.occurrences(from.term, from.kinds),
          resolver.occurrences(to.term, to.kinds),
        )
        for (let at = 0; at < docids.length; at++) {
          if (!pair.seek(docids[at]!)) continue
          // The reverse order costs one more.
          const near = Math.min(pair.forward - 1, pair.backward)
          if (near < FAR) costs[at] = base + near
        }
        return costs
      },
      narrowed: (to) => to.kinds,
    },
    detail,
  )
}

/**
 * Ranks by attribute proximity. A pair costs 0 if an attribute contains both words, 1 if only the reversed pair was
 * looked up among documents with both words, and otherwise `FAR` (`AttributePairs` explains why such documents exist).
 *
 * Documents with a reading of cost 0 come first; reversed pairs are looked up among the remaining documents only.
 */
export function proximityByAttributeRule(resolver: TermResolver): RankingRule {
  const pairs = new AttributePairs(resolver)
  return function* (docids, graph) {
    if (graph === null) return
    let rest = docids
    for (const bucket of rankByCost(pairCosts(resolver, pairs, ['forward']), detail)(docids, graph)) {
      if (bucket === null) {
        yield null
        continue
      }
      if (isFree(bucket)) {
        yield bucket
        const free = new Set(bucket.docids)
        rest = docids.filter((docid) => !free.has(docid))
      }
      break
    }
    if (rest.length > 0)
      yield* rankByCost(pairCosts(resolver, pairs, ['forward', 'backward']), detail)(rest, graph)
  }
}

const isFree = ({ detail }: Bucket): boolean => detail.rule === 'proximity' && detail.rank === detail.max

/** Costs of pairs in an attribute. @param orders the orders to look up, cheapest first */
function pairCosts(
  resolver: TermResolver,
  pairs: AttributePairs,
  orders: readonly ('forward' | 'backward')[],
): CostRule {
  return {
    readsPrevious: true,
    costMax,
    costs: (from, to, docids) => {
      const costs = farCosts(resolver, from, to, docids)
      if (!adjacent(from, to)) return costs
      for (const [extra, order] of orders.entries()) {
        const cost = widthOf(to) - 1 + extra
        pairs.visitShared(from, to, order, docids, (row) => {
          if (cost < costs[row]!) costs[row] = cost
        })
      }
      return costs
    },
    narrowed: (to) => to.kinds,
  }
}

/** Cost of each document if `to` is not near `from`. */
function farCosts(
  resolver: TermResolver,
  from: TermNode | null,
  to: TermNode,
  docids: Uint32Array,
): Uint16Array {
  const documents = resolver.documentsOf(to.term, to.kinds)
  const farCost = widthOf(to) - 1 + (adjacent(from, to) ? FAR : 0)
  const costs = new Uint16Array(docids.length)
  for (let at = 0; at < docids.length; at++) costs[at] = documents.has(docids[at]!) ? farCost : NEVER
  return costs
}

const adjacent = (from: TermNode | null, to: TermNode): from is TermNode =>
  from !== null && from.lastPosition + 1 === to.firstPosition

const costMax = (from: TermNode | null, to: TermNode): number =>
  widthOf(to) - 1 + (adjacent(from, to) ? FAR : 0)

const detail = (cost: number, costMax: number): ScoreDetail => ({
  rule: 'proximity',
  rank: costMax - cost + 1,
  max: costMax + 1,
})
