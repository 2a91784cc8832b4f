/**
 * Searches the values of a facet.
 *
 * Source: search §14.
 * 1. A value matches if it starts with the query, ignoring case and accents; values are not tokenized.
 * 2. The length of the query in bytes determines the number of allowed typos; the first letter may differ too.
 * 3. Values are counted over the documents that a search for `q` would count, including pinned documents.
 * 4. Numbers are ignored.
 */

import type { IndexSettings } from '../../../settings/index.js'
import type { SearchFacts } from '../../engine.js'
import { EngineError } from '../../engine-error.js'
import { QUERY_BYTES_MAX } from '../../limits.js'
import type { FacetSearchRequest } from '../../requests.js'
import { foldedText } from '../analysis/tokenize.js'
import type { Column } from '../facets/columns.js'
import { columnOf } from '../facets/coordinates.js'
import { untrimmedForm } from '../fields/flatten.js'
import { covers } from '../fields/patterns.js'
import { describeFacetSearchable, filterFeatures, localesOf } from '../fields/rules.js'
import type { OpenIndex } from '../open-index.js'
import { Bounds, checkStop } from './bounds.js'
import { type FilterContext, prefixOf } from './candidates.js'
import { countFacet, type FacetCount, facetOrder } from './facets.js'
import { plainSearch } from './plain-search.js'
import { rankSearch } from './search.js'

export function facetSearch(
  index: OpenIndex,
  request: FacetSearchRequest & FilterContext,
): { json: string; facts: SearchFacts } {
  const started = performance.now()
  const { settings, columns } = index.data
  const { facetName, facetQuery } = request
  const prefix = prefixOf(request.indexUid)
  if (!settings.facetSearch)
    throw new EngineError('facet_search_disabled', `${prefix}facet search is switched off in its settings`)
  if (filterFeatures(settings, facetName)?.facetSearch !== true)
    throw notSearchable(settings, facetName, prefix)
  const isHybrid = request.hybrid !== null && request.hybrid.semanticRatio > 0
  // Rank a page of documents, so that `distinct` and the threshold exclude documents.
  const found = rankSearch(
    index,
    {
      ...request,
      ...plainSearch,
      q: isHybrid ? null : request.q,
      paging: request.exhaustiveFacetCount
        ? { kind: 'page', page: 1, hitsPerPage: 20 }
        : { kind: 'offset', offset: 0, limit: 20 },
      attributesToRetrieve: null,
      retrieveVectors: false,
      showRankingScore: false,
      showRankingScoreDetails: false,
      showPerformanceDetails: false,
    },
    20,
  )
  checkStop(request.stop)
  const column = columnOf(columns, facetName)
  const order = facetOrder(settings.faceting.sortFacetValuesBy, facetName)
  const counts =
    column === undefined
      ? []
      : countFacet(column, found.counted.toArray(), order, Number.POSITIVE_INFINITY).filter(
          ({ isNumber }) => !isNumber,
        )
  const matches = matching(index, request, column)
  const hits = counts.filter(matches).slice(0, settings.faceting.maxValuesPerFacet)
  const bounds = new Bounds(request)
  const hitsText = hits.map(({ key, count }) =>
    bounds.counted(`{"value":${JSON.stringify(key)},"count":${count}}`),
  )
  return {
    json:
      `{"facetHits":[${hitsText.join(',')}],"facetQuery":${JSON.stringify(facetQuery)},` +
      `"processingTimeMs":${Math.round(performance.now() - started)}}`,
    facts: {
      degraded: found.degraded,
      usedNegativeOperator: false,
      terms: found.candidates.parsed.terms.length,
      semanticHits: null,
      hits: hits.length,
    },
  }
}

const notSearchable = (settings: IndexSettings, facetName: string, prefix: string): EngineError =>
  new EngineError(
    'invalid_facet_search_facet_name',
    `${prefix}Attribute \`${facetName}\` is not facet-searchable. ${describeFacetSearchable(settings)}`,
  )

/** Returns a predicate for values that start with the query. The length of the query in bytes limits the typos. */
function matching(
  { data }: OpenIndex,
  { facetName, facetQuery, locales }: FacetSearchRequest,
  column: Column | undefined,
): (value: FacetCount) => boolean {
  const fieldLocales = localesOf(data.settings, facetName) ?? []
  if (Buffer.byteLength(facetQuery ?? '') > QUERY_BYTES_MAX) return () => false
  const query = foldedText(untrimmedForm(facetQuery ?? ''), locales ?? fieldLocales)
  if (query === '') return () => true
  const { typoTolerance } = data.settings
  const formOf = ({ group }: FacetCount): string => foldedText(column!.forms[group]!, fieldLocales)
  if (typoTolerance.disableOnWords.includes(query)) return (value) => formOf(value) === query
  const bytes = Buffer.byteLength(query)
  const { oneTypo, twoTypos } = typoTolerance.minWordSizeForTypos
  const off =
    !typoTolerance.enabled || typoTolerance.disableOnAttributes.some((entry) => covers(entry, facetName))
  const budget = off || bytes < oneTypo ? 0 : bytes < twoTypos ? 1 : 2
  return (value) => prefixDistance(query, formOf(value), budget) <= budget
}

/** Smallest distance in characters between `asked` and any prefix of `value`; swapping neighbours costs 1. */
function prefixDistance(asked: string, value: string, budget: number): number {
  if (value.startsWith(asked)) return 0
  const [query, text] = [Array.from(asked), Array.from(value)]
  // The unmatched rest of the query would consist of typos.
  if (budget === 0 || query.length - text.length > budget) return budget + 1
  let twoAbove: number[] = []
  let above = Array.from({ length: query.length + 1 }, (_, at) => at)
  let least = query.length
  for (let depth = 1; depth <= Math.min(text.length, query.length + budget); depth++) {
    const row = [depth]
    for (let at = 1; at <= query.length; at++) {
      const same = query[at - 1] === text[depth - 1]
      let cost = Math.min(above[at - 1]! + (same ? 0 : 1), above[at]! + 1, row[at - 1]! + 1)
      if (depth > 1 && at > 1 && query[at - 1] === text[depth - 2] && query[at - 2] === text[depth - 1])
        cost = Math.min(cost, twoAbove[at - 2]! + 1)
      row.push(cost)
    }
    least = Math.min(least, row[query.length]!)
    twoAbove = above
    above = row
  }
  return least
}
