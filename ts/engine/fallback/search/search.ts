/**
 * Runs a search and writes the answer.
 *
 * Source: search §15, http-api §8.
 * 1. Only the first `maxTotalHits` ranked documents are reachable; all matching documents are counted.
 * 2. Documents excluded by `distinct` or a threshold are subtracted from the count as far as they were ranked; with
 *    `page`, exactly.
 * 3. Pinned documents are not ranked. They are inserted at their positions, and counted.
 * 4. Facets count the same documents as the total, not the page.
 */
import type { SearchFacts } from '../../engine.js'
import { EngineError } from '../../engine-error.js'
import type { SearchRequest } from '../../requests.js'
import type { Column } from '../facets/columns.js'
import { columnOf } from '../facets/coordinates.js'
import { describeFilterable, isFilterable } from '../fields/rules.js'
import { SEARCH_CUTOFF_MS } from '../limits.js'
import type { OpenIndex } from '../open-index.js'
import {
  type BucketSortRequest,
  bucketSort,
  Distinct,
  type RankingRule,
  rulesOfSearch,
  type SortCriterion,
} from '../ranking/index.js'
import type { DocSet } from '../store/docid-set.js'
import type { AnswerBytes } from './answer-bytes.js'
import { Bounds } from './bounds.js'
import { type FilterContext, filteredDocuments, findCandidates, prefixOf, strategyOf } from './candidates.js'
import { facetsJson } from './facets.js'
import { HitWriter } from './hits.js'
import { keywordHitsSuffice, mergeHits } from './hybrid.js'
import { hydrationOf } from './hydration.js'
import { interleaved } from './interleave.js'
import { pinnedDocuments, pinOf } from './pins.js'
import type { RankedSearch } from './ranked-search.js'
import { Scaling } from './scaling.js'
import { kindOf, vectorText } from './semantic.js'
import { parseSort } from './sort-request.js'
import { type Stage, Stages } from './stages.js'

/** Range of the page among the ranked documents. */
function pageOf(request: SearchRequest, maxTotalHits: number): { from: number; to: number } {
  const { paging } = request
  if (paging.kind === 'offset') {
    const from = Math.min(paging.offset, maxTotalHits)
    return { from, to: Math.min(paging.offset + paging.limit, maxTotalHits) }
  }
  if (paging.page === 0) return { from: 0, to: 0 }
  const from = Math.min((paging.page - 1) * paging.hitsPerPage, maxTotalHits)
  return { from, to: Math.min(from + paging.hitsPerPage, maxTotalHits) }
}

/** A search that stops when its client disconnects. */
export type StoppableRequest = SearchRequest & FilterContext

/** A search that leaves some documents unranked. */
type RankingRequest = StoppableRequest & { readonly without?: DocSet; readonly scaling?: Scaling }

/** Ranks the first `wanted` documents of a search and inserts pinned documents. */
export function rankSearch(index: OpenIndex, request: StoppableRequest, wanted: number): RankedSearch {
  const scales = request.scales ?? []
  if (request.pins.length === 0 && scales.length === 0) return rankKind(index, request, wanted)
  // Reports mistakes in the same order as without rules.
  kindOf(index, request)
  sortOf(index, request)
  const distinct = distinctColumn(index, request, prefixOf(request.indexUid))
  const pinned = pinnedDocuments(index, request, distinct)
  const without = pinned.taken
  const matching = scales.length === 0 ? null : filteredDocuments(index, request.filter, request)
  const scaling = matching === null ? null : Scaling.of(index, scales, matching, request)
  if (scaling !== null) without.union(scaling.hidden)
  const found = rankKind(index, { ...request, without, ...(scaling !== null && { scaling }) }, wanted)
  const pins = new Set(pinned.hits.map(({ docid }) => docid))
  for (const docid of pins) found.counted.add(docid)
  const { isSemantic } = found
  return {
    ...found,
    ranked: interleaved(pinned.hits, found.ranked, wanted, (hit) => pinOf(hit) ?? 0),
    isSemantic: isSemantic === null ? null : (docid) => !pins.has(docid) && isSemantic(docid),
  }
}

