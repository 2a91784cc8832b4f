/**
 * Federated search: merges the hits of several searches into one list.
 *
 * Source: search §15, operations §17.
 * 1. Each query is ranked separately. The first hits of the lists are compared value by value, with scores multiplied
 *    by the weight of the query.
 * 2. A document found by several queries appears once, at its best position.
 * 3. On a tie, the earlier query comes first.
 * 4. All queries see the same commits. Other calls run between the queries, so queries restart after a commit.
 */

import type { SearchFacts } from '../../../engine.js'
import { EngineError } from '../../../engine-error.js'
import type { FederationRequest, Paging } from '../../../requests.js'
import { renderValue } from '../../ranking/index.js'
import { floatText } from '../../store/json.js'
import { Bounds, checkStop, type Stop } from '../bounds.js'
import { HitWriter } from '../hits.js'
import { type Hydration, hydrationOf } from '../hydration.js'
import { rankSearch } from '../search.js'
import { vectorText } from '../semantic.js'
import { Stages } from '../stages.js'
import { Turns } from '../turns.js'
import { candidatesByIndex, facetsText } from './facets.js'
import { merged } from './merge.js'
import { requireComparable } from './order.js'
import type { Candidate, FederatedQuery, RankedQuery } from './query.js'

export type { FederatedQuery } from './query.js'

export async function federatedSearch(
  queries: readonly FederatedQuery[],
  federation: FederationRequest,
  stop?: Stop,
): Promise<{ json: string; facts: SearchFacts }> {
  const started = performance.now()
  const bounds = new Bounds(federation)
  const { from, to } = windowOf(federation.paging)
  const joining = queries.find(({ request }) => (request.foreignKeys?.length ?? 0) > 0)
  const rankAll = (attempt: number) => {
    // Shared by all queries: an id collected by any query is replaced in the hits of all.
    const hydration = joining === undefined ? null : hydrationOf(joining.request, false, bounds)
    return rankedQueries(queries, { federation, wanted: to, bounds, hydration }, attempt, stop)
  }
  let all: { readonly ranked: readonly RankedQuery[]; readonly hydration: Hydration | null } | null = null
  for (let attempt = 0; all === null; attempt++) all = await rankAll(attempt)
  const { ranked, hydration } = all
  requireComparable(ranked)
  const stages = new Stages()
  for (const { found, position } of ranked)
    stages.include(found.stages, federation.positions[position] ?? position)
  const { page, dropped } = merged(ranked, federation, from, to)
  for (const { query, ranked } of hydration === null ? [] : page) query.writer.collect(ranked.docid)
  const byIndex = candidatesByIndex(ranked)
  for (const { index, docid } of dropped) byIndex.get(index)!.documents.delete(docid)
  stages.end('search > merge results')
  const total = [...byIndex.values()].reduce((sum, { documents }) => sum + documents.count(), 0)
  const semanticHits = ranked.every(({ found }) => found.isSemantic === null)
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

/** Shared inputs for ranking the queries of a federation. */
interface Ranking {
  readonly federation: FederationRequest
  readonly wanted: number
  readonly bounds: Bounds
  readonly hydration: Hydration | null
}

/**
 * Ranks all queries, with pauses for other calls. The last attempt has no pauses and the time limit of a single search.
 * @returns null if an index has changed meanwhile
 */
async function rankedQueries(
  queries: readonly FederatedQuery[],
  ranking: Ranking,
  attempt: number,
  stop: Stop | undefined,
): Promise<{ readonly ranked: readonly RankedQuery[]; readonly hydration: Hydration | null } | null> {
  const turns = new Turns(queries, attempt)
  const ranked: RankedQuery[] = []
  // Reset the count of documents that foreign filters have selected.
  for (const { request } of queries) request.foreign?.selected.clear()
  for (const [position, { index, request }] of queries.entries()) {
    if (!(await turns.next())) return null
    if (position > 0) checkStop(stop)
    const query = { index, request: turns.timed(request) }
    ranked.push(rankQuery(query, position, ranking))
  }
  return { ranked, hydration: ranking.hydration }
}

/** Vectors that queries were compared with, if requested. Source: vectors §6.7. */
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
  { federation, wanted, bounds, hydration }: Ranking,
): RankedQuery {
  const search = { ...request, distinct: federation.distinct ?? request.distinct, paging: federation.paging }
  const reachable = Math.min(wanted, index.data.settings.pagination.maxTotalHits)
  try {
    const found = rankSearch(index, search, reachable)
    const writer = new HitWriter(index, search, found, { bounds, hydration })
    const ranked = found.ranked.slice(0, reachable)
    return {
      index,
      request: search,
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
