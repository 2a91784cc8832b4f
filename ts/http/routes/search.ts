import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { ApiError } from '../../errors/index.js'
import {
  defaultSemanticRatio,
  defaultTopK,
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
  type Reading,
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
import {
  explanation,
  facetSearchAnswer,
  searchAnswer,
  sendJson,
  sendJsonBytes,
  similarAnswer,
} from '../answers/index.js'
import { ObservedRoute, type SearchObservation, searchCount } from '../observation/index.js'
import { type Authorized, serve } from '../operations/index.js'
import { showsFirst } from '../queries/index.js'
import type { SearchRouteServices } from '../route-services.js'
import { disconnectOf, type SearchQueue } from '../searches/index.js'

const searchBody = shape(searchFields, { notesSent: true })
const explainBody = shape(explainFields)
const similarBody = shape(similarFields, { notesSent: true })
type WantedFacet = Values<typeof facetSearchFields>
type WantedSimilar = Values<typeof similarFields>
const similarParameters = {
  ...similarFields,
  filter: optional(jsonOrText(filter), 'invalid_similar_filter'),
}

/** Searches in one index: documents, facet values and similar documents. */
export const searchRoutes: FastifyPluginAsync<SearchRouteServices> = async (app, services) => {
  const { usage, tasks, searches, similarSearches } = services
  const byPost = new ObservedRoute<ParsedSearch>(services, 'search', searchCount(usage, 'search'))
  const byGet = new ObservedRoute<ParsedSearch>(services, 'search', searchCount(usage, 'searchByGet'))
  const facetSearches = new ObservedRoute<WantedFacet>(
    services,
    'facet-search',
    searchCount(usage, 'facetSearch', (counters, wanted) =>
      counters.addFacetSearch(wanted.facetName, hasMoreThanFacet(wanted)),
    ),
  )
  const similarByPost = new ObservedRoute<WantedSimilar>(services, 'similar', searchCount(usage, 'similar'))
  const similarByGet = new ObservedRoute<WantedSimilar>(
    services,
    'similar',
    searchCount(usage, 'similarByGet'),
  )

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
    (call) => search(call, call.body, byPost.of(call.request)),
    byPost,
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
    (call) => search(call, fromParameters(call.query), byGet.of(call.request)),
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
      const { reply, indexUid, body: wanted } = call
      const observation = facetSearches.of(call.request)
      observation.asked(wanted, () => [{ indexUid, q: wanted.q, filter: wanted.filter, showsFirst: false }])
      const answer = await readInTurn(searches, call, (entry, reading) =>
        facetSearch(services, entry, wanted, reading),
      )
      observation.answered(answer.facts)
      return sendJsonBytes(reply, answer.body)
    },
    facetSearches,
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
    (call) => similar(call, call.body, similarByPost.of(call.request)),
    similarByPost,
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
    (call) => similar(call, call.query, similarByGet.of(call.request)),
    similarByGet,
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
    async (call) => {
      const answer = await readInTurn(searches, call, (entry, reading) =>
        explain(services, entry, call.body, reading),
      )
      return sendJson(call.reply, answer)
    },
  )

  async function search(
    call: Authorized,
    wanted: ParsedSearch,
    observation: SearchObservation<ParsedSearch>,
  ): Promise<FastifyReply> {
    const { request, reply, indexUid } = call
    observation.asked(wanted, () => [
      { indexUid, q: wanted.q, filter: wanted.filter, showsFirst: showsFirst(wanted) },
    ])
    const includeMetadata = includesMetadata(request)
    const answer = await readInTurn(searches, call, (entry, reading) =>
      searchDocuments(services, entry, wanted, { ...reading, includeMetadata }),
    )
    observation.answered(answer.facts)
    return sendJsonBytes(reply, answer.body)
  }

  async function similar(
    call: Authorized,
    wanted: WantedSimilar,
    observation: SearchObservation<WantedSimilar>,
  ): Promise<FastifyReply> {
    const { reply, indexUid } = call
    observation.asked(wanted, () => [{ indexUid, q: null, filter: wanted.filter, showsFirst: false }])
    const answer = await readInTurn(similarSearches, call, (entry, reading) =>
      searchSimilar(services, entry, wanted, reading),
    )
    observation.answered(answer.facts)
    return sendJsonBytes(reply, answer.body)
  }

  /** Reads the index of a request when `queue` has a free slot. */
  function readInTurn<A>(
    queue: SearchQueue,
    { request, reply, access, indexUid }: Authorized,
    read: (entry: IndexEntry, reading: Reading) => Promise<A>,
  ): Promise<A> {
    return queue.run(access.holder, disconnectOf(reply), (stop) => {
      request.observation?.began()
      return readIndex(tasks, requireIndexUid(indexUid), (entry, alsoRead) =>
        read(entry, { access, stop, alsoRead }),
      )
    })
  }
}

/** Returns true if a facet search has parameters other than the facet and the query for its values. */
const hasMoreThanFacet = (wanted: WantedFacet): boolean =>
  Object.entries(wanted).some(
    ([name, value]) =>
      name !== 'facetName' && name !== 'facetQuery' && value !== null && wasSent(wanted, name),
  )

/** Builds a search from the flat parameters of a query string. */
function fromParameters(query: Values<typeof searchParameters>): ParsedSearch {
  const { hybridEmbedder: embedder, hybridSemanticRatio, personalizeUserContext, ...named } = query
  const { rerankModel: model, rerankTopK, ...rest } = named
  const semanticRatio = hybridSemanticRatio ?? defaultSemanticRatio
  if (embedder === null && hybridSemanticRatio !== null) {
    throw new ApiError(
      'invalid_search_hybrid_query',
      '`hybridSemanticRatio` needs `hybridEmbedder`, which names the embedder',
    )
  }
  if (model === null && rerankTopK !== null)
    throw new ApiError('invalid_search_rerank', '`rerankTopK` needs `rerankModel`, which names the reranker')
  return {
    ...rest,
    hybrid:
      embedder === null
        ? null
        : withSent({ embedder, semanticRatio }, hybridSemanticRatio === null ? [] : ['semanticRatio']),
    media: null,
    rerank: model === null ? null : { model, topK: rerankTopK ?? defaultTopK },
    inlineRule: null,
    personalize: personalizeUserContext === null ? null : { userContext: personalizeUserContext },
  }
}
