import type { FastifyPluginAsync } from 'fastify'
import { actions, type KeyBook, type KeyRecord } from '../../auth/index.js'
import { jsonBody } from '../body.js'
import { param, rawQuery, sendJson } from '../exchange.js'
import {
  badValue,
  dayStart,
  defaulted,
  immutable,
  indexPattern,
  integer,
  isRfc3339,
  list,
  nullable,
  oneOf,
  optional,
  readQuery,
  refined,
  required,
  setting,
  shape,
  string,
  type Type,
  uuid,
} from '../parse/index.js'
import type { RouteServices } from '../services.js'

/** A moment in the future, kept with its offset; forms without one are UTC. */
const expiry: Type<string> = refined(string, (text, at) => {
  const date = readDate(text)
  const forms =
    'accepted: `2050-01-31`, `2050-01-31T13:00:00`, `2050-01-31 13:00:00` (in UTC), or RFC 3339 such as `2050-01-31T13:00:00+02:00`'
  if (date === null) throw badValue(`\`${text}\` is not a date; ${forms}`, at)
  if (Date.parse(date) <= Date.now()) throw badValue(`\`${text}\` is not in the future`, at)
  return date
})

function readDate(text: string): string | null {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return dayStart(text) === null ? null : `${text}T00:00:00Z`
  if (/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d$/.test(text)) return readDate(`${text}Z`)
  return isRfc3339(text) ? text.replace(/[t ]/, 'T').replace('z', 'Z') : null
}

const creationBody = shape({
  actions: required(list(oneOf(actions)), 'invalid_api_key_actions', 'missing_api_key_actions'),
  indexes: required(list(indexPattern), 'invalid_api_key_indexes', 'missing_api_key_indexes'),
  expiresAt: required(nullable(expiry), 'invalid_api_key_expires_at', 'missing_api_key_expires_at'),
  name: optional(string, 'invalid_api_key_name'),
  description: optional(string, 'invalid_api_key_description'),
  uid: defaulted<string | null>(uuid, null, 'invalid_api_key_uid'),
})
const updateBody = shape({
  name: setting(string, 'invalid_api_key_name'),
  description: setting(string, 'invalid_api_key_description'),
  actions: immutable('immutable_api_key_actions'),
  indexes: immutable('immutable_api_key_indexes'),
  expiresAt: immutable('immutable_api_key_expires_at'),
  createdAt: immutable('immutable_api_key_created_at'),
  updatedAt: immutable('immutable_api_key_updated_at'),
  uid: immutable('immutable_api_key_uid'),
})
const listParameters = {
  offset: defaulted(integer(), 0, 'invalid_api_key_offset'),
  limit: defaulted(integer(), 20, 'invalid_api_key_limit'),
}

/** API keys, addressed by uid or by value. */
export const keyRoutes: FastifyPluginAsync<RouteServices> = async (app, { auth, options }) => {
  app.get('/keys', async (request, reply) => {
    await auth.require(request.headers.authorization, 'keys.get')
    const { offset, limit } = readQuery(rawQuery(request), listParameters)
    const keys = auth.keys.list()
    const results = keys.slice(offset, offset + limit).map((key) => keyView(auth.keys, key))
    return sendJson(reply, { results, offset, limit, total: keys.length })
  })

  app.get('/keys/:key', async (request, reply) => {
    await auth.require(request.headers.authorization, 'keys.get')
    return sendJson(reply, keyView(auth.keys, auth.keys.find(param(request, 'key'))))
  })

  app.post('/keys', async (request, reply) => {
    await auth.require(request.headers.authorization, 'keys.create')
    const body = await jsonBody(request, options.payloadBytesMax, creationBody)
    return sendJson(reply, keyView(auth.keys, await auth.keys.create(body)), 201)
  })

  app.patch('/keys/:key', async (request, reply) => {
    await auth.require(request.headers.authorization, 'keys.update')
    const { name, description } = await jsonBody(request, options.payloadBytesMax, updateBody)
    const updated = await auth.keys.update(param(request, 'key'), { name, description })
    return sendJson(reply, keyView(auth.keys, updated))
  })

  app.delete('/keys/:key', async (request, reply) => {
    await auth.require(request.headers.authorization, 'keys.delete')
    await auth.keys.delete(param(request, 'key'))
    return reply.code(204).send()
  })
}

function keyView(keys: KeyBook, key: KeyRecord): Readonly<Record<string, unknown>> {
  const { name, description, uid, actions, indexes, expiresAt, createdAt, updatedAt } = key
  const value = keys.value(uid)
  return { name, description, key: value, uid, actions, indexes, expiresAt, createdAt, updatedAt }
}
