/**
 * Ranks documents first whose words are closer to their query positions. Source: search §7.6.
 * 1. A term costs by the distance between its position in any attribute and its position in the query. Large positions
 *    are rounded to their bucket.
 * 2. The highest cost is always possible, so that the ranks of all documents share a scale.
 */

import { widthOf } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { BUCKET_POSITIONS } from '../../store/buckets.js'
import { occurrenceCosts, rankByCost } from '../cost/index.js'
import type { RankingRule } from '../rule.js'

/** Maximum cost of an offset, per word. */
const OFFSET_COST_MAX = 10

/** Offsets up to these cost 0, 1, 2, …; larger offsets cost `OFFSET_COST_MAX`. */
const OFFSETS = [0, 1, 4, 7, 11, 16, 24, 64, 256, 1024]

function offsetCost(offset: number): number {
  const cost = OFFSETS.findIndex((reach) => offset <= reach)
  return cost === -1 ? OFFSET_COST_MAX : cost
}

export function wordPositionRule(resolver: TermResolver): RankingRule {
  return rankByCost(
    {
      readsPrevious: false,
      costMax: (_, to) => OFFSET_COST_MAX * widthOf(to),
      costs: (_, to, docids) => {
        const ids = widthOf(to)
        const costs = Uint16Array.from(BUCKET_POSITIONS, (position) => {
          const offset = Math.abs(position - to.firstPosition)
          let cost = 0
          for (let word = 0; word < ids; word++) cost += offsetCost(offset + word)
          return cost
        })
        return occurrenceCosts(resolver, to, docids, { by: 'position', costs })
      },
      narrowed: (to) => to.kinds,
    },
    (cost, costMax) => ({ rule: 'wordPosition', rank: costMax - cost + 1, max: costMax + 1 }),
  )
}
