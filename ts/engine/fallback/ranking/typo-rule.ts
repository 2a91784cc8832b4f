/**
 * Fewer typos first. Source: spec/search-semantics.md §7.3.
 *  1. A prefix, a synonym and a phrase cost nothing; a split costs one.
 *  2. An n-gram costs as many typos as it joins words, beside its own.
 *  3. Afterwards a term stands for what was claimed: only words of that level stay in play.
 */

import type { TermNode } from '../query/graph.js'
import { idCount } from '../query/graph.js'
import type { Matcher } from '../query/matcher.js'
import { hasLevel, highestLevel, type Level } from '../query/term.js'
import type { RankingRule } from './bucket.js'
import { costRule, IMPOSSIBLE } from './costs.js'

const basePrice = (node: TermNode): number => (node.term.spec.ngram === null ? 0 : idCount(node))

export function typoRule(matcher: Matcher): RankingRule {
  return costRule(
    {
      most: (_, to) => highestLevel(to.term, to.subset) + basePrice(to),
      prices: (_, to, docids) => {
        const prices = new Uint16Array(docids.length).fill(IMPOSSIBLE)
        const base = basePrice(to)
        for (let level = highestLevel(to.term, to.subset); level >= 0; level--) {
          const sub = level as Level
          if (!to.subset.exactOnly && !hasLevel(to.subset, sub)) continue
          if (to.subset.exactOnly && level > 0) continue
          const documents = to.subset.exactOnly
            ? matcher.exactDocuments(to.term)
            : matcher.documentsOfLevel(to.term, sub)
          for (let at = 0; at < docids.length; at++) if (documents.has(docids[at]!)) prices[at] = base + level
        }
        return prices
      },
      narrowed: (to, price) => ({ levels: 1 << (price - basePrice(to)), exactOnly: to.subset.exactOnly }),
    },
    (price, most) => ({ rule: 'typo', typos: price, rank: most - price + 1, max: most + 1 }),
  )
}