/** Ranks by keywords, by vectors, or by both. */
function rankKind(index: OpenIndex, request: RankingRequest, wanted: number): RankedSearch {
  const kind = kindOf(index, request)
  const stages = new Stages(request.embeddingMs)
  const rankByKeywords = () => rankBy(index, request, { wanted, vector: null, stages })
  const rankByVectors = (vector: RankingRule) =>
    rankBy(index, { ...request, q: null }, { wanted, vector, stages })
  const semanticOnly = kind.kind === 'semantic'
  if (kind.kind === 'keyword') {
    const found = { ...rankByKeywords(), semanticOnly, stages }
    if (kind.missingRatio === null) return { ...found, isSemantic: null, comparedVectors: false }
    const lacksVector = !keywordHitsSuffice(found.ranked, wanted, kind.missingRatio)
    return { ...found, isSemantic: () => false, comparedVectors: false, lacksVector }
  }
  if (kind.kind === 'semantic') {
    const found = rankByVectors(kind.rule)
    return { ...found, isSemantic: () => true, semanticOnly, comparedVectors: true, stages }
  }
  const byKeywords = { ...rankByKeywords(), semanticOnly, stages }
  if (keywordHitsSuffice(byKeywords.ranked, wanted, kind.ratio))
    return { ...byKeywords, isSemantic: () => false, comparedVectors: false }
  const byVectors = rankByVectors(kind.rule)
  const column = distinctColumn(index, request, prefixOf(request.indexUid))
  const distinct = column === null ? null : new Distinct(column)
  const merged = mergeHits(byKeywords.ranked, byVectors.ranked, {
    ratio: kind.ratio,
    wanted,
    keep: (docid) => distinct?.keep(docid) ?? true,
  })
  const counted = byKeywords.counted.clone().union(byVectors.counted)
  if (distinct !== null)
    for (const docid of counted.toArray()) if (distinct.excludes(docid)) counted.delete(docid)
  stages.end('search > merge results')
  const semantic = new Set(merged.filter((hit) => hit.isSemantic).map(({ docid }) => docid))
  return {
    ...byKeywords,
    ranked: merged,
    counted,
    degraded: byKeywords.degraded || byVectors.degraded,
    isSemantic: (docid) => semantic.has(docid),
    comparedVectors: true,
  }
}

/** Ranks by keywords, or by `vector` in their place. */
function rankBy(
  index: OpenIndex,
  request: RankingRequest,
  { wanted, vector, stages }: { wanted: number; vector: RankingRule | null; stages: Stages },
): Omit<RankedSearch, 'isSemantic' | 'semanticOnly' | 'comparedVectors' | 'stages'> {
  const { settings } = index.data
  const prefix = prefixOf(request.indexUid)
  const sort = sortOf(index, request)
  const distinct = distinctColumn(index, request, prefix)
  const deadline = Math.min(
    performance.now() + (settings.searchCutoffMs ?? SEARCH_CUTOFF_MS),
    request.shared?.rankingEndsAt ?? Number.POSITIVE_INFINITY,
  )
  const candidates = findCandidates(index, request)
  const exhaustive = request.paging.kind === 'page'
  const everything = exhaustive && request.rankingScoreThreshold !== null
  const docids = candidates.documents.toArray()
  stages.end('search > evaluate filter')
  const { query, resolver } = candidates
  const words =
    query === null
      ? null
      : { resolver, graph: query.graph, removalGroups: query.groups, strategy: strategyOf(index, request) }
  const sorting: BucketSortRequest = {
    docids,
    graph: candidates.query?.graph ?? null,
    rules: rulesOfSearch(index.data, { words, sort, vector }),
    wanted: everything ? settings.pagination.maxTotalHits : wanted,
    distinct,
    threshold: request.rankingScoreThreshold,
    expired: () => request.stop?.aborted === true || performance.now() >= deadline,
  }
  const result = request.scaling?.sort(sorting) ?? bucketSort(sorting)
  const counted = candidates.documents
  const all = exhaustive && distinct !== null ? new Distinct(distinct) : null
  const countsAll =
    distinct === null && request.rankingScoreThreshold === null && request.scaling === undefined
  for (const docid of countsAll ? [] : docids) {
    // Skip documents that a better hit already excluded: they must not exclude others.
    if (!result.isCandidate(docid) || all?.keep(docid) === false) counted.delete(docid)
  }
  const stage: Stage = vector === null ? 'search > keyword ranking' : 'search > semantic ranking'
  stages.end(stage)
  return { candidates, sort, ranked: result.ranked, counted, degraded: result.degraded }
}

