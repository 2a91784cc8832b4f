/**
 * Here are several searches: what is the one list that they make?
 *
 * Source: search §15, operations §17.
 *  1. Each query is ranked by itself; heads are compared entry by entry, scores times the query's weight.
 *  2. A document that several queries find appears once, where it stands best.
 *  3. Equal heads: the earlier query first.
 */

import type { SearchFacts } from '../../engine.js'
import { EngineError } from '../../engine-error.js'
import type { FederationRequest, Paging } from '../../requests.js'
import { customRule } from '../fields/rules.js'
import type { OpenIndex } from '../open-index.js'
import {
  type Comparable,
  compareValues,
  globalScore,
  type Ranked,
  renderValue,
  valuesOf,
} from '../ranking/index.js'
import { DocSet } from '../store/docid-set.js'
import { floatText } from '../store/json.js'
import { compareUtf8 } from '../store/text-order.js'
import { Bounds, checkStop, type Stop } from './bounds.js'
import { prefixOf } from './candidates.js'
import {
  countFacet,
  countsJson,
  type FacetCount,
  facetOrder,
  facetParts,
  selectedFacets,
  statsOf,
} from './facets.js'
import { HitWriter } from './hits.js'
import { type Hydration, hydrationOf } from './hydration.js'
import { interleaved } from './interleave.js'
import { pinOf } from './pins.js'
import type { RankedSearch } from './ranked-search.js'
import { rankSearch, type StoppableRequest } from './search.js'
import { vectorText } from './semantic.js'
import { Stages } from './stages.js'

/** One query of the federation. */
export interface FederatedQuery {
  readonly index: OpenIndex
  readonly request: StoppableRequest
}

interface RankedQuery extends FederatedQuery {
  readonly position: number
  readonly weight: number
  readonly found: RankedSearch
  readonly writer: HitWriter
}

interface Candidate extends Comparable {
  readonly query: RankedQuery
  readonly ranked: Ranked
  /** What the federation's `distinct` tells it apart by. */
  readonly distinct: readonly (number | string)[]
}

export function federatedSearch(
  queries: readonly FederatedQuery[],
  federation: FederationRequest,
  stop?: Stop,
): { json: string; facts: SearchFacts } {
  const started = performance.now()
  const bounds = new Bounds(federation)
  const { from, to } = windowOf(federation.paging)
  const joining = queries.find(({ request }) => (request.foreignKeys?.length ?? 0) > 0)
  // One for all queries: an id that one of them has met is replaced in the hits of the others.
  const hydration = joining === undefined ? null : hydrationOf(joining.request, false, bounds)
  const ranked = queries.map((query, position) => {
    if (position > 0) checkStop(stop)
    return rankQuery(query, position, { federation, wanted: to, bounds, hydration })
  })
  requireComparable(ranked)
  const stages = new Stages()
  for (const { found } of ranked) stages.include(found.stages)
  const { page, dropped } = merged(ranked, federation, from, to)
  for (const { query, ranked } of hydration === null ? [] : page) query.writer.collect(ranked.docid)
  const byIndex = candidatesByIndex(ranked)
  for (const { index, docid } of dropped) byIndex.get(index)!.documents.delete(docid)
  stages.end('search > merge results')
  const total = [...byIndex.values()].reduce((sum, { documents }) => sum + documents.count(), 0)
  const semanticHits = ranked.every(({ found }) => found.byMeaning === null)
    ? null
    : page.filter(({ ranked }) => ranked.details.some(({ rule }) => rule === 'vector')).length
  const hits = page.map((candidate) => bounds.counted(hitText(candidate, federation))).join(',')
  stages.end('search > format')
  const facets = facetsText(byIndex, federation, bounds)
  stages.end('search > facet distribution')
  const json =
    `{"hits":[${hits}],${queryVectorsText(ranked, federation)}` +
    `"processingTimeMs":${Math.round(performance.now() - started)},` +
    windowText(federation.paging, total) +
    facets +
    `,"requestUid":${JSON.stringify(federation.requestUid)}` +
    (federation.metadata === null ? '' : `,"metadata":${JSON.stringify(federation.metadata)}`) +
    (federation.showPerformanceDetails ? stages.text : '') +
    (semanticHits === null ? '' : `,"semanticHitCount":${semanticHits}`) +
    '}'
  const parses = ranked.map(({ found }) => found.candidates.parsed)
  return {
    json,
    facts: {
      degraded: ranked.some(({ found }) => found.degraded),
      usedNegativeOperator: parses.some(
        ({ negativeWords, negativePhrases }) => negativeWords.length + negativePhrases.length > 0,
      ),
      terms: Math.max(0, ...parses.map(({ terms }) => terms.length)),
      semanticHits,
      hits: page.length,
    },
  }
}

