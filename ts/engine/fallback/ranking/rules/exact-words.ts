/**
 * Ranks documents with more exact query words first. Source: search §7.7.
 * 1. A word in its exact form costs 0, any other derivation the number of words it covers.
 * 2. Completions, typos, synonyms, splits and n-grams are never exact.
 */

import { exactWords, widthOf } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { DocSet } from '../../store/docid-set.js'
import { NEVER, rankByCost } from '../cost/index.js'
import type { RankingRule } from '../rule.js'

export function exactWordsRule(resolver: TermResolver): RankingRule {
  return rankByCost(
    {
      readsPrevious: false,
      costMax: (_, to) => widthOf(to),
      costs: (_, to, docids) => {
        const exact = exactWords(to) === null ? new DocSet(0) : resolver.exactDocuments(to.term)
        const documents = resolver.documentsOf(to.term, to.kinds)
        const costs = new Uint16Array(docids.length)
        const otherwise = widthOf(to)
        for (let at = 0; at < docids.length; at++) {
          const docid = docids[at]!
          costs[at] = exact.has(docid) ? 0 : documents.has(docid) ? otherwise : NEVER
        }
        return costs
      },
      narrowed: (to, cost) => (cost === 0 ? { typoCounts: 0b001, exactOnly: true } : to.kinds),
    },
    (cost, costMax) => ({ rule: 'exactWords', rank: costMax - cost + 1, max: costMax + 1 }),
  )
}
