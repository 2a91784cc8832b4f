import type { FastifyPluginAsync } from 'fastify'
import type { Access } from '../../auth/index.js'
import { multiSearchAnswer } from '../answers.js'
import { serve } from '../endpoint.js'
import { disconnection, sendJsonBytes } from '../exchange.js'
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
import { PROXY_HEADER } from '../remotes/index.js'
import type { OnGone } from '../search-queue.js'
import { includesMetadata, paging } from '../search-requests.js'
import type { RouteServices } from '../services.js'
import { uuidV7 } from '../uuid-v7.js'

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
      const answer = federation === null ? apart(placed, asked) : merged(placed, federation, asked)
      return sendJsonBytes(reply, await answer)
    },
  )

  async function apart(placed: readonly PlacedQuery[], asked: Asked): Promise<Uint8Array> {
    const { access, includeMetadata, onGone } = asked
    for (const one of placed) {
      requirePlain(one)
      requireAllowed(access, one)
    }
    const local = localSearches(services, access, includeMetadata)
    return searches.run(access.holder, onGone, () => local.answer(placed, null))
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
      return searches.run(access.holder, onGone, async () => {
        await local.requireFederation(placed, federation, new Set())
        return local.answer(placed, mergingOf(federation, placed, asked))
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
