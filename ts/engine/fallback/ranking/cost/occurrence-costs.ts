/** Computes the cheapest occurrence of a query node in each document. */
import { ListCursor } from '../../postings/list-cursor.js'
import type { PostingList } from '../../postings/postings.js'
import type { TermNode } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import { positionBucket } from '../../store/buckets.js'
import type { DocSet } from '../../store/docid-set.js'
import { NEVER } from './rule.js'

/** Cost of an occurrence: by its field, or by the bucket of its position (`positionBucket`). */
export interface Tariff {
  readonly by: 'field' | 'position'
  readonly costs: Uint16Array
}

/**
 * Returns the lowest cost of all occurrences of a node in each document, or `NEVER`. A phrase is at the position of its
 * first word.
 */
export function occurrenceCosts(
  resolver: TermResolver,
  node: TermNode,
  docids: Uint32Array,
  tariff: Tariff,
): Uint16Array {
  const least = new Uint16Array(docids.length).fill(NEVER)
  const { words, completions, phrases } = resolver.occurrences(node.term, node.kinds)
  charge(least, words, null, docids, tariff)
  charge(least, completions, null, docids, tariff)
  for (const { documents, firstWord } of phrases) charge(least, firstWord, documents, docids, tariff)
  return least
}

/** Lowers the costs of documents that have cheaper occurrences in a list. @param within null: no document is left out */
function charge(
  least: Uint16Array,
  list: PostingList,
  within: DocSet | null,
  docids: Uint32Array,
  { by, costs }: Tariff,
): void {
  const cursor = new ListCursor(list)
  const byField = by === 'field'
  for (let at = 0; at < docids.length; at++) {
    const docid = docids[at]!
    if (!cursor.seek(docid) || (within !== null && !within.has(docid))) continue
    let lowest = least[at]!
    for (let next = cursor.from; next < cursor.to && lowest > 0; next++) {
      const occurrence = list[next]!
      const cost = costs[byField ? occurrence >>> 16 : positionBucket(occurrence & 0xffff)]!
      if (cost < lowest) lowest = cost
    }
    least[at] = lowest
  }
}