/** The vectors that queries were compared by, where vectors are asked for. Source: vectors §6.7. */
function queryVectorsText(queries: readonly RankedQuery[], { positions }: FederationRequest): string {
  const shown = queries.flatMap(({ position, request, found }) =>
    found.comparedVectors && request.retrieveVectors
      ? [`"${positions[position] ?? position}":${vectorText(request.vector!)}`]
      : [],
  )
  return shown.length === 0 ? '' : `"queryVectors":{${shown.join(',')}},`
}

function windowOf(paging: Paging): { from: number; to: number } {
  if (paging.kind === 'offset') return { from: paging.offset, to: paging.offset + paging.limit }
  const from = Math.max(0, paging.page - 1) * paging.hitsPerPage
  return { from, to: paging.page === 0 ? from : from + paging.hitsPerPage }
}

function windowText(paging: Paging, total: number): string {
  if (paging.kind === 'offset')
    return `"limit":${paging.limit},"offset":${paging.offset},"estimatedTotalHits":${total}`
  const pages = paging.hitsPerPage === 0 ? 0 : Math.ceil(total / paging.hitsPerPage)
  return `"hitsPerPage":${paging.hitsPerPage},"page":${paging.page},"totalPages":${pages},"totalHits":${total}`
}

function rankQuery(
  { index, request }: FederatedQuery,
  position: number,
  {
    federation,
    wanted,
    bounds,
    hydration,
  }: { federation: FederationRequest; wanted: number; bounds: Bounds; hydration: Hydration | null },
): RankedQuery {
  const asked = { ...request, distinct: federation.distinct ?? request.distinct, paging: federation.paging }
  const reachable = Math.min(wanted, index.data.settings.pagination.maxTotalHits)
  try {
    const found = rankSearch(index, asked, reachable)
    const writer = new HitWriter(index, asked, found, { bounds, hydration })
    const ranked = found.ranked.slice(0, reachable)
    return {
      index,
      request: asked,
      position,
      weight: federation.weights[position] ?? 1,
      found: { ...found, ranked },
      writer,
    }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    throw new EngineError(error.code, `inside \`.queries[${position}]\`: ${error.message}`)
  }
}

// ——— comparing ———

/** Negative if `a` comes first. */
const compareCandidates = (a: Candidate, b: Candidate): number =>
  compareValues(a, b) || a.query.position - b.query.position

type Kind =
  | 'relevance'
  | 'a field, ascending'
  | 'a field, descending'
  | 'distance, ascending'
  | 'distance, descending'

/** Refuses queries whose rules put documents in orders that cannot be compared. */
function requireComparable(queries: readonly RankedQuery[]): void {
  let reference: { readonly position: number; readonly kinds: readonly Kind[] } | null = null
  for (const query of queries) {
    const { position } = query
    const kinds = kindsOf(query)
    for (const [at, here] of kinds.entries()) {
      const there = reference?.kinds[at] ?? here
      if (reference !== null && there !== here)
        throw new EngineError(
          'invalid_multi_search_query_ranking_rules',
          `the results of queries #${reference.position} and #${position} cannot be merged: ` +
            `one orders by ${there}, the other by ${here}`,
        )
    }
    // The longest list says most about what the next one has to be like.
    if (reference === null || reference.kinds.length <= kinds.length) reference = { position, kinds }
  }
}

/**
 * The kinds of a query's criteria, in order. Consecutive rules of relevance count as one; without words there is none,
 * and by meaning alone there is one. A field decides where it stands first.
 */
