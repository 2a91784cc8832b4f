import type { FastifyPluginAsync } from 'fastify'
import type { Access } from '../../auth/index.js'
import type { FederationRequest, SearchRequest } from '../../engine/index.js'
import { ApiError, type ErrorCode } from '../../errors/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { multiSearchAnswer } from '../answers.js'
import { jsonBody } from '../body.js'
import { described } from '../endpoint.js'
import { disconnection, hasMoved, indexNotFound, sendJsonBytes } from '../exchange.js'
import {
  badValue,
  boolean,
  defaulted,
  indexUid,
  integer,
  isIndexUid,
  list,
  mapOf,
  nullable,
  number,
  optional,
  readNode,
  refined,
  required,
  shape,
  string,
  strings,
  type Values,
} from '../parse/index.js'
import { multiSearchQueryFields, personalize, searchFields } from '../search-fields.js'
import { includesMetadata, paging, searchMetadata, searchRequest } from '../search-requests.js'
import type { RouteServices } from '../services.js'
import { uuidV7 } from '../uuid-v7.js'

const weight = number((value) => value >= 0, 'zero or more')
const queryFields = {
  indexUid: required(indexUid, 'invalid_index_uid', 'missing_index_uid'),
  ...multiSearchQueryFields,
  federationOptions: optional(
    shape({
      weight: defaulted(weight, 1, 'invalid_multi_search_weight'),
      remote: optional(string, 'invalid_multi_search_remote'),
      queryPosition: optional(integer(), 'invalid_multi_search_query_position'),
    }),
    'bad_request',
  ),
}
const facetsByIndex = refined(mapOf(nullable(strings)), (facets, at) => {
  for (const uid of facets.keys()) {
    if (!isIndexUid(uid)) throw badValue(`\`${uid}\` is not a valid index uid`, at)
  }
  return facets
})
const federationFields = {
  limit: defaulted(integer(), 20, 'invalid_search_limit'),
  offset: defaulted(integer(), 0, 'invalid_search_offset'),
  page: optional(integer(), 'invalid_search_page'),
  hitsPerPage: optional(integer(), 'invalid_search_hits_per_page'),
  facetsByIndex: defaulted(
    facetsByIndex,
    new Map<string, readonly string[] | null>(),
    'invalid_multi_search_facets_by_index',
  ),
  mergeFacets: optional(
    shape({
      maxValuesPerFacet: optional(integer(), 'invalid_multi_search_max_values_per_facet'),
    }),
    'invalid_multi_search_merge_facets',
  ),
  distinct: optional(string, 'invalid_search_distinct'),
  showPerformanceDetails: defaulted(boolean, false, 'invalid_search_show_performance_details'),
  personalize: optional(personalize, 'invalid_search_personalize'),
} as const
const body = shape({
  federation: optional(shape(federationFields), 'bad_request'),
  queries: required(list(shape(queryFields)), 'bad_request'),
})

/** A search that asks for nothing in particular. */
const nothing = readNode({ kind: 'object', entries: [] }, shape(searchFields))

type Query = Values<typeof queryFields>
type Federation = Values<typeof federationFields>

