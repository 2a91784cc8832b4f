import type { FastifyPluginAsync } from 'fastify'
import type { Access, SearchRights } from '../../auth/index.js'
import {
  type Federation,
  includesMetadata,
  localSearches,
  mergingOf,
  multiSearchBody,
  type PositionedQuery,
  requireAllowed,
  requireFederable,
  requirePlain,
} from '../../operations/index.js'
import type { Facts, Usage } from '../../telemetry/index.js'
import { multiSearchAnswer, sendJsonBytes } from '../answers/index.js'
import { CELL_HEADER, type Cells, requireOwnIndexes } from '../cells/index.js'
import {
  byCell,
  partition,
  requireDisplayed,
  searchCells,
  searchHeaders,
  searchNetwork,
} from '../multi-search/index.js'
import { ObservedRoute, type SearchCount, type SearchObservation } from '../observation/index.js'
import { serve } from '../operations/index.js'
import { type AskedQuery, showsFirst } from '../queries/index.js'
import { narrowedRights, PROXY_HEADER, RIGHTS_ENFORCED, RIGHTS_HEADER } from '../remotes/index.js'
import type { SearchRouteServices } from '../route-services.js'
import { disconnectOf, type OnDisconnect } from '../searches/index.js'

/** The queries of a request. */
interface AskedMultiSearch {
  readonly positioned: readonly PositionedQuery[]
  readonly federation: Federation | null
}

/** The parts of a request outside its body. */
interface RequestContext {
  readonly access: Access
  /** Rights for indexes that foreign keys join. */
  readonly joined: SearchRights
  readonly includeMetadata: boolean
  /** True if another instance sent the request and will merge the hits with its own. */
  readonly isProxied: boolean
  /** True if another cell of this instance sent the request. */
  readonly isOfCell: boolean
  /** The cells that get their queries; null: this one answers all. */
  readonly cells: Cells | null
  /** Headers of the client for other cells. */
  readonly headers: Readonly<Record<string, string>>
  readonly onDisconnect: OnDisconnect
  readonly progress: Pick<SearchObservation<AskedMultiSearch>, 'began' | 'answered'>
}

