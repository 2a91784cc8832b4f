/**
 * Ranks documents with fewer typos first. Source: search §7.3.
 * 1. A prefix, a synonym and a phrase cost 0; a split costs 1.
 * 2. An n-gram costs the number of words it joins, in addition to its own typos.
 * 3. Later rules only see the derivations with the typo count that a document was found by.
 */

import type { TermNode } from '../../query/graph.js'
import { widthOf } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { hasTypos, mostTypos, type TypoCount } from '../../query/term.js'
import { NEVER, rankByCost } from '../cost/index.js'
import type { RankingRule } from '../rule.js'

const joiningCost = (node: TermNode): number => (node.term.spec.ngram === null ? 0 : widthOf(node))

export function typoRule(resolver: TermResolver): RankingRule {
  return rankByCost(
    {
      readsPrevious: false,
      costMax: (_, to) => mostTypos(to.term, to.kinds) + joiningCost(to),
      costs: (_, to, docids) => {
        const costs = new Uint16Array(docids.length).fill(NEVER)
        const base = joiningCost(to)
        for (let typos = mostTypos(to.term, to.kinds); typos >= 0; typos--) {
          const count = typos as TypoCount
          if (!to.kinds.exactOnly && !hasTypos(to.kinds, count)) continue
          if (to.kinds.exactOnly && typos > 0) continue
          const documents = to.kinds.exactOnly
            ? resolver.exactDocuments(to.term)
            : resolver.documentsByTypos(to.term, count)
          for (let at = 0; at < docids.length; at++) if (documents.has(docids[at]!)) costs[at] = base + typos
        }
        return costs
      },
      narrowed: (to, cost) => ({ typoCounts: 1 << (cost - joiningCost(to)), exactOnly: to.kinds.exactOnly }),
    },
    (cost, costMax) => ({ rule: 'typo', typos: cost, rank: costMax - cost + 1, max: costMax + 1 }),
  )
}
