import { setImmediate as turn } from 'node:timers/promises'
import {
  encodeRequest,
  type FederationRequest,
  foreignIndexes,
  type SearchFacts,
  type SearchRequest,
  withStages,
} from '../../../engine/index.js'
import { ApiError } from '../../../errors/index.js'
import type { IndexEntry } from '../../../tasks/index.js'
import {
  ANSWER_BYTES_MAX,
  followedKeys,
  paging,
  readNode,
  requireOneOrder,
  type SearchRights,
  searchFields,
  searchRequest,
  shape,
  uuidV7,
} from '../../requests/index.js'
import type { DisconnectSignal } from '../disconnect-signal.js'
import { type Embeddable, withVector } from '../embedding.js'
import { hasMoved, indexNotFound } from '../index-lookup.js'
import { PREPARING_TURN_MS } from '../limits.js'
import { requirePersonalization } from '../reordering/index.js'
import type { SearchAccess, SearchServices } from '../services.js'
import { inside } from './checks.js'
import { type Federation, type PositionedQuery, shownPosition } from './fields.js'
import { type FederationOrder, reorderedFederation, reorderedQueries } from './reordered.js'

/** A search with every parameter at its default. */
const defaultSearch = readNode({ kind: 'object', entries: [] }, shape(searchFields))

/** Options for merging the answers of several queries into one list. */
export type Merging = Omit<FederationRequest, 'weights' | 'positions' | 'metadata' | 'requestUid'> & {
  readonly requestUid: string
  readonly order: FederationOrder
}

/**
 * Returns the merge options of a federation.
 * @param showScoreValues true if hits include the values that another instance needs to merge them
 */
export function mergingOf(
  federation: Federation,
  queries: readonly PositionedQuery[],
  showScoreValues: boolean,
): Merging {
  return {
    paging: paging(federation),
    facetsByIndex: Object.fromEntries(
      [...federation.facetsByIndex].filter(([uid]) => queries.some(({ query }) => query.indexUid === uid)),
    ),
    mergeFacets: federation.mergeFacets,
    distinct: federation.distinct,
    showPerformanceDetails: federation.showPerformanceDetails,
    requestUid: uuidV7(),
    origin: null,
    showScoreValues,
    order: federation,
  }
}

export interface LocalSearches {
  /** Answers from the indexes of this instance. @param merging null: each query gets its own answer */
  answer(
    queries: readonly PositionedQuery[],
    merging: Merging | null,
    stop: DisconnectSignal,
  ): Promise<Uint8Array>
  /**
   * Checks the federation options against the queries.
   * @param elsewhere uids of the indexes that remotes search; they need not exist here
   * @throws ApiError
   */
  requireFederation(
    queries: readonly PositionedQuery[],
    federation: Federation,
    elsewhere: ReadonlySet<string>,
  ): Promise<void>
}

/** The context of the request that the searches belong to. */
interface LocalContext {
  readonly access: SearchAccess
  /** Rights for indexes that foreign keys join; default: `access`. */
  readonly joined?: SearchRights
  readonly includeMetadata: boolean
  /** Receives facts about the engine's answer. */
  readonly progress: { answered(facts: SearchFacts): void }
}

