import type { FastifyPluginAsync } from 'fastify'
import { matchesAny } from '../../auth/index.js'
import { ApiError } from '../../errors/index.js'
import {
  documentId,
  integer,
  orNull,
  required,
  requireIndex,
  requireIndexUid,
  type Schema,
  shape,
  string,
} from '../../operations/index.js'
import { count, date, listOf, record, sendJson, text } from '../answers/index.js'
import { serve } from '../operations/index.js'
import { CLICK_POSITION_MAX, type QueryStatistics } from '../queries/index.js'
import type { RouteServices } from '../route-services.js'

const amount: Schema = { type: 'number', minimum: 0 }
const countedQueries = listOf(
  record({
    indexUid: text,
    q: text,
    count: count,
    countWithoutHits: count,
    averageMs: orNull(amount),
    maxMs: orNull(amount),
    lastSearchedAt: date,
    clicks: count,
    averageClickPosition: orNull(amount),
    lastClicked: listOf(text),
  }),
)
const readQueries = {
  method: 'GET',
  url: '/stats/queries',
  summary: 'Name the most frequent queries, the slowest, and those without hits',
  actions: ['stats.get'],
  answers: {
    200: record({
      since: date,
      searches: count,
      mostFrequent: countedQueries,
      slowest: countedQueries,
      withoutHits: countedQueries,
    }),
  },
} as const
const countClick = {
  method: 'POST',
  url: '/indexes/:indexUid/clicks',
  summary: 'Count a click on a hit',
  // A key that may search may also report clicks: front ends have no other key.
  actions: ['search'],
  body: shape({
    q: required(string, 'invalid_search_q'),
    documentId: required(documentId, 'invalid_document_id', 'missing_document_id'),
    position: required(integer(CLICK_POSITION_MAX), 'invalid_click_position'),
  }),
  answers: { 204: null },
} as const

/** Statistics of queries: reading them, and counting clicks on hits. */
export const queryStatisticsRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  serve(app, services, readQueries, async ({ reply, access: { visibleIndexes } }) => {
    const statistics = enabled()
    // Counts of other threads arrive before their figures.
    await services.loops?.figures()
    await statistics.loaded
    return sendJson(
      reply,
      statistics.report((uid) => visibleIndexes === null || matchesAny(visibleIndexes, uid)),
    )
  })

  serve(app, services, countClick, ({ reply, indexUid, body }) => {
    const { uid } = requireIndex(services.tasks, requireIndexUid(indexUid))
    enabled()
    services.queries.clicked({ indexUid: uid, ...body })
    return reply.code(204).send()
  })

  /** @throws ApiError `feature_not_enabled` */
  function enabled(): QueryStatistics {
    const { statistics } = services.queries
    if (statistics !== null) return statistics
    throw new ApiError(
      'feature_not_enabled',
      'queries are not counted; start the server with --query-stats to count them',
    )
  }
}
