import type { FastifyPluginAsync } from 'fastify'
import { matchesAny } from '../../auth/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { jsonBody } from '../body.js'
import {
  param,
  rawQuery,
  reading,
  requireIndex,
  requireIndexUid,
  sendJson,
  sendSummary,
} from '../exchange.js'
import { fieldsBody, fieldViews } from '../field-views.js'
import {
  defaulted,
  immutable,
  indexUid,
  integer,
  optional,
  readQuery,
  required,
  shape,
  string,
} from '../parse/index.js'
import type { RouteServices } from '../services.js'
import { indexStats, statsParameters } from '../stats.js'

const listParameters = {
  offset: defaulted(integer(), 0, 'invalid_index_offset'),
  limit: defaulted(integer(), 20, 'invalid_index_limit'),
}
const creationBody = shape({
  uid: required(indexUid, 'invalid_index_uid', 'missing_index_uid'),
  primaryKey: optional(string, 'invalid_index_primary_key'),
})
const updateBody = shape({
  primaryKey: optional(string, 'invalid_index_primary_key'),
  uid: optional(indexUid, 'invalid_index_uid'),
  createdAt: immutable('immutable_index_created_at'),
  updatedAt: immutable('immutable_index_updated_at'),
})

/** Indexes: list, create, rename, delete, compact, statistics, fields. */
export const indexRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, engine, tasks, options } = services

  app.get('/indexes', async (request, reply) => {
    const { visibleIndexes } = await auth.require(request.headers.authorization, 'indexes.get')
    const { offset, limit } = readQuery(rawQuery(request), listParameters)
    const visible = tasks
      .indexes()
      .filter(({ uid }) => visibleIndexes === null || matchesAny(visibleIndexes, uid))
    const results = visible.slice(offset, offset + limit).map(indexView)
    return sendJson(reply, { results, offset, limit, total: visible.length })
  })

  app.post('/indexes', async (request, reply) => {
    const access = await auth.require(request.headers.authorization, 'indexes.create')
    const { uid, primaryKey } = await jsonBody(request, options.payloadBytesMax, creationBody)
    if (!access.allows(uid)) throw access.refusal(uid)
    const content = { kind: 'indexCreation', primaryKey } as const
    return sendSummary(reply, await tasks.enqueue({ indexUid: uid, type: 'indexCreation', content }))
  })

  app.get('/indexes/:indexUid', async (request, reply) => {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'indexes.get', uid)
    return sendJson(reply, indexView(requireIndex(tasks, requireIndexUid(uid))))
  })

  app.patch('/indexes/:indexUid', async (request, reply) => {
    const uid = param(request, 'indexUid')
    const access = await auth.require(request.headers.authorization, 'indexes.update', uid)
    const { primaryKey, uid: newUid } = await jsonBody(request, options.payloadBytesMax, updateBody)
    requireIndexUid(uid)
    // Moving an index out of the key's reach would be a way around its limits.
    if (newUid !== null && !access.allows(newUid)) throw access.refusal(newUid)
    const content = { kind: 'indexUpdate', primaryKey, newUid } as const
    return sendSummary(reply, await tasks.enqueue({ indexUid: uid, type: 'indexUpdate', content }))
  })

  app.delete('/indexes/:indexUid', async (request, reply) => {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'indexes.delete', uid)
    requireIndexUid(uid)
    const content = { kind: 'indexDeletion' } as const
    return sendSummary(reply, await tasks.enqueue({ indexUid: uid, type: 'indexDeletion', content }))
  })

  app.post('/indexes/:indexUid/compact', async (request, reply) => {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'indexes.compact', uid)
    requireIndexUid(uid)
    const content = { kind: 'indexCompaction' } as const
    return sendSummary(reply, await tasks.enqueue({ indexUid: uid, type: 'indexCompaction', content }))
  })

  app.get('/indexes/:indexUid/stats', async (request, reply) => {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'stats.get', uid)
    const wanted = readQuery(rawQuery(request), statsParameters)
    const { view } = await reading(tasks, requireIndexUid(uid), (entry) =>
      indexStats(services, entry, wanted),
    )
    return sendJson(reply, view)
  })

  app.post('/indexes/:indexUid/fields', async (request, reply) => {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'fields.post', uid)
    const { offset, limit, filter } = await jsonBody(request, options.payloadBytesMax, fieldsBody)
    const [names, settings] = await reading(tasks, uid, ({ id }) =>
      Promise.all([engine.fields(id), engine.settings(id)]),
    )
    const views = fieldViews(names, settings, filter)
    return sendJson(reply, {
      results: views.slice(offset, offset + limit),
      offset,
      limit,
      total: views.length,
    })
  })
}

function indexView({ uid, createdAt, updatedAt, primaryKey }: IndexEntry): Readonly<Record<string, unknown>> {
  return { uid, createdAt, updatedAt, primaryKey }
}