function kindsOf({ index, request, found }: RankedQuery): readonly Kind[] {
  const kinds: Kind[] = []
  const known = new Set<string>()
  const hasWords = request.q !== null && request.q !== ''
  for (const rule of index.data.settings.rankingRules) {
    const custom = customRule(rule)
    if (custom !== null || rule === 'sort') {
      const criteria =
        custom === null
          ? found.sort
          : [{ kind: 'field' as const, field: custom.field, ascending: custom.ascending }]
      for (const criterion of criteria) {
        const key = criterion.kind === 'geo' ? '_geo' : criterion.field
        if (known.has(key)) continue
        known.add(key)
        const by = criterion.kind === 'geo' ? 'distance' : 'a field'
        kinds.push(`${by}, ${criterion.ascending ? 'ascending' : 'descending'}`)
      }
    } else if (found.onlyMeaning ? !kinds.includes('relevance') : hasWords && kinds.at(-1) !== 'relevance')
      kinds.push('relevance')
  }
  return kinds
}

// ——— merging ———

interface Dropped {
  readonly index: OpenIndex
  readonly docid: number
}

function merged(
  queries: readonly RankedQuery[],
  federation: FederationRequest,
  from: number,
  to: number,
): { page: Candidate[]; dropped: Dropped[] } {
  const candidates = queries.map((query) =>
    query.found.ranked.map((ranked) => ({
      query,
      ranked,
      values: valuesOf(ranked.details, query.weight),
      score: globalScore(ranked.details) * query.weight,
      distinct: distinctValues(query.index, federation.distinct, ranked.docid),
    })),
  )
  const lists = candidates.map((list) => list.filter(({ ranked }) => pinOf(ranked) === null))
  const next = lists.map(() => 0)
  const seen = new Map<OpenIndex, Set<number>>(queries.map(({ index }) => [index, new Set()]))
  const taken = new Set<number | string>()
  const dropped: Dropped[] = []
  /** Whether neither the document nor one of its values is there already. */
  const admits = ({ query: { index }, ranked: { docid }, distinct }: Candidate): boolean => {
    const known = seen.get(index)!
    if (known.has(docid)) return false
    known.add(docid)
    if (distinct.some((value) => taken.has(value))) {
      dropped.push({ index, docid })
      return false
    }
    for (const value of distinct) taken.add(value)
    return true
  }
  const place = ({ ranked }: Candidate): number => pinOf(ranked) ?? 0
  const pins = candidates
    .flat()
    .filter(({ ranked }) => pinOf(ranked) !== null)
    .filter(admits)
    .sort((a, b) => place(a) - place(b))
  const merged: Candidate[] = []
  while (merged.length < to) {
    let best: Candidate | undefined
    for (const [at, list] of lists.entries()) {
      const head = list[next[at]!]
      if (head !== undefined && (best === undefined || compareCandidates(head, best) < 0)) best = head
    }
    if (best === undefined) break
    next[best.query.position]!++
    if (admits(best)) merged.push(best)
  }
  return { page: interleaved(pins, merged, to, place).slice(from, to), dropped }
}

function distinctValues({ data }: OpenIndex, field: string | null, docid: number): (number | string)[] {
  const column = field === null ? undefined : data.columns.byPath.get(field)
  if (column === undefined) return []
  return column.entries(docid).map((entry) => {
    const group = column.groupOf[entry]!
    return column.isNumber(group) ? column.numbers[group]! : column.forms[group]!
  })
}

function hitText(candidate: Candidate, federation: FederationRequest): string {
  const { query, ranked, score, values, distinct } = candidate
  const position = federation.positions[query.position] ?? query.position
  const extra = [
    `"indexUid":${JSON.stringify(query.request.indexUid)}`,
    `"queriesPosition":${position}`,
    `"weightedRankingScore":${floatText(score)}`,
  ]
  if (federation.origin !== null) extra.push(`"remote":${JSON.stringify(federation.origin.remote)}`)
  if (federation.showScoreValues)
    extra.push(
      `"weightedScoreValues":${JSON.stringify(values.map(renderValue))}`,
      `"distinctValues":${JSON.stringify(distinct)}`,
    )
  return query.writer.hit(ranked, `"_federation":{${extra.join(',')}}`)
}

// ——— counting ———

interface IndexCandidates {
  readonly uid: string
  /** Union over all queries of the index. */
  readonly found: DocSet
  /** Those found, apart from those that share a value of the distinct attribute with a better hit. */
  readonly documents: DocSet
}

