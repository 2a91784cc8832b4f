import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import {
  encodeRequest,
  type FacetSearchRequest,
  foreignIndexes,
  type SimilarRequest,
  withStages,
} from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { requestFeatures } from '../../instance/index.js'
import {
  ANSWER_BYTES_MAX,
  atMost,
  boolean,
  bothFilters,
  defaulted,
  defaultSemanticRatio,
  documentId,
  facetSearchFields,
  filter,
  followedKeys,
  includesMetadata,
  integer,
  jsonOrText,
  NAMES_MAX,
  optional,
  type ParsedSearch,
  pinsOf,
  required,
  requireSensible,
  searchFields,
  searchParameters,
  searchRequest,
  shape,
  string,
  strings,
  unitInterval,
  type Values,
} from '../../requests/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { facetSearchAnswer, searchAnswer, sendJsonBytes, similarAnswer } from '../answers/index.js'
import { type AlsoRead, readIndex, requireIndexUid } from '../index-lookup.js'
import { observedSearch } from '../metrics/index.js'
import { type Authorized, serve } from '../operations/index.js'
import { type Progress, showsFirst } from '../queries/index.js'
import type { RouteServices } from '../route-services.js'
import { type DisconnectSignal, disconnectOf, searchEmbedded, untilDisconnected } from '../searches/index.js'

/** Reads an index, and further ones that it names. */
type Read = (entry: IndexEntry, stop: DisconnectSignal, alsoRead: AlsoRead) => Promise<Uint8Array>

const searchBody = shape(searchFields)
const facetSearchBody = shape(facetSearchFields, { ignoreUnknown: true })
const similarFields = {
  id: required(documentId, 'invalid_similar_id'),
  offset: defaulted(integer(), 0, 'invalid_similar_offset'),
  limit: defaulted(integer(), 20, 'invalid_similar_limit'),
  filter: optional(filter, 'invalid_similar_filter'),
  embedder: required(string, 'invalid_similar_embedder'),
  attributesToRetrieve: optional(atMost(strings, NAMES_MAX), 'invalid_similar_attributes_to_retrieve'),
  retrieveVectors: defaulted(boolean, false, 'invalid_similar_retrieve_vectors'),
  showRankingScore: defaulted(boolean, false, 'invalid_similar_show_ranking_score'),
  showRankingScoreDetails: defaulted(boolean, false, 'invalid_similar_show_ranking_score_details'),
  showPerformanceDetails: defaulted(boolean, false, 'invalid_similar_show_performance_details'),
  rankingScoreThreshold: optional(unitInterval, 'invalid_similar_ranking_score_threshold'),
}
const similarBody = shape(similarFields)
const similarParameters = {
  ...similarFields,
  filter: optional(jsonOrText(filter), 'invalid_similar_filter'),
}

