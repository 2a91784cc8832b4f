import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'
import {
  type AlsoRead,
  type DisconnectSignal,
  defaultSemanticRatio,
  explain,
  explainFields,
  facetSearch,
  facetSearchBody,
  type facetSearchFields,
  filter,
  includesMetadata,
  jsonOrText,
  optional,
  type ParsedSearch,
  readIndex,
  requireIndexUid,
  search as searchDocuments,
  searchFields,
  searchParameters,
  similar as searchSimilar,
  shape,
  similarFields,
  type Values,
  wasSent,
  withSent,
} from '../../operations/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import type { SearchEvent } from '../../telemetry/index.js'
import {
  explanation,
  facetSearchAnswer,
  searchAnswer,
  sendJson,
  sendJsonBytes,
  similarAnswer,
} from '../answers/index.js'
import { observedSearch, refusedSearch } from '../metrics/index.js'
import { type Authorized, serve } from '../operations/index.js'
import { type Progress, showsFirst } from '../queries/index.js'
import type { RouteServices } from '../route-services.js'
import { disconnectOf } from '../searches/index.js'

/** Reads an index, and the indexes that its filter joins. */
type Read = (entry: IndexEntry, stop: DisconnectSignal, alsoRead: AlsoRead) => Promise<Uint8Array>

const searchBody = shape(searchFields, { notesSent: true })
const explainBody = shape(explainFields)
const similarBody = shape(similarFields, { notesSent: true })
const similarParameters = {
  ...similarFields,
  filter: optional(jsonOrText(filter), 'invalid_similar_filter'),
}

/** Searches in one index: documents, facet values and similar documents. */
export const searchRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { tasks, searches, similarSearches, queries } = services
  /** Counts searches that are refused before they begin. */
  const counting = (event: SearchEvent) => ({
    refused: (request: FastifyRequest) => refusedSearch(services, request, event),
  })
  const byGet = counting('searchByGet')

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
    counting('search'),
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
    (call) => {
      let wanted: ParsedSearch
      try {
        wanted = fromParameters(call.query)
      } catch (error) {
        byGet.refused(call.request)
        throw error
      }
      return search(call, wanted)
    },
    byGet,
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
      const query = () => [{ indexUid: call.indexUid, q: wanted.q, filter: wanted.filter, showsFirst: false }]
      const body = await queries.run('facet-search', query, (progress) =>
        observedSearch(
          services,
          request,
          'facetSearch',
          wanted,
          (answered) => {
            const find: Read = async (entry, stop, alsoRead) => {
              const found = await facetSearch(services, entry, wanted, { access, stop, alsoRead })
              answered(found.facts)
              return found.body
            }
            return readInTurn(call, find, progress)
          },
          (counters) => counters.addFacetSearch(wanted.facetName, hasMoreThanFacet(wanted)),
        ),
      )
      return sendJsonBytes(reply, body)
    },
    counting('facetSearch'),
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
    counting('similar'),
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
    counting('similarByGet'),
  )

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/indexes/:indexUid/explain',
      summary: 'Explain the position of a document among the hits of a search, or its absence',
      actions: ['search'],
      body: explainBody,
      answers: { 200: explanation },
    },
    async ({ reply, access, indexUid, body }) => {
      const answer = await searches.run(access.holder, disconnectOf(reply), (stop) =>
        readIndex(tasks, requireIndexUid(indexUid), (entry, alsoRead) =>
          explain(services, entry, body, { access, stop, alsoRead }),
        ),
      )
      return sendJson(reply, answer)
    },
  )

  function readInTurn(
    { reply, access, indexUid }: Authorized,
    read: Read,
    progress: Progress,
    queue = searches,
  ): Promise<Uint8Array> {
    return queue.run(access.holder, disconnectOf(reply), async (stop) => {
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
          const reading = { access, stop, alsoRead, includeMetadata: includesMetadata(request) }
          const answer = await searchDocuments(services, entry, wanted, reading)
          answered(answer.facts)
          progress.answered(answer.facts)
          return answer.body
        }
        return readInTurn(call, read, progress)
      }),
    )
    return sendJsonBytes(reply, body)
  }

  async function similar(call: Authorized, wanted: Values<typeof similarFields>): Promise<FastifyReply> {
    const { request, reply, access, indexUid } = call
    const event = request.method === 'GET' ? 'similarByGet' : 'similar'
    const query = () => [{ indexUid, q: null, filter: wanted.filter, showsFirst: false }]
    const body = await queries.run('similar', query, (progress) =>
      observedSearch(services, request, event, wanted, () => {
        const find: Read = async (entry, stop, alsoRead) => {
          const answer = await searchSimilar(services, entry, wanted, { access, stop, alsoRead })
          progress.answered(answer.facts)
          return answer.body
        }
        return readInTurn(call, find, progress, similarSearches)
      }),
    )
    return sendJsonBytes(reply, body)
  }
}

/** Returns true if a facet search has parameters other than the facet and the query for its values. */
const hasMoreThanFacet = (wanted: Values<typeof facetSearchFields>): boolean =>
  Object.entries(wanted).some(
    ([name, value]) =>
      name !== 'facetName' && name !== 'facetQuery' && value !== null && wasSent(wanted, name),
  )

/** Builds a search from the flat parameters of a query string. */
function fromParameters(query: Values<typeof searchParameters>): ParsedSearch {
  const { hybridEmbedder: embedder, hybridSemanticRatio, personalizeUserContext, ...rest } = query
  const semanticRatio = hybridSemanticRatio ?? defaultSemanticRatio
  if (embedder === null && hybridSemanticRatio !== null) {
    throw new ApiError(
      'invalid_search_hybrid_query',
      '`hybridSemanticRatio` needs `hybridEmbedder`, which names the embedder',
    )
  }
  return {
    ...rest,
    hybrid:
      embedder === null
        ? null
        : withSent({ embedder, semanticRatio }, hybridSemanticRatio === null ? [] : ['semanticRatio']),
    media: null,
    personalize: personalizeUserContext === null ? null : { userContext: personalizeUserContext },
  }
}
