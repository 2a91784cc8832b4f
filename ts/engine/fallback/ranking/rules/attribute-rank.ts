/**
 * Better attributes first. Source: search §7.5.
 *  1. A term costs the weight of the best attribute it stands in, once per word it covers.
 *  2. The dearest cost is always possible, so that ranks of all documents have one scale.
 */
import { searchesEverything, searchWeight } from '../../fields/rules.js'
import type { IndexData } from '../../index-data/index-data.js'
import { idCount } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { NEVER, occurrenceCosts, rankByCost } from '../cost/index.js'
import type { RankingRule } from '../rule.js'

/** Weights are positions in the list of searchable attributes. */
export function attributeRankRule(data: IndexData, resolver: TermResolver): RankingRule {
  const { settings, fieldPaths } = data
  const weights = Uint16Array.from(fieldPaths, (path) => searchWeight(settings, path) ?? 0)
  const weightMax = searchesEverything(settings)
    ? 0
    : Math.max(0, new Set(settings.searchableAttributes).size - 1)
  return rankByCost(
    {
      costMax: (_, to) => weightMax * idCount(to),
      costs: (_, to, docids) => {
        const { allowed } = resolver
        return occurrenceCosts(resolver, to, docids, (occurrence) => {
          const field = occurrence >>> 16
          return allowed === null || allowed[field] === 1 ? weights[field]! * idCount(to) : NEVER
        })
      },
      narrowed: (to) => to.subset,
    },
    (cost, costMax) => ({ rule: 'attributeRank', rank: costMax - cost + 1, max: costMax + 1 }),
  )
}
