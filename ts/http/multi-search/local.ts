import type { Access } from '../../auth/index.js'
import { encodeRequest, type FederationRequest, type SearchRequest } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import {
  ANSWER_BYTES_MAX,
  readNode,
  searchFields,
  searchMetadata,
  searchRequest,
  shape,
} from '../../requests/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { hasMoved, indexNotFound } from '../index-lookup.js'
import type { RouteServices } from '../route-services.js'
import { type Disconnect, type Embeddable, withVector } from '../searches/index.js'
import { inside } from './checks.js'
import { type Federation, type PlacedQuery, shownPosition } from './fields.js'

/** A search that asks for nothing in particular. */
const nothing = readNode({ kind: 'object', entries: [] }, shape(searchFields))

/** The part of a federation that queries do not say themselves; `null`: answer each query by itself. */
export type Merging = Omit<FederationRequest, 'weights' | 'positions' | 'metadata' | 'requestUid'> & {
  readonly requestUid: string
}

export interface LocalSearches {
  /** The answer of this instance's own indexes, as the engine wrote it. */
  answer(placed: readonly PlacedQuery[], merging: Merging | null, stop: Disconnect): Promise<Uint8Array>
  /** Checks on the federation as a whole. @throws ApiError */
  requireFederation(
    placed: readonly PlacedQuery[],
    federation: Federation,
    elsewhere: ReadonlySet<string>,
  ): Promise<void>
}

/** Searches of one request over the indexes of this instance. */
export function localSearches(
  { engine, embedders, tasks, features }: RouteServices,
  access: Access,
  includeMetadata: boolean,
): LocalSearches {
  return { answer, requireFederation }

  async function answer(
    placed: readonly PlacedQuery[],
    merging: Merging | null,
    stop: Disconnect,
  ): Promise<Uint8Array> {
    const prepared = placed.map((one) => {
      const entry = requireEntry(one.query.indexUid, `.queries[${one.at}]`)
      const request = requestFor(one, entry, includeMetadata && merging === null)
      return { entry, request, media: one.query.media }
    })
    const embedded = await Promise.all(
      prepared.map(async (search, at) => {
        const request = await embeddedAt(search, `.queries[${placed[at]?.at}]`, stop)
        return { index: search.entry.id, request }
      }),
    )
    const requests = embedded.map(({ index, request }) => ({ index, request: encodeRequest(request) }))
    const metadata = prepared.map(({ request, entry }) => searchMetadata(request.q, entry))
    const federated: FederationRequest | null = merging && {
      ...merging,
      metadata: includeMetadata ? metadata : null,
      weights: placed.map(({ query }) => query.federationOptions?.weight ?? 1),
      positions: placed.map(shownPosition),
      answerBytesMax: ANSWER_BYTES_MAX,
    }
    // As with a single search: what was deleted or swapped away meanwhile is asked for again.
    const isStale = (): boolean => prepared.some(({ entry }) => hasMoved(tasks, entry))
    try {
      const merged = (await engine.multiSearch(requests, federated && encodeRequest(federated), stop)).body
      if (!isStale()) return merged
    } catch (error) {
      if (!isStale()) throw atPlaces(error, placed)
    }
    return answer(placed, merging, stop)
  }

  async function embeddedAt(search: Embeddable, where: string, stop: Disconnect): Promise<SearchRequest> {
    try {
      return await withVector({ engine, embedders }, search, stop)
    } catch (error) {
      throw error instanceof ApiError ? inside(where, error) : error
    }
  }

  function requireEntry(uid: string, where: string): IndexEntry {
    const entry = tasks.index(uid)
    // Unlike on the routes of one index, a missing one is a mistake of the body here.
    if (entry === null) throw inside(where, indexNotFound(uid, 400))
    return entry
  }

  /** Missing indexes are told in order of their names; those that remotes search may be missing here. */
  async function requireFederation(
    placed: readonly PlacedQuery[],
    { personalize, facetsByIndex }: Federation,
    elsewhere: ReadonlySet<string>,
  ): Promise<void> {
    if (personalize !== null) {
      throw new ApiError(
        'feature_not_enabled',
        'passing `personalize` requires a configured personalization service',
      )
    }
    for (const uid of facetsByIndex.keys()) {
      if (!access.allows(uid)) throw inside('.federation.facetsByIndex', access.refusal(uid))
    }
    const places = new Map(placed.toReversed().map(({ query, at }) => [query.indexUid, at]))
    for (const uid of [...places.keys()].sort()) requireEntry(uid, `.queries[${places.get(uid)}]`)
    for (const [uid, facets] of facetsByIndex) {
      if (places.has(uid) || elsewhere.has(uid)) continue
      const where = `.federation.facetsByIndex.${uid} (which no query uses)`
      await checkFacets(requireEntry(uid, where), facets ?? [], where)
    }
  }

  /** Facets of an index that no query searches are not answered, but must be as good as the others. */
  async function checkFacets(entry: IndexEntry, facets: readonly string[], where: string): Promise<void> {
    if (facets.length === 0) return
    const context = { entry, features, forcedFilter: null, includeMetadata: false, rules: [] }
    try {
      await engine.search(entry.id, encodeRequest(searchRequest({ ...nothing, facets, limit: 0 }, context)))
    } catch (error) {
      throw error instanceof ApiError ? inside(where, error) : error
    }
  }

  function requestFor({ query, at }: PlacedQuery, entry: IndexEntry, withMetadata: boolean): SearchRequest {
    const search = {
      ...query,
      offset: query.offset ?? 0,
      limit: query.limit ?? 20,
      showPerformanceDetails: query.showPerformanceDetails ?? false,
    }
    try {
      return searchRequest(search, {
        entry,
        features,
        forcedFilter: access.forcedFilter(entry.uid),
        // A federated answer has one list of all queries instead.
        includeMetadata: withMetadata,
        rules: tasks.rules(),
      })
    } catch (error) {
      throw error instanceof ApiError ? inside(`.queries[${at}]`, error) : error
    }
  }
}

/** The engine counts the queries it was given; the caller may have given others to remotes. */
function atPlaces(error: unknown, placed: readonly PlacedQuery[]): unknown {
  if (!(error instanceof ApiError)) return error
  const message = error.message.replace(
    /^inside `\.queries\[(\d+)\]`/,
    (_, at: string) => `inside \`.queries[${placed[Number(at)]?.at ?? at}]\``,
  )
  return new ApiError(error.code, message, error.status)
}
