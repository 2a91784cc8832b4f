import type { FastifyPluginAsync } from 'fastify'
import { matchesAny } from '../../auth/index.js'
import type { Engine } from '../../engine/index.js'
import { reindexing } from '../../instance/index.js'
import {
  creationBody,
  defaulted,
  fieldsBody,
  integer,
  listedFields,
  readIndex,
  requireIndex,
  requireIndexUid,
  updateBody,
} from '../../operations/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { field, index, pageOf, sendJson, indexStats as statsAnswer } from '../answers/index.js'
import { gathered, mergedIndexes, passNamed } from '../cells/index.js'
import { serveTask } from '../following/index.js'
import { recordUse } from '../metrics/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { indexStats, statsParameters } from '../views/index.js'

const listParameters = {
  offset: defaulted(integer(), 0, 'invalid_index_offset'),
  limit: defaulted(integer(), 20, 'invalid_index_limit'),
}

const one = '/indexes/:indexUid'

const list = {
  method: 'GET',
  url: '/indexes',
  summary: 'List the indexes that the caller may see',
  actions: ['indexes.get'],
  query: listParameters,
  answers: { 200: pageOf(index) },
} as const
const create = {
  method: 'POST',
  url: '/indexes',
  summary: 'Create an index',
  actions: ['indexes.create'],
  body: creationBody,
} as const
const get = {
  method: 'GET',
  url: one,
  summary: 'Get one index',
  actions: ['indexes.get'],
  answers: { 200: index },
} as const
const update = {
  method: 'PATCH',
  url: one,
  summary: 'Rename an index or set its primary key',
  actions: ['indexes.update'],
  body: updateBody,
} as const
const remove = {
  method: 'DELETE',
  url: one,
  summary: 'Delete an index',
  actions: ['indexes.delete'],
} as const
const compact = {
  method: 'POST',
  url: `${one}/compact`,
  summary: 'Give back disk space that an index no longer needs',
  actions: ['indexes.compact'],
} as const
const reindex = {
  method: 'POST',
  url: `${one}/reindex`,
  summary: 'Cut all documents into words again, for example after an upgrade',
  actions: ['settings.update'],
} as const
const stats = {
  method: 'GET',
  url: `${one}/stats`,
  summary: 'Count what an index holds',
  actions: ['stats.get'],
  query: statsParameters,
  answers: { 200: statsAnswer },
} as const
const fields = {
  method: 'POST',
  url: `${one}/fields`,
  summary: 'List the fields of the documents, with what the settings say about each',
  actions: ['fields.post'],
  body: fieldsBody,
  answers: { 200: pageOf(field) },
} as const

/** Indexes: list, create, rename, delete, compact, statistics, fields. */
export const indexRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { engine, tasks, cells = null } = services

  serve(app, services, list, async ({ request, reply, access: { visibleIndexes }, query }) => {
    const { offset, limit } = query
    const end = Math.min(offset + limit, Number.MAX_SAFE_INTEGER)
    const others = await gathered(request, services, `/indexes?limit=${end}`)
    const visible = tasks
      .indexes()
      .filter(({ uid }) => visibleIndexes === null || matchesAny(visibleIndexes, uid))
    const from = others.length === 0 ? offset : 0
    const results = visible.slice(from, end).map((entry) => indexView(engine, entry))
    if (others.length > 0)
      return sendJson(reply, mergedIndexes({ results, total: visible.length }, others, query))
    return sendJson(reply, { results, offset, limit, total: visible.length })
  })

  serveTask(app, services, create, async ({ request, reply, access, body: { uid, primaryKey } }) => {
    if (!access.allows(uid)) throw access.refusal(uid)
    const sent = { uids: [uid], code: 'invalid_index_uid', body: { uid, primaryKey } } as const
    if (await passNamed(request, reply, cells, sent)) return { passed: reply }
    const content = { kind: 'indexCreation', primaryKey } as const
    const summary = await tasks.enqueue({ indexUid: uid, type: 'indexCreation', content })
    recordUse(services, request, 'indexCreated', { primary_key: primaryKey })
    return summary
  })

  serve(app, services, get, ({ reply, indexUid }) =>
    sendJson(reply, indexView(engine, requireIndex(tasks, requireIndexUid(indexUid)))),
  )

  serveTask(app, services, update, async ({ request, access, indexUid, body }) => {
    const { primaryKey, uid: newUid } = body
    requireIndexUid(indexUid)
    if (newUid !== null) cells?.requireOne([indexUid, newUid], 'invalid_index_uid')
    // A key must not rename an index to a uid that the key does not allow.
    if (newUid !== null && !access.allows(newUid)) throw access.refusal(newUid)
    const content = { kind: 'indexUpdate', primaryKey, newUid } as const
    const summary = await tasks.enqueue({ indexUid, type: 'indexUpdate', content })
    recordUse(services, request, 'indexUpdated', { primary_key: primaryKey })
    return summary
  })

  serveTask(app, services, remove, async ({ indexUid }) => {
    requireIndexUid(indexUid)
    const content = { kind: 'indexDeletion' } as const
    return tasks.enqueue({ indexUid, type: 'indexDeletion', content })
  })

  serveTask(app, services, compact, async ({ request, indexUid }) => {
    recordUse(services, request, 'indexCompacted', {})
    requireIndexUid(indexUid)
    const content = { kind: 'indexCompaction' } as const
    return tasks.enqueue({ indexUid, type: 'indexCompaction', content })
  })

  serveTask(app, services, reindex, async ({ indexUid }) =>
    tasks.enqueue(reindexing(requireIndexUid(indexUid))),
  )

  serve(app, services, stats, async ({ request, reply, indexUid, query }) => {
    recordUse(services, request, 'statsSeen', { per_index_uid: true })
    const read = (entry: IndexEntry) => indexStats(services, entry, query)
    const { view } = await readIndex(tasks, requireIndexUid(indexUid), read)
    return sendJson(reply, view)
  })

  serve(app, services, fields, async ({ reply, indexUid, body }) => {
    const page = await readIndex(tasks, indexUid, (entry) => listedFields(engine, entry, body))
    return sendJson(reply, page)
  })
}

/** Returns an index for answers. A damaged index has a member `damage` with the reason. */
function indexView(engine: Engine, entry: IndexEntry): Readonly<Record<string, unknown>> {
  const { uid, id, createdAt, updatedAt, primaryKey } = entry
  const damage = engine.damage(id)
  return { uid, createdAt, updatedAt, primaryKey, ...(damage !== null && { damage }) }
}
