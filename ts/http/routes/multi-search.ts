import type { FastifyPluginAsync } from 'fastify'
import type { Access } from '../../auth/index.js'
import { includesMetadata, paging, uuidV7 } from '../../requests/index.js'
import type { Facts } from '../../telemetry/index.js'
import { multiSearchAnswer, sendJsonBytes } from '../answers/index.js'
import { observed } from '../metrics/index.js'
import {
  type Federation,
  localSearches,
  type Merging,
  multiSearchBody,
  type PlacedQuery,
  partition,
  requireAllowed,
  requireFederable,
  requirePlain,
  searchNetwork,
} from '../multi-search/index.js'
import { serve } from '../operations/index.js'
import { PROXY_HEADER } from '../remotes/index.js'
import type { RouteServices } from '../route-services.js'
import { disconnection, type OnGone } from '../searches/index.js'

/** What is known of a request beside its body. */
interface Asked {
  readonly access: Access
  readonly includeMetadata: boolean
  /** Another instance merges the hits with its own. */
  readonly isProxied: boolean
  readonly onGone: OnGone
}

/** Several searches in one request, answered apart or merged into one list. */
export const multiSearchRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { features, network, searches } = services

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
      const asked = {
        access,
        includeMetadata: includesMetadata(request),
        isProxied: features.flags.network && request.headers[PROXY_HEADER] === 'true',
        onGone: disconnection(reply),
      }
      const placed = queries.map((query, at) => ({ query, at }))
      const answer = await observed(
        services,
        request,
        'multiSearch',
        () => askedOfAll(placed, federation),
        () => (federation === null ? apart(placed, asked) : merged(placed, federation, asked)),
      )
      return sendJsonBytes(reply, answer)
    },
  )

  async function apart(placed: readonly PlacedQuery[], asked: Asked): Promise<Uint8Array> {
    const { access, includeMetadata, onGone } = asked
    for (const one of placed) {
      requirePlain(one)
      requireAllowed(access, one)
    }
    const local = localSearches(services, access, includeMetadata)
    return searches.run(access.holder, onGone, (stop) => local.answer(placed, null, stop))
  }

  async function merged(
    placed: readonly PlacedQuery[],
    federation: Federation,
    asked: Asked,
  ): Promise<Uint8Array | string> {
    const { access, includeMetadata, onGone } = asked
    for (const one of placed) {
      requireFederable(one, federation, features)
      requireAllowed(access, one)
    }
    const local = localSearches(services, access, includeMetadata)
    const namesRemotes = placed.some(({ query }) => (query.federationOptions?.remote ?? null) !== null)
    if (!namesRemotes) {
      return searches.run(access.holder, onGone, async (stop) => {
        await local.requireFederation(placed, federation, new Set())
        return local.answer(placed, mergingOf(federation, placed, asked), stop)
      })
    }
    const topology = await network.current()
    const parts = partition(placed, topology)
    const elsewhere = new Set([...parts.remote.values()].flat().map(({ query }) => query.indexUid))
    await searches.run(access.holder, onGone, () =>
      local.requireFederation(parts.local, federation, elsewhere),
    )
    return searchNetwork(services, {
      partition: parts,
      federation,
      network: topology,
      access,
      includeMetadata,
      local,
      onGone,
    })
  }
}

function mergingOf(federation: Federation, placed: readonly PlacedQuery[], { isProxied }: Asked): Merging {
  return {
    paging: paging(federation),
    facetsByIndex: Object.fromEntries(
      [...federation.facetsByIndex].filter(([uid]) => placed.some(({ query }) => query.indexUid === uid)),
    ),
    mergeFacets: federation.mergeFacets,
    distinct: federation.distinct,
    showPerformanceDetails: federation.showPerformanceDetails,
    requestUid: uuidV7(),
    origin: null,
    showScoreValues: isProxied,
  }
}

function askedOfAll(placed: readonly PlacedQuery[], federation: Federation | null): Facts {
  const queries = placed.map(({ query }) => query)
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
    'remotes.avg_distinct_remote_count': remotes.size,
    'remotes.total_distinct_remote_count': remotes.size,
    'scoring.show_ranking_score': queries.some((one) => one.showRankingScore),
    'scoring.show_ranking_score_details': queries.some((one) => one.showRankingScoreDetails),
  }
}