/** Searches in one index: for documents, facet values, and documents like a given one. */
export const searchRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { engine, tasks, features, searches, queries } = services

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/indexes/:indexUid/search',
      summary: 'Search an index',
      actions: ['search'],
      body: searchBody,
      answers: { 200: searchAnswer },
    },
    (call) => search(call, call.body),
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/indexes/:indexUid/search',
      summary: 'Search an index, with parameters in the query string',
      actions: ['search'],
      query: searchParameters,
      answers: { 200: searchAnswer },
    },
    (call) => search(call, fromParameters(call.query)),
  )

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/indexes/:indexUid/facet-search',
      summary: 'Search the values of a facet',
      actions: ['search'],
      body: facetSearchBody,
      answers: { 200: facetSearchAnswer },
    },
    async (call) => {
      const { request, reply, access, body: wanted } = call
      const find: Read = async (entry, stop, alsoRead) => {
        requireSensible(wanted, features)
        const { entries, ...followed } = await followedKeys(services, entry, access)
        alsoRead(entries)
        const filter = bothFilters(wanted.filter, access.forcedFilter(entry.uid))
        const ruled = { indexUid: entry.uid, q: wanted.q, filter }
        const facetSearch: FacetSearchRequest = {
          indexUid: entry.uid,
          facetName: wanted.facetName,
          facetQuery: wanted.facetQuery,
          q: wanted.q,
          filter,
          matchingStrategy: wanted.matchingStrategy,
          attributesToSearchOn: wanted.attributesToSearchOn,
          rankingScoreThreshold: wanted.rankingScoreThreshold,
          locales: wanted.locales,
          exhaustiveFacetCount: wanted.exhaustiveFacetCount ?? false,
          hybrid: wanted.hybrid,
          vector: wanted.vector,
          features: requestFeatures(features),
          ...followed,
          pins: pinsOf(ruled, { features, rules: tasks.rules() }),
          answerBytesMax: ANSWER_BYTES_MAX,
        }
        const foreign = foreignIndexes(facetSearch)
        return (await engine.facetSearch(entry.id, encodeRequest(facetSearch), stop, foreign)).body
      }
      const isNarrowed = wanted.q !== null || wanted.filter !== null || wanted.vector !== null
      const query = () => [{ indexUid: call.indexUid, q: wanted.q, filter: wanted.filter, showsFirst: false }]
      const body = await queries.run('facet-search', query, (progress) =>
        observedSearch(
          services,
          request,
          'facetSearch',
          wanted,
          () => readInTurn(call, find, progress),
          (counters) => counters.addFacetSearch(wanted.facetName, isNarrowed),
        ),
      )
      return sendJsonBytes(reply, body)
    },
  )

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/indexes/:indexUid/similar',
      summary: 'Find documents like one',
      actions: ['search'],
      body: similarBody,
      answers: { 200: similarAnswer },
    },
    (call) => similar(call, call.body),
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/indexes/:indexUid/similar',
      summary: 'Find documents like one, with parameters in the query string',
      actions: ['search'],
      query: similarParameters,
      answers: { 200: similarAnswer },
    },
    (call) => similar(call, call.query),
  )

  function readInTurn(
    { reply, access, indexUid }: Authorized,
    read: Read,
    progress: Progress,
  ): Promise<Uint8Array> {
    return searches.run(access.holder, disconnectOf(reply), async (stop) => {
      progress.began()
      return readIndex(tasks, requireIndexUid(indexUid), (entry, alsoRead) => read(entry, stop, alsoRead))
    })
  }

  async function search(call: Authorized, wanted: ParsedSearch): Promise<FastifyReply> {
    const { request, reply, access } = call
    const event = request.method === 'GET' ? 'searchByGet' : 'search'
    const query = () => [
      { indexUid: call.indexUid, q: wanted.q, filter: wanted.filter, showsFirst: showsFirst(wanted) },
    ]
    const body = await queries.run('search', query, (progress) =>
      observedSearch(services, request, event, wanted, (answered) => {
        const read: Read = async (entry, stop, alsoRead) => {
          const { entries, ...followed } = await followedKeys(services, entry, access)
          alsoRead(entries)
          const complete = searchRequest(wanted, {
            entry,
            features,
            forcedFilter: access.forcedFilter(entry.uid),
            includeMetadata: includesMetadata(request),
            rules: tasks.rules(),
            ...followed,
          })
          const search = { entry, request: complete, media: wanted.media }
          const answer = await searchEmbedded(services, search, stop)
          answered(answer.facts)
          progress.answered(answer.facts)
          return answer.body
        }
        return readInTurn(call, read, progress)
      }),
    )
    return sendJsonBytes(reply, body)
  }

  async function similar(
    { request, reply, access, indexUid }: Authorized,
    wanted: Values<typeof similarFields>,
  ): Promise<FastifyReply> {
    const event = request.method === 'GET' ? 'similarByGet' : 'similar'
    const find = async (
      progress: Progress,
      entry: IndexEntry,
      stop: DisconnectSignal,
      alsoRead: AlsoRead,
    ): Promise<Uint8Array> => {
      const { entries, ...followed } = await followedKeys(services, entry, access)
      alsoRead(entries)
      const complete: SimilarRequest = {
        indexUid: entry.uid,
        id: wanted.id,
        embedder: wanted.embedder,
        offset: wanted.offset,
        limit: wanted.limit,
        filter: bothFilters(wanted.filter, access.forcedFilter(entry.uid)),
        visible: bothFilters(null, access.forcedFilter(entry.uid)),
        attributesToRetrieve: wanted.attributesToRetrieve?.includes('*') ? null : wanted.attributesToRetrieve,
        retrieveVectors: wanted.retrieveVectors,
        showRankingScore: wanted.showRankingScore,
        showRankingScoreDetails: wanted.showRankingScoreDetails,
        showPerformanceDetails: wanted.showPerformanceDetails,
        rankingScoreThreshold: wanted.rankingScoreThreshold,
        features: requestFeatures(features),
        ...followed,
        answerBytesMax: ANSWER_BYTES_MAX,
      }
      const timed = {
        ...complete,
        showPerformanceDetails: wanted.showPerformanceDetails || queries.timesStages,
      }
      const foreign = foreignIndexes(complete)
      const answer = await engine.similar(entry.id, encodeRequest(timed), stop, foreign)
      if (!queries.timesStages) return answer.body
      const { body, facts } = withStages(answer, wanted.showPerformanceDetails)
      progress.answered(facts)
      return body
    }
    const query = () => [{ indexUid, q: null, filter: wanted.filter, showsFirst: false }]
    const body = await queries.run('similar', query, (progress) =>
      observedSearch(services, request, event, wanted, () =>
        untilDisconnected(disconnectOf(reply), async (stop) => {
          progress.began()
          return readIndex(tasks, requireIndexUid(indexUid), (entry, alsoRead) =>
            find(progress, entry, stop, alsoRead),
          )
        }),
      ),
    )
    return sendJsonBytes(reply, body)
  }
}

/** The search that the flat parameters of a query string describe. */
function fromParameters(query: Values<typeof searchParameters>): ParsedSearch {
  const { hybridEmbedder, hybridSemanticRatio, personalizeUserContext, ...rest } = query
  if (hybridEmbedder === null && hybridSemanticRatio !== null) {
    throw new ApiError(
      'invalid_search_hybrid_query',
      '`hybridSemanticRatio` needs `hybridEmbedder`, which names the embedder',
    )
  }
  return {
    ...rest,
    hybrid:
      hybridEmbedder === null
        ? null
        : { embedder: hybridEmbedder, semanticRatio: hybridSemanticRatio ?? defaultSemanticRatio },
    media: null,
    personalize: personalizeUserContext === null ? null : { userContext: personalizeUserContext },
  }
}
