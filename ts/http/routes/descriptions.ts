import type { FastifyPluginAsync } from 'fastify'
import {
  DESCRIBED_INDEXES_MAX,
  describedIndex,
  descriptionParameters,
  readIndex,
  requireIndexUid,
  type SearchableIndex,
  searchableIndex,
  searchableListParameters,
} from '../../operations/index.js'
import { indexDescription, pageOf, searchableIndex as searchableSchema, sendJson } from '../answers/index.js'
import { gathered, mergedIndexes } from '../cells/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { disconnectOf } from '../searches/index.js'

/** Descriptions of indexes, for callers that may search and do not know the data. */
export const descriptionRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { tasks, searches } = services

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/descriptions',
      summary: 'List the indexes that the caller may search',
      actions: ['search'],
      query: searchableListParameters,
      answers: { 200: pageOf(searchableSchema) },
    },
    async ({ request, reply, access, query }) => {
      const { offset, limit } = query
      // The list of several cells ends with this many indexes.
      const first = Math.min(offset + limit, DESCRIBED_INDEXES_MAX)
      const others = await gathered(request, services, `/descriptions?limit=${first}`)
      const visible = tasks.indexes().filter(({ uid }) => access.maySearch(uid))
      const page = others.length === 0 ? visible.slice(offset, offset + limit) : visible.slice(0, first)
      const results = await searches.run(access.holder, disconnectOf(reply), async (stop) => {
        const found: SearchableIndex[] = []
        for (const entry of page)
          found.push(await searchableIndex(services, entry, { access, stop, alsoRead: () => undefined }))
        return found
      })
      if (others.length > 0)
        return sendJson(reply, mergedIndexes({ results, total: visible.length }, others, query))
      return sendJson(reply, { results, offset, limit, total: visible.length })
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/indexes/:indexUid/description',
      summary: 'Describe the fields, filters and documents of an index to a caller that may search it',
      actions: ['search'],
      query: descriptionParameters,
      answers: { 200: indexDescription },
    },
    async ({ reply, access, indexUid, query: { examples } }) => {
      const description = await searches.run(access.holder, disconnectOf(reply), (stop) =>
        readIndex(tasks, requireIndexUid(indexUid), (entry, alsoRead) =>
          describedIndex(services, entry, examples, { access, stop, alsoRead }),
        ),
      )
      return sendJson(reply, description)
    },
  )
}
