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
import { partition, requireDisplayed, searchNetwork } from '../multi-search/index.js'
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
  readonly onDisconnect: OnDisconnect
  readonly progress: Pick<SearchObservation<AskedMultiSearch>, 'began' | 'answered'>
}

/** Several searches in one request, each with its own answer or merged into one list of hits. */
export const multiSearchRoutes: FastifyPluginAsync<SearchRouteServices> = async (app, services) => {
  const { features, network, searches } = services
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
      const observation = observed.of(request)
      const positioned = queries.map((query, position) => ({ query, position }))
      observation.asked({ positioned, federation }, () =>
        positioned.map((one) => askedQuery(one, federation)),
      )
      const context: RequestContext = {
        access,
        joined: narrowedRights(access, passed),
        includeMetadata: includesMetadata(request),
        isProxied: features.flags.network && request.headers[PROXY_HEADER] === 'true',
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
  ): Promise<Uint8Array> {
    const { access, joined, includeMetadata, onDisconnect, progress } = context
    for (const one of queries) {
      requirePlain(one)
      requireAllowed(access, one)
    }
    const local = localSearches(services, { access, joined, includeMetadata, progress })
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
      requireFederable(one, federation, features)
      requireAllowed(access, one)
    }
    const local = localSearches(services, { access, joined, includeMetadata, progress })
    const namesRemotes = queries.some(({ query }) => (query.federationOptions?.remote ?? null) !== null)
    if (!namesRemotes) {
      return searches.run(access.holder, onDisconnect, async (stop) => {
        progress.began()
        await local.requireFederation(queries, federation, new Set())
        if (context.isProxied) await requireDisplayed(services, access, queries, federation)
        return local.answer(queries, mergingOf(federation, queries, context.isProxied), stop)
      })
    }
    const topology = await network.current()
    const parts = partition(queries, topology)
    const elsewhere = new Set([...parts.remote.values()].flat().map(({ query }) => query.indexUid))
    await searches.run(access.holder, onDisconnect, () =>
      local.requireFederation(parts.local, federation, elsewhere),
    )
    return searchNetwork(services, {
      partition: parts,
      federation,
      network: topology,
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
