/** Computes the cheapest occurrence of a query node in each document. */
import { forShared, type PostingList } from '../../postings/postings.js'
import type { TermNode } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { NEVER } from './rule.js'

/**
 * Returns the lowest cost of all occurrences of a node in each document, or `NEVER`. A phrase is at the position of its
 * first word.
 * @param costOf cost of an occurrence, which has the field in the upper 16 bits and the position in the lower 16
 */
export function occurrenceCosts(
  resolver: TermResolver,
  node: TermNode,
  docids: Uint32Array,
  costOf: (occurrence: number) => number,
): Uint16Array {
  const costs = new Uint16Array(docids.length).fill(NEVER)
  const charge = (list: PostingList, holds: (docid: number) => boolean): void =>
    forShared(list, docids, (at, from, to) => {
      if (!holds(docids[at]!)) return
      for (let occurrence = from; occurrence < to; occurrence++) {
        const cost = costOf(list[occurrence]!)
        if (cost < costs[at]!) costs[at] = cost
      }
    })
  const { words, completions, phrases } = resolver.occurrences(node.term, node.kinds)
  const always = (): boolean => true
  charge(words, always)
  charge(completions, always)
  for (const { documents, firstWord } of phrases) charge(firstWord, (docid) => documents.has(docid))
  return costs
}
