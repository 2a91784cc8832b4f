/**
 * Ranks matches in more important attributes first. Source: search §7.5.
 * 1. A term costs the weight of its best attribute, once per word it covers.
 * 2. The highest cost is always possible, so that the ranks of all documents share a scale.
 */
import { searchesEverything, searchWeight } from '../../fields/rules.js'
import type { IndexData } from '../../index-data/index-data.js'
import { widthOf } from '../../query/graph.js'
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
      readsPrevious: false,
      costMax: (_, to) => weightMax * widthOf(to),
      costs: (_, to, docids) => {
        const { searched } = resolver
        const ofField = (weight: number, field: number): number =>
          searched === null || searched[field] === 1 ? Math.min(weight * widthOf(to), NEVER) : NEVER
        return occurrenceCosts(resolver, to, docids, { by: 'field', costs: weights.map(ofField) })
      },
      narrowed: (to) => to.kinds,
    },
    (cost, costMax) => ({ rule: 'attributeRank', rank: costMax - cost + 1, max: costMax + 1 }),
  )
}
