/**
 * Fewer typos first. Source: search §7.3.
 *  1. A prefix, a synonym and a phrase cost nothing; a split costs one.
 *  2. An n-gram costs as many typos as it joins words, beside its own.
 *  3. Afterwards a term stands for what was claimed: only words of that level stay in play.
 */

import type { TermNode } from '../../query/graph.js'
import { idCount } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { hasLevel, highestLevel, type Level } from '../../query/term.js'
import { NEVER, rankByCost } from '../cost/index.js'
import type { RankingRule } from '../rule.js'

const baseCost = (node: TermNode): number => (node.term.spec.ngram === null ? 0 : idCount(node))

export function typoRule(resolver: TermResolver): RankingRule {
  return rankByCost(
    {
      costMax: (_, to) => highestLevel(to.term, to.subset) + baseCost(to),
      costs: (_, to, docids) => {
        const costs = new Uint16Array(docids.length).fill(NEVER)
        const base = baseCost(to)
        for (let level = highestLevel(to.term, to.subset); level >= 0; level--) {
          const sub = level as Level
          if (!to.subset.exactOnly && !hasLevel(to.subset, sub)) continue
          if (to.subset.exactOnly && level > 0) continue
          const documents = to.subset.exactOnly
            ? resolver.exactDocuments(to.term)
            : resolver.documentsOfLevel(to.term, sub)
          for (let at = 0; at < docids.length; at++) if (documents.has(docids[at]!)) costs[at] = base + level
        }
        return costs
      },
      narrowed: (to, cost) => ({ levels: 1 << (cost - baseCost(to)), exactOnly: to.subset.exactOnly }),
    },
    (cost, costMax) => ({ rule: 'typo', typos: cost, rank: costMax - cost + 1, max: costMax + 1 }),
  )
}