function candidatesByIndex(queries: readonly RankedQuery[]): Map<OpenIndex, IndexCandidates> {
  const byIndex = new Map<OpenIndex, IndexCandidates>()
  for (const { index, request, found } of queries) {
    const known = byIndex.get(index)
    const documents = known?.found ?? new DocSet(0)
    byIndex.set(index, { uid: request.indexUid, found: found.counted.clone().union(documents), documents })
  }
  for (const [index, { uid, found }] of byIndex) byIndex.set(index, { uid, found, documents: found.clone() })
  return byIndex
}

function facetsText(
  byIndex: ReadonlyMap<OpenIndex, IndexCandidates>,
  federation: FederationRequest,
  bounds: Bounds,
): string {
  const asked = [...byIndex].flatMap(([index, { uid, found, documents }]) => {
    const facets = Object.hasOwn(federation.facetsByIndex, uid) ? federation.facetsByIndex[uid] : null
    // An index with an empty list is shown with an empty distribution, one with null is not.
    return facets === null || facets === undefined ? [] : [{ index, uid, found, documents, facets }]
  })
  if (asked.length === 0) return ''
  if (federation.mergeFacets !== null) return mergedFacets(asked, federation.mergeFacets.maxValuesPerFacet)
  const parts = asked
    .sort((a, b) => compareUtf8(a.uid, b.uid))
    .map(({ index, uid, found, documents, facets }) => {
      const { distribution, stats } = facetParts(index, facets, { documents, found }, prefixOf(uid), bounds)
      return `${JSON.stringify(uid)}:{"distribution":${distribution},"stats":${stats}}`
    })
  return `,"facetsByIndex":{${parts.join(',')}}`
}

interface MergedFacet {
  readonly uid: string
  readonly order: 'alpha' | 'count'
  readonly counts: Map<string, FacetCount>
  stats: { min: number; max: number } | null
}

function mergedFacets(
  asked: readonly {
    readonly index: OpenIndex
    readonly uid: string
    readonly found: DocSet
    readonly documents: DocSet
    readonly facets: readonly string[]
  }[],
  most: number | null,
): string {
  const merged = new Map<string, MergedFacet>()
  for (const { index, uid, found, documents, facets } of asked) {
    const { settings, columns } = index.data
    for (const field of selectedFacets(index, facets, prefixOf(uid))) {
      const order = facetOrder(settings.faceting.sortFacetValuesBy, field)
      const known = merged.get(field) ?? { uid, order, counts: new Map<string, FacetCount>(), stats: null }
      merged.set(field, known)
      if (known.order !== order)
        throw new EngineError(
          'invalid_multi_search_facet_order',
          `facet \`${field}\` is ordered by ${known.order} in index \`${known.uid}\` and by ${order} in ` +
            `index \`${uid}\`, so it cannot be merged`,
        )
      const column = columns.byPath.get(field)!
      const counts = countFacet(column, documents.toArray(), order, settings.faceting.maxValuesPerFacet)
      const stats = statsOf(column, found.toArray())
      // A string that prints like a number takes its place.
      for (const count of new Map(counts.map((count) => [count.key, count])).values()) {
        const before = known.counts.get(count.key)
        known.counts.set(count.key, { ...count, count: count.count + (before?.count ?? 0) })
      }
      if (stats !== null)
        known.stats = {
          min: Math.min(stats.min, known.stats?.min ?? stats.min),
          max: Math.max(stats.max, known.stats?.max ?? stats.max),
        }
    }
  }
  const fields = [...merged].sort(([a], [b]) => compareUtf8(a, b))
  const distributions = fields.map(([field, { order, counts }]) => {
    const ordered = [...counts.values()].sort((a, b) =>
      order === 'count' ? b.count - a.count || compareUtf8(a.key, b.key) : compareUtf8(a.key, b.key),
    )
    return `${JSON.stringify(field)}:${countsJson(most === null ? ordered : ordered.slice(0, most))}`
  })
  const stats = fields.flatMap(([field, { stats }]) =>
    stats === null
      ? []
      : [`${JSON.stringify(field)}:{"min":${floatText(stats.min)},"max":${floatText(stats.max)}}`],
  )
  return `,"facetDistribution":{${distributions.join(',')}},"facetStats":{${stats.join(',')}}`
}
