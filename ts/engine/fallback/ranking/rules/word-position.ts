/**
 * Words closer to their position in the query first. Source: search §7.6.
 *  1. A term costs by how far it stands from its position in the query, in any attribute; far positions are
 *     known by their bucket only.
 *  2. The dearest cost is always possible, so that ranks of all documents have one scale.
 */

import { idCount } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { bucketedPosition } from '../../store/buckets.js'
import { occurrenceCosts, rankByCost } from '../cost/index.js'
import type { RankingRule } from '../rule.js'

/** What an offset costs at worst, per word. */
const OFFSET_COST_MAX = 10

/** Offsets up to these cost 0, 1, 2 …; what is beyond the last costs `OFFSET_COST_MAX`. */
const OFFSETS = [0, 1, 4, 7, 11, 16, 24, 64, 256, 1024]

function offsetCost(offset: number): number {
  const cost = OFFSETS.findIndex((reach) => offset <= reach)
  return cost === -1 ? OFFSET_COST_MAX : cost
}

export function wordPositionRule(resolver: TermResolver): RankingRule {
  return rankByCost(
    {
      costMax: (_, to) => OFFSET_COST_MAX * idCount(to),
      costs: (_, to, docids) => {
        const ids = idCount(to)
        const known = new Map<number, number>()
        return occurrenceCosts(resolver, to, docids, (occurrence) => {
          const position = occurrence & 0xffff
          let cost = known.get(position)
          if (cost === undefined) {
            const offset = Math.abs(bucketedPosition(position) - to.firstPosition)
            cost = 0
            for (let word = 0; word < ids; word++) cost += offsetCost(offset + word)
            known.set(position, cost)
          }
          return cost
        })
      },
      narrowed: (to) => to.subset,
    },
    (cost, costMax) => ({ rule: 'wordPosition', rank: costMax - cost + 1, max: costMax + 1 }),
  )
}
