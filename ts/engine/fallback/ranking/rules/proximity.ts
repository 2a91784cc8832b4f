/**
 * Ranks documents first whose words are closer together. Source: search §7.4.
 * 1. Neighbours in order cost 0. Each further step costs 1, and so does the reverse order.
 * 2. From four steps on, and across fields, every distance costs the same.
 * 3. Words that are not neighbours in the query have no distance.
 * 4. Phrases, splits and synonyms count from their last and first word, and only in order.
 */

import { find, occurrencesEnd, occurrencesStart, type PostingList } from '../../postings/postings.js'
import { type TermNode, widthOf } from '../../query/graph.js'
import type { Occurrences, TermResolver } from '../../query/resolver.js'
import { type CostRule, NEVER, rankByCost } from '../cost/index.js'
import type { Bucket, RankingRule, ScoreDetail } from '../rule.js'
import { AttributePairs } from './attribute-pairs.js'

/** Cost of a distant pair. */
const FAR = 3

export function proximityRule(resolver: TermResolver): RankingRule {
  return rankByCost(
    {
      costMax,
      costs: (from, to, docids) => {
        const costs = farCosts(resolver, from, to, docids)
        if (!adjacent(from, to)) return costs
        const base = widthOf(to) - 1
        const left = resolver.occurrences(from.term, from.kinds)
        const right = resolver.occurrences(to.term, to.kinds)
        for (let at = 0; at < docids.length; at++) {
          const near = pairDistance(left, right, docids[at]!)
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
  return Uint16Array.from(docids, (docid) => (documents.has(docid) ? farCost : NEVER))
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

/** Returns 0 for neighbours in order, at most `FAR`. */
function pairDistance(left: Occurrences, right: Occurrences, docid: number): number {
  const lefts = occurrencesIn(left, docid, 'last')
  if (lefts.all.length === 0) return FAR
  const rights = occurrencesIn(right, docid, 'first')
  if (rights.all.length === 0) return FAR
  const forward = leastDistance(lefts.all, rights.all) - 1
  if (forward === 0) return 0
  return Math.min(forward, leastDistance(rights.reversible, lefts.reversible), FAR)
}

interface NodeOccurrences {
  /** Ascending. */
  readonly all: Uint32Array
  /** Occurrences that also count in reverse order. */
  readonly reversible: Uint32Array
}

const NONE = new Uint32Array(0)

function occurrencesIn(occurrences: Occurrences, docid: number, side: 'first' | 'last'): NodeOccurrences {
  const reversible = listedIn(occurrences.words, docid)
  const others: Uint32Array[] = []
  const completions = listedIn(occurrences.completions, docid)
  if (completions.length > 0) others.push(completions)
  for (const phrase of occurrences.phrases)
    if (phrase.documents.has(docid)) others.push(listedIn(phrase[side], docid))
  if (others.length === 0) return { all: reversible, reversible }
  const all = new Uint32Array(others.reduce((sum, part) => sum + part.length, reversible.length))
  all.set(reversible)
  let filled = reversible.length
  for (const part of others) {
    all.set(part, filled)
    filled += part.length
  }
  return { all: all.sort(), reversible }
}

function listedIn(list: PostingList, docid: number): Uint32Array {
  if (list[0] === 0) return NONE
  const nth = find(list, docid)
  return nth === -1 ? NONE : list.subarray(occurrencesStart(list, nth), occurrencesEnd(list, nth))
}

/** Smallest distance from an occurrence in `lefts` to a later occurrence in `rights` in the same field. */
function leastDistance(lefts: Uint32Array, rights: Uint32Array): number {
  let least = Number.POSITIVE_INFINITY
  let next = 0
  for (const right of rights) {
    while (next < lefts.length && lefts[next]! < right) next++
    if (next === 0) continue
    const left = lefts[next - 1]!
    if (right - left < least && right >>> 16 === left >>> 16) least = right - left
  }
  return least
}
