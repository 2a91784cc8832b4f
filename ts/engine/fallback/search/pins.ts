/**
 * Finds pinned documents.
 *
 * Source: http-api §16.3, recorded answers.
 * 1. A pinned document need not match the query, but must match the filter.
 * 2. It is not ranked, and excludes documents that share its distinct value.
 * 3. Positions past the end are moved up.
 */
import type { SearchRequest } from '../../requests.js'
import type { Column } from '../facets/columns.js'
import type { OpenIndex } from '../open-index.js'
import { Distinct, type Ranked } from '../ranking/index.js'
import { DocSet } from '../store/docid-set.js'
import { type FilterContext, filteredDocuments } from './candidates.js'

/** Pinned documents that exist and match the filter. */
interface Pinned {
  /** By position; equal positions in the order of the request. */
  readonly hits: readonly Ranked[]
  /** Pinned documents and, with `distinct`, documents that share a value with them. These are not ranked. */
  readonly taken: DocSet
}

/** @param distinct column of the distinct attribute, null without one */
export function pinnedDocuments(
  index: OpenIndex,
  request: SearchRequest & FilterContext,
  distinct: Column | null,
): Pinned {
  const { docids } = index.data
  const matching = filteredDocuments(index, request.filter, request)
  const hits = request.pins.flatMap(({ id, position }): Ranked[] => {
    const docid = docids.get(id)
    if (docid === undefined || !matching.has(docid)) return []
    return [{ docid, details: [{ rule: 'pin', position }] }]
  })
  const taken = new DocSet(matching.words.length * 32)
  for (const { docid } of hits) taken.add(docid)
  if (distinct !== null) {
    const values = new Distinct(distinct)
    for (const { docid } of hits) values.keep(docid)
    for (const docid of matching.toArray()) if (values.excludes(docid)) taken.add(docid)
  }
  return { hits: hits.toSorted((a, b) => pinPosition(a) - pinPosition(b)), taken }
}

/** Position of a pinned hit, null if it is not pinned. */
export function pinOf({ details: [first] }: Ranked): number | null {
  return first?.rule === 'pin' ? first.position : null
}

const pinPosition = (hit: Ranked): number => pinOf(hit) ?? 0
