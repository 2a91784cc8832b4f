/**
 * Better attributes first; earlier words first. Two rules that look at each term by itself.
 *
 * Source: spec/search-semantics.md §7.5 and §7.6.
 *  1. A term costs the weight of the best field it stands in, once per word it covers.
 *  2. A term costs by how far it stands from its place in the query, in any field; far positions are
 *     known by their bucket only.
 *  3. The dearest price is always possible, so that ranks of all documents have one scale.
 */

import { forShared, type PostingList } from '../postings.js'
import { idCount, type TermNode } from '../query/graph.js'
import type { Matcher } from '../query/matcher.js'
import type { RankingRule } from './bucket.js'
import { costRule, IMPOSSIBLE } from './costs.js'

/** @param weights field → weight @param most the greatest weight there is */
export function attributeRankRule(matcher: Matcher, weights: Uint16Array, most: number): RankingRule {
  return costRule(
    {
      most: (_, to) => most * idCount(to),
      prices: (_, to, docids) => {
        const { allowed } = matcher
        return cheapestPlaces(matcher, to, docids, (occurrence) => {
          const field = occurrence >>> 16
          return allowed === null || allowed[field] === 1 ? weights[field]! * idCount(to) : IMPOSSIBLE
        })
      },
      narrowed: (to) => to.subset,
    },
    (price, most) => ({ rule: 'attributeRank', rank: most - price + 1, max: most + 1 }),
  )
}

/** Price of the farthest place, per word. */
const FARTHEST = 10

/** Distances up to these cost 0, 1, 2 …; what is beyond the last costs `FARTHEST`. */
const DISTANCE_STEPS = [0, 1, 4, 7, 11, 16, 24, 64, 256, 1024]

function distancePrice(distance: number): number {
  const price = DISTANCE_STEPS.findIndex((most) => distance <= most)
  return price === -1 ? FARTHEST : price
}

/** The position under which the index would know a place: exact below 16, then in growing buckets. */
export function bucketedPosition(position: number): number {
  if (position < 16) return position
  if (position < 24) return 24
  return 2 ** Math.ceil(Math.log2(position))
}

export function wordPositionRule(matcher: Matcher): RankingRule {
  return costRule(
    {
      most: (_, to) => FARTHEST * idCount(to),
      prices: (_, to, docids) => {
        const ids = idCount(to)
        const known = new Map<number, number>()
        return cheapestPlaces(matcher, to, docids, (occurrence) => {
          const position = occurrence & 0xffff
          let price = known.get(position)
          if (price === undefined) {
            const distance = Math.abs(bucketedPosition(position) - to.firstPosition)
            price = 0
            for (let word = 0; word < ids; word++) price += distancePrice(distance + word)
            known.set(position, price)
          }
          return price
        })
      },
      narrowed: (to) => to.subset,
    },
    (price, most) => ({ rule: 'wordPosition', rank: most - price + 1, max: most + 1 }),
  )
}

/** Per document the least price of all places of a term; phrases stand where their first word does. */
function cheapestPlaces(
  matcher: Matcher,
  node: TermNode,
  docids: Uint32Array,
  priceOf: (occurrence: number) => number,
): Uint16Array {
  const prices = new Uint16Array(docids.length).fill(IMPOSSIBLE)
  const charge = (list: PostingList, holds: (docid: number) => boolean): void =>
    forShared(list, docids, (at, from, to) => {
      if (!holds(docids[at]!)) return
      for (let place = from; place < to; place++) {
        const price = priceOf(list[place]!)
        if (price < prices[at]!) prices[at] = price
      }
    })
  const { words, completions, phrases } = matcher.occurrences(node.term, node.subset)
  const always = (): boolean => true
  charge(words, always)
  charge(completions, always)
  for (const { documents, first } of phrases) charge(first, (docid) => documents.has(docid))
  return prices
}