/** The sort criteria of a request. @throws EngineError `invalid_search_sort` */
function sortOf({ data: { settings } }: OpenIndex, request: SearchRequest): SortCriterion[] {
  const prefix = prefixOf(request.indexUid)
  const sort = parseSort(request.sort ?? [], settings, 'invalid_search_sort', prefix)
  if (sort.length > 0 && !settings.rankingRules.includes('sort'))
    throw new EngineError(
      'invalid_search_sort',
      `${prefix}sorting needs the ranking rule \`sort\`, which is not among \`rankingRules\``,
    )
  return sort
}

/** Column of the distinct attribute; null without one. @throws EngineError `invalid_search_distinct` */
export function distinctColumn(index: OpenIndex, request: SearchRequest, prefix: string): Column | null {
  const { settings, columns } = index.data
  const requested = request.distinct
  if (requested !== null && !isFilterable(settings, requested))
    throw new EngineError(
      'invalid_search_distinct',
      `${prefix}Attribute \`${requested}\` is not filterable and cannot be used as \`distinct\`. ` +
        describeFilterable(settings),
    )
  const field = requested ?? settings.distinctAttribute
  return field === null ? null : (columnOf(columns, field) ?? null)
}

/**
 * Writes a complete answer as JSON.
 * @param out may already hold other answers
 * @param head opening brace and members before the hits
 * @returns facts about the answer, and the byte offset in `out` of the digits of the processing time
 */
export function search(
  index: OpenIndex,
  request: StoppableRequest,
  out: AnswerBytes,
  head = '{',
): { facts: SearchFacts; timeAt: number } {
  const started = performance.now()
  const { maxTotalHits } = index.data.settings.pagination
  const { from, to } = pageOf(request, maxTotalHits)
  const found = rankSearch(index, request, to)
  const page = found.ranked.slice(from, to)
  const bounds = new Bounds(request, out.length)
  const hydration = hydrationOf(request, request.features.legacySearch, bounds)
  const writer = new HitWriter(index, request, found, { bounds, hydration })
  for (const { docid } of hydration === null ? [] : page) writer.collect(docid)
  const { documents } = index.data
  out.write(`${head}"hits":[`)
  out.expect(page.map(({ docid }) => documents[docid]!.source.length))
  for (const [at, ranked] of page.entries()) {
    const before = out.length
    if (at > 0) out.write(',')
    writer.write(ranked, out)
    bounds.add(out.length - before)
  }
  const { stages } = found
  stages.end('search > format')
  const facets =
    request.facets === null || request.facets.length === 0
      ? ''
      : facetsJson(index, request.facets, found.counted, prefixOf(request.indexUid), bounds)
  if (facets !== '') stages.end('search > facet distribution')
  const total = Math.min(
    found.counted.count(),
    request.features.legacySearch ? maxTotalHits : Number.POSITIVE_INFINITY,
  )
  const { paging } = request
  const window =
    paging.kind === 'offset'
      ? `"limit":${paging.limit},"offset":${paging.offset},"estimatedTotalHits":${total}`
      : `"hitsPerPage":${paging.hitsPerPage},"page":${paging.page},` +
        `"totalPages":${paging.hitsPerPage === 0 ? 0 : Math.ceil(total / paging.hitsPerPage)},"totalHits":${total}`
  const { isSemantic } = found
  const semanticHits = isSemantic === null ? null : page.filter(({ docid }) => isSemantic(docid)).length
  const queryVector =
    found.comparedVectors && request.retrieveVectors ? `"queryVector":${vectorText(request.vector!)},` : ''
  out.write(`],"query":${JSON.stringify(request.q ?? '')},${queryVector}"processingTimeMs":`)
  const timeAt = out.length
  out.write(
    `${Math.round(performance.now() - started)},${window}${facets},` +
      `"requestUid":${JSON.stringify(request.requestUid)}` +
      `${request.metadata === null ? '' : `,"metadata":${JSON.stringify(request.metadata)}`}` +
      `${request.showPerformanceDetails ? stages.text : ''}` +
      `${semanticHits === null ? '' : `,"semanticHitCount":${semanticHits}`}}`,
  )
  const { parsed } = found.candidates
  return {
    timeAt,
    facts: {
      degraded: found.degraded,
      usedNegativeOperator: parsed.negativeWords.length + parsed.negativePhrases.length > 0,
      terms: parsed.terms.length,
      semanticHits,
      lacksVector: found.lacksVector === true,
      hits: page.length,
    },
  }
}
