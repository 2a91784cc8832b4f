/**
 * Here are documents with a place of their own: where do they stand among the ranked ones?
 *
 * Source: http-api §16.3, recorded answers.
 *  1. A pinned document need not match the query, but has to pass the filter.
 *  2. It is not ranked, and shuts out what shares its distinct value.
 *  3. Places past the end close up.
 */
import type { SearchRequest } from '../../requests.js'
import type { Column } from '../facets/columns.js'
import type { OpenIndex } from '../open-index.js'
import { Distinct, type Ranked } from '../ranking/index.js'
import { DocSet } from '../store/docid-set.js'
import { type FilterContext, filteredDocuments } from './candidates.js'

/** The pinned documents that are there and pass the filter. */
export interface Pinned {
  /** By position; of equal ones the first asked for comes first. */
  readonly hits: readonly Ranked[]
  /** They and, with `distinct`, those that share a value with one: not to be ranked. */
  readonly taken: DocSet
}

/** @param distinct the column that tells hits apart, null without one */
export function pinnedDocuments(
  index: OpenIndex,
  request: SearchRequest & FilterContext,
  distinct: Column | null,
): Pinned {
  const { docids } = index.data
  const allowed = filteredDocuments(index, request.filter, request)
  const hits = request.pins.flatMap(({ id, position }): Ranked[] => {
    const docid = docids.get(id)
    if (docid === undefined || !allowed.has(docid)) return []
    return [{ docid, details: [{ rule: 'pin', position }] }]
  })
  const taken = new DocSet(allowed.words.length * 32)
  for (const { docid } of hits) taken.add(docid)
  if (distinct !== null) {
    const values = new Distinct(distinct)
    for (const { docid } of hits) values.keep(docid)
    for (const docid of allowed.toArray()) if (values.excludes(docid)) taken.add(docid)
  }
  return { hits: hits.toSorted((a, b) => pinPosition(a) - pinPosition(b)), taken }
}

/** Where a hit is pinned, null if it is not. */
export function pinOf({ details: [first] }: Ranked): number | null {
  return first?.rule === 'pin' ? first.position : null
}

const pinPosition = (hit: Ranked): number => pinOf(hit) ?? 0