/** Returns functions that search the indexes of this instance for one request. */
export function localSearches(
  services: SearchServices,
  { access, joined = access, includeMetadata, progress }: LocalContext,
): LocalSearches {
  const { engine, embedders, rerankers, tasks, features, queries: watch } = services
  return { answer, requireFederation }

  async function answer(
    queries: readonly PositionedQuery[],
    merging: Merging | null,
    stop: DisconnectSignal,
  ): Promise<Uint8Array> {
    const started = performance.now()
    const prepared: (Embeddable & { readonly entries: readonly IndexEntry[]; readonly metadata: unknown })[] =
      []
    let since = started
    // Sequentially, so that the error of the first invalid query is reported.
    for (const one of queries) {
      if (performance.now() - since >= PREPARING_TURN_MS) {
        await turn()
        since = performance.now()
      }
      const entry = requireEntry(one.query.indexUid, `.queries[${one.position}]`)
      const { entries, ...followed } = await followedKeys(services, entry, joined)
      const alone = requestFor(one, entry, followed)
      services.ruleFilters?.check(entry, alone, one.query.inlineRule?.uid)
      const { metadata } = alone
      // A federated answer lists the metadata of all queries in another place.
      const request = merging === null ? alone : { ...alone, metadata: null }
      prepared.push({ entry, entries: [entry, ...entries], request, media: one.query.media, metadata })
    }
    const embedded = await Promise.all(
      prepared.map(async (search, at) => {
        const request = await embeddedAt(search, `.queries[${queries[at]?.position}]`, stop)
        return { asked: queries[at]!, entry: search.entry, request }
      }),
    )
    const reordering =
      merging === null
        ? await reorderedQueries(services, embedded, started)
        : await reorderedFederation(services, embedded, merging, started)
    const metadata = prepared.map((search) => search.metadata)
    const federated: FederationRequest | null = merging && {
      ...withoutOrder(merging),
      paging: reordering?.paging ?? merging.paging,
      metadata: includeMetadata ? metadata : null,
      weights: queries.map(({ query }) => query.federationOptions?.weight ?? 1),
      positions: queries.map(shownPosition),
      showPerformanceDetails: merging.showPerformanceDetails || watch.timesStages,
      answerBytesMax: ANSWER_BYTES_MAX,
    }
    const run = (requests: readonly SearchRequest[], merged: FederationRequest | null) =>
      engine.multiSearch(
        requests.map((request, at) => ({
          index: embedded[at]!.entry.id,
          request: encodeRequest(request),
          foreign: foreignIndexes(request),
        })),
        merged && encodeRequest(merged),
        stop,
      )
    const again = (requests: readonly SearchRequest[]) => run(requests, federated && hitsOnly(federated))
    // As with a single search: run all queries again if an index was deleted or swapped meanwhile.
    const isStale = (): boolean =>
      prepared.some(({ entries }) => entries.some((entry) => hasMoved(tasks, entry)))
    try {
      const requests = reordering?.requests ?? embedded.map(({ request }) => request)
      const answer = await run(requests, federated)
      // Separate answers have no field for the stages of all queries together.
      const isTimed = merging !== null && watch.timesStages
      const { body, facts } = isTimed ? withStages(answer, merging.showPerformanceDetails) : answer
      if (!isStale()) {
        progress.answered(facts)
        return reordering === null ? body : await reordering.apply({ body, facts }, stop, again)
      }
    } catch (error) {
      if (!isStale()) throw atOwnPositions(error, queries)
    }
    return answer(queries, merging, stop)
  }

  async function embeddedAt(
    search: Embeddable,
    where: string,
    stop: DisconnectSignal,
  ): Promise<SearchRequest> {
    try {
      return await withVector({ engine, embedders }, search, stop)
    } catch (error) {
      throw error instanceof ApiError ? inside(where, error) : error
    }
  }

  function requireEntry(uid: string, where: string): IndexEntry {
    const entry = tasks.index(uid)
    // The uid is in the body here, not in the path, so a missing index is a 400, not a 404.
    if (entry === null) throw inside(where, indexNotFound(uid, 400))
    return entry
  }

  async function requireFederation(
    queries: readonly PositionedQuery[],
    { personalize, rerank, facetsByIndex }: Federation,
    elsewhere: ReadonlySet<string>,
  ): Promise<void> {
    try {
      requireOneOrder({ personalize, rerank })
    } catch (error) {
      throw error instanceof ApiError ? inside('.federation', error) : error
    }
    requirePersonalization(rerankers, personalize)
    for (const uid of facetsByIndex.keys()) {
      if (!access.allows(uid)) throw inside('.federation.facetsByIndex', access.refusal(uid))
    }
    const positions = new Map(queries.toReversed().map(({ query, position }) => [query.indexUid, position]))
    // The API reports the missing index with the smallest uid, not the first query without an index.
    for (const uid of [...positions.keys()].sort()) requireEntry(uid, `.queries[${positions.get(uid)}]`)
    for (const [uid, facets] of facetsByIndex) {
      if (positions.has(uid) || elsewhere.has(uid)) continue
      const where = `.federation.facetsByIndex.${uid} (which no query uses)`
      await checkFacets(requireEntry(uid, where), facets ?? [], where)
    }
  }

  /** Checks facets of an index that no query searches: the answer omits them, but a mistake in them is an error. */
  async function checkFacets(entry: IndexEntry, facets: readonly string[], where: string): Promise<void> {
    if (facets.length === 0) return
    const context = { entry, features, forcedFilter: null, includeMetadata: false, rules: null }
    try {
      await engine.search(
        entry.id,
        encodeRequest(searchRequest({ ...defaultSearch, facets, limit: 0 }, context)),
      )
    } catch (error) {
      throw error instanceof ApiError ? inside(where, error) : error
    }
  }

  function requestFor(
    { query, position }: PositionedQuery,
    entry: IndexEntry,
    followed: Pick<SearchRequest, 'foreignKeys'>,
  ): SearchRequest {
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
        includeMetadata,
        rules: tasks.rules(),
        ...followed,
      })
    } catch (error) {
      throw error instanceof ApiError ? inside(`.queries[${position}]`, error) : error
    }
  }
}

/** Returns what the engine needs to know of the merging. */
const withoutOrder = ({ order: _, ...merging }: Merging): Omit<Merging, 'order'> => merging

const hitsOnly = (federated: FederationRequest): FederationRequest => ({
  ...federated,
  ...{ facetsByIndex: {}, mergeFacets: null, metadata: null, showPerformanceDetails: false },
})

/**
 * Replaces query positions in an error by positions in the complete request. The engine counts only its own queries,
 * without those of remotes.
 */
function atOwnPositions(error: unknown, queries: readonly PositionedQuery[]): unknown {
  if (!(error instanceof ApiError)) return error
  const message = error.message.replace(
    /^inside `\.queries\[(\d+)\]`/,
    (_, at: string) => `inside \`.queries[${queries[Number(at)]?.position ?? at}]\``,
  )
  return new ApiError(error.code, message, error.status)
}
