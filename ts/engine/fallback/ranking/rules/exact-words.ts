/**
 * The more words stand as they were typed, the better. Source: search §7.7.
 *  1. A word as it was typed costs nothing, any other one for each word it covers.
 *  2. Completions, typos, synonyms, splits and n-grams are never exact.
 */

import { exactWords, idCount } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { DocSet } from '../../store/docid-set.js'
import { NEVER, rankByCost } from '../cost/index.js'
import type { RankingRule } from '../rule.js'

export function exactWordsRule(resolver: TermResolver): RankingRule {
  return rankByCost(
    {
      costMax: (_, to) => idCount(to),
      costs: (_, to, docids) => {
        const exact = exactWords(to) === null ? new DocSet(0) : resolver.exactDocuments(to.term)
        const documents = resolver.documentsOf(to.term, to.subset)
        return Uint16Array.from(docids, (docid) =>
          exact.has(docid) ? 0 : documents.has(docid) ? idCount(to) : NEVER,
        )
      },
      narrowed: (to, cost) => (cost === 0 ? { levels: 0b001, exactOnly: true } : to.subset),
    },
    (cost, costMax) => ({ rule: 'exactWords', rank: costMax - cost + 1, max: costMax + 1 }),
  )
}