/** Several searches in one request, each with its own answer or merged into one list of hits. */
export const multiSearchRoutes: FastifyPluginAsync<SearchRouteServices> = async (app, services) => {
  const { features, network, searches, cells = null } = services
  const observed = new ObservedRoute<AskedMultiSearch>(
    services,
    'multi-search',
    multiSearchCount(services.usage),
  )

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/multi-search',
      summary: 'Search several times in one request',
      actions: ['search'],
      body: multiSearchBody,
      answers: { 200: multiSearchAnswer },
    },
    async ({ request, reply, access, body: { queries, federation } }) => {
      const passed = request.headers[RIGHTS_HEADER]
      const isOfCell = cells?.hasSent(request) ?? false
      const isPassed = request.headers[CELL_HEADER] !== undefined
      if (isPassed && cells !== null) {
        const uids = queries.map(({ indexUid }) => indexUid)
        await requireOwnIndexes(request, reply, cells, uids)
      }
      const observation = observed.of(request)
      const positioned = queries.map((query, position) => ({ query, position }))
      observation.asked({ positioned, federation }, () =>
        positioned.map((one) => askedQuery(one, federation)),
      )
      const context: RequestContext = {
        access,
        joined: narrowedRights(access, passed),
        includeMetadata: includesMetadata(request),
        isProxied: (features.flags.network || isOfCell) && request.headers[PROXY_HEADER] === 'true',
        isOfCell,
        cells: isPassed ? null : cells,
        headers: searchHeaders(request),
        onDisconnect: disconnectOf(reply),
        progress: observation,
      }
      const answer =
        federation === null
          ? await searchSeparately(positioned, context)
          : await searchMerged(positioned, federation, context)
      if (passed !== undefined) reply.header(RIGHTS_HEADER, RIGHTS_ENFORCED)
      return sendJsonBytes(reply, answer)
    },
    observed,
  )

  async function searchSeparately(
    queries: readonly PositionedQuery[],
    context: RequestContext,
  ): Promise<Uint8Array | string> {
    const { access, joined, includeMetadata, onDisconnect, progress } = context
    for (const one of queries) {
      requirePlain(one)
      requireAllowed(access, one)
    }
    const local = localSearches(services, { access, joined, includeMetadata, progress })
    const parts = byCell(queries, context.cells)
    if (context.cells !== null && parts.cells.size > 0) {
      progress.began()
      const { local: own, cells: elsewhere } = parts
      const { holder } = access
      const { cells, headers } = context
      return searchCells(services, { cells, own, elsewhere, headers, holder, local, onDisconnect })
    }
    return searches.run(access.holder, onDisconnect, (stop) => {
      progress.began()
      return local.answer(queries, null, stop)
    })
  }

  async function searchMerged(
    queries: readonly PositionedQuery[],
    federation: Federation,
    context: RequestContext,
  ): Promise<Uint8Array | string> {
    const { access, joined, includeMetadata, onDisconnect, progress } = context
    for (const one of queries) {
      const isElsewhere =
        context.cells !== null && context.cells.ofIndex(one.query.indexUid) !== context.cells.name
      requireFederable(one, federation, context.isOfCell ? null : features, isElsewhere)
      requireAllowed(access, one)
    }
    const local = localSearches(services, { access, joined, includeMetadata, progress })
    const namesRemotes = queries.some(({ query }) => (query.federationOptions?.remote ?? null) !== null)
    const isHere = byCell(queries, context.cells).cells.size === 0
    if (!namesRemotes && isHere) {
      return searches.run(access.holder, onDisconnect, async (stop) => {
        progress.began()
        await local.requireFederation(queries, federation, new Set())
        if (context.isProxied && !context.isOfCell)
          await requireDisplayed(services, access, queries, federation)
        return local.answer(queries, mergingOf(federation, queries, context.isProxied), stop)
      })
    }
    const topology = await network.current()
    const parts = partition(queries, topology, context.cells)
    const queriedElsewhere = [...parts.remote.values(), ...parts.cells.values()].flat()
    const facetsElsewhere = [...federation.facetsByIndex.keys()].filter(
      (uid) => context.cells !== null && context.cells.ofIndex(uid) !== context.cells.name,
    )
    const elsewhere = new Set([...queriedElsewhere.map(({ query }) => query.indexUid), ...facetsElsewhere])
    await searches.run(access.holder, onDisconnect, () =>
      local.requireFederation(parts.local, federation, elsewhere),
    )
    return searchNetwork(services, {
      partition: parts,
      federation,
      network: topology,
      cells: context.cells,
      headers: context.headers,
      access,
      includeMetadata,
      local,
      onDisconnect,
    })
  }
}

/** Returns a query for the query log. A query of a federated search has the page of the federation. */
function askedQuery({ query }: PositionedQuery, federation: Federation | null): AskedQuery {
  const { indexUid, q, filter } = query
  return { indexUid, q, filter, showsFirst: showsFirst(federation ?? query) }
}

const multiSearchCount = (usage: Usage): SearchCount<AskedMultiSearch> => ({
  refused: (agent) =>
    usage.record('multiSearch', { 'requests.total_received': 1, 'requests.total_failed': 1 }, agent),
  ended(asked, facts, { agent }) {
    const outcome = facts === null ? 'requests.total_failed' : 'requests.total_succeeded'
    usage.record('multiSearch', { ...askedOfAll(asked), [outcome]: 1 }, agent)
  },
})

function askedOfAll({ positioned, federation }: AskedMultiSearch): Facts<'multiSearch'> {
  const queries = positioned.map(({ query }) => query)
  const indexes = new Set(queries.map(({ indexUid }) => indexUid))
  const remotes = new Set(queries.flatMap(({ federationOptions }) => federationOptions?.remote ?? []))
  return {
    'requests.total_received': 1,
    'searches.avg_search_count': queries.length,
    'searches.total_search_count': queries.length,
    'indexes.avg_distinct_index_count': indexes.size,
    'indexes.total_distinct_index_count': indexes.size,
    'indexes.total_single_index': indexes.size === 1 ? 1 : 0,
    'federation.use_federation': federation !== null,
    'rerank.total_number_of_uses': [...queries, federation].filter((one) => one?.rerank).length,
    'remotes.avg_distinct_remote_count': remotes.size,
    'remotes.total_distinct_remote_count': remotes.size,
    'scoring.show_ranking_score': queries.some((one) => one.showRankingScore),
    'scoring.show_ranking_score_details': queries.some((one) => one.showRankingScoreDetails),
  }
}