/** Several searches in one request, answered apart or merged into one list. */
export const multiSearchRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, engine, tasks, features, options, searches } = services

  app.post(
    '/multi-search',
    described({
      method: 'POST',
      url: '/multi-search',
      summary: 'Search several times in one request',
      actions: ['search'],
      body: body,
      answers: { 200: multiSearchAnswer },
    }),
    async (request, reply) => {
      const access = await auth.require(request.headers.authorization, 'search')
      const { queries, federation } = await jsonBody(request, options.payloadBytesMax, body)
      const includeMetadata = includesMetadata(request)
      const answer = async (): Promise<Uint8Array> => {
        for (const [i, query] of queries.entries()) {
          if (federation === null) requirePlain(query, i)
          else requireFederable(query, federation, i)
          requireAllowed(access, query.indexUid, i)
        }
        if (federation !== null) requireFederation(access, queries, federation)
        const prepared = queries.map((query, i) => {
          const entry = requireEntry(query.indexUid, `.queries[${i}]`)
          return {
            index: entry.id,
            entry,
            request: requestFor(query, i, entry, access, federation, includeMetadata),
          }
        })
        if (federation !== null) await checkUnusedFacets(queries, federation)
        const requests = prepared.map((one) => ({ index: one.index, request: encode(one.request) }))
        const federated =
          federation === null
            ? null
            : encode(
                federationRequest(federation, queries, includeMetadata ? prepared.map(metadataOf) : null),
              )
        // As with a single search: what was deleted or swapped away meanwhile is asked for again.
        const isStale = (): boolean => prepared.some(({ entry }) => hasMoved(tasks, entry))
        try {
          const merged = (await engine.multiSearch(requests, federated)).body
          if (!isStale()) return merged
        } catch (error) {
          if (!isStale()) throw error
        }
        return answer()
      }
      return sendJsonBytes(reply, await searches.run(access.holder, disconnection(reply), answer))
    },
  )

  function requireEntry(uid: string, where: string): IndexEntry {
    const entry = tasks.index(uid)
    // Unlike on the routes of one index, a missing one is a mistake of the body here.
    if (entry === null) throw at(where, indexNotFound(uid, 400))
    return entry
  }

  /** Checks on the federation as a whole; missing indexes are told in order of their names. */
  function requireFederation(access: Access, queries: readonly Query[], federation: Federation): void {
    if (federation.personalize !== null) {
      throw new ApiError(
        'feature_not_enabled',
        'passing `personalize` requires a configured personalization service',
      )
    }
    for (const uid of federation.facetsByIndex.keys()) {
      if (!access.allows(uid)) throw at('.federation.facetsByIndex', access.refusal(uid))
    }
    const positions = new Map([...queries.entries()].reverse().map(([i, { indexUid: uid }]) => [uid, i]))
    for (const uid of [...positions.keys()].sort()) requireEntry(uid, `.queries[${positions.get(uid)}]`)
    for (const uid of federation.facetsByIndex.keys()) {
      const unused = positions.has(uid) ? '' : ' (which no query uses)'
      requireEntry(uid, `.federation.facetsByIndex.${uid}${unused}`)
    }
  }

  /** Facets of an index that no query searches are not answered, but must be as good as the others. */
  async function checkUnusedFacets(queries: readonly Query[], federation: Federation): Promise<void> {
    const searched = new Set(queries.map((query) => query.indexUid))
    for (const [uid, facets] of federation.facetsByIndex) {
      if (searched.has(uid) || facets === null || facets.length === 0) continue
      const where = `.federation.facetsByIndex.${uid}`
      const entry = requireEntry(uid, where)
      const search = { ...nothing, facets, limit: 0 }
      const request = searchRequest(search, {
        entry,
        features,
        forcedFilter: null,
        includeMetadata: false,
        rules: [],
      })
      try {
        await engine.search(entry.id, encode(request))
      } catch (error) {
        throw error instanceof ApiError ? at(where, error) : error
      }
    }
  }

  function requireFederable(query: Query, federation: Federation, i: number): void {
    const refuse = (code: ErrorCode, reason: string): ApiError =>
      at(`.queries[${i}]`, new ApiError(code, reason))
    for (const name of ['limit', 'offset', 'page', 'hitsPerPage'] as const) {
      if (query[name] !== null) {
        const reason = `\`${name}\` is not accepted in a federated query; use \`federation.${name}\``
        throw refuse('invalid_multi_search_query_pagination', reason)
      }
    }
    if (query.facets !== null && query.facets.length > 0) {
      const reason = '`facets` is not accepted in a federated query; use `federation.facetsByIndex`'
      throw refuse('invalid_multi_search_query_facets', reason)
    }
    if (query.personalize !== null) {
      const reason = '`personalize` is not accepted in a federated query; use `federation.personalize`'
      throw refuse('invalid_multi_search_query_personalization', reason)
    }
    if (query.showPerformanceDetails !== null) {
      const reason =
        '`showPerformanceDetails` is not accepted in a federated query; use `federation.showPerformanceDetails`'
      throw refuse('invalid_multi_search_query_show_performance_details', reason)
    }
    if (query.distinct !== null && federation.distinct !== null) {
      const reason = '`distinct` is given both here and in `federation`'
      throw refuse('invalid_multi_search_distinct', reason)
    }
    const remote = query.federationOptions?.remote ?? null
    if (remote !== null || (query.federationOptions?.queryPosition ?? null) !== null) {
      features.require('network', 'federating over remotes')
    }
    if (remote !== null && query.useNetwork !== null) {
      const reason = '`useNetwork` and `federationOptions.remote` exclude each other'
      throw refuse('invalid_multi_search_federation_options', reason)
    }
    if (remote !== null) throw refuse('invalid_multi_search_remote', `there is no remote \`${remote}\``)
  }

  function requestFor(
    query: Query,
    i: number,
    entry: IndexEntry,
    access: Access,
    federation: Federation | null,
    includeMetadata: boolean,
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
        // A federated answer has one list of all queries instead.
        includeMetadata: includeMetadata && federation === null,
        rules: tasks.rules(),
      })
    } catch (error) {
      throw error instanceof ApiError ? at(`.queries[${i}]`, error) : error
    }
  }
}

function requirePlain(query: Query, i: number): void {
  if (query.federationOptions === null) return
  const reason = '`federationOptions` is only accepted along with `federation`'
  throw at(`.queries[${i}]`, new ApiError('invalid_multi_search_federation_options', reason))
}

function requireAllowed(access: Access, uid: string, i: number): void {
  if (!access.allows(uid)) throw at(`.queries[${i}]`, access.refusal(uid))
}

function federationRequest(
  federation: Federation,
  queries: readonly Query[],
  metadata: unknown,
): FederationRequest {
  return {
    paging: paging(federation),
    facetsByIndex: Object.fromEntries(
      [...federation.facetsByIndex].filter(([uid]) => queries.some((query) => query.indexUid === uid)),
    ),
    mergeFacets: federation.mergeFacets,
    distinct: federation.distinct,
    showPerformanceDetails: federation.showPerformanceDetails,
    requestUid: uuidV7(),
    metadata,
    weights: queries.map((query) => query.federationOptions?.weight ?? 1),
    positions: queries.map((query, i) => query.federationOptions?.queryPosition ?? i),
    origin: null,
    showScoreValues: false,
  }
}

const metadataOf = (one: { readonly request: SearchRequest; readonly entry: IndexEntry }): unknown =>
  searchMetadata(one.request.q, one.entry)

/** The same error, its message saying which part of the body it is about. */
function at(where: string, error: ApiError): ApiError {
  return new ApiError(error.code, `inside \`${where}\`: ${error.message}`, error.status)
}

const encode = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
