import type { FastifyPluginAsync } from 'fastify'
import { actions, type KeyBook, type KeyRecord } from '../../auth/index.js'
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
  refined,
  required,
  setting,
  shape,
  string,
  type Type,
  uuid,
  withoutTrailing,
} from '../../operations/index.js'
import { key as keyAnswer, pageOf, sendJson } from '../answers/index.js'
import { sendKey } from '../cells/index.js'
import { param, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

/** A date-time in the future, stored with its UTC offset. A date without an offset is in UTC. */
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
  return isRfc3339(text) ? canonical(text) : null
}

/** Returns the date for answers: at most nine fractional digits without trailing zeros, and `Z` for a zero offset. */
function canonical(date: string): string {
  return date
    .replace(/[t ]/, 'T')
    .replace(/\.(\d{1,9})\d*/, (_, digits: string) =>
      withoutTrailing(withoutTrailing(`.${digits}`, '0'), '.'),
    )
    .replace(/(z|[+-]00:00)$/, 'Z')
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

const one = '/keys/:key'
const browse = {
  method: 'GET',
  url: '/keys',
  summary: 'List the API keys, newest first',
  actions: ['keys.get'],
  query: listParameters,
  answers: { 200: pageOf(keyAnswer) },
} as const
const get = {
  method: 'GET',
  url: one,
  summary: 'Get one API key by uid or value',
  actions: ['keys.get'],
  answers: { 200: keyAnswer },
} as const
const create = {
  method: 'POST',
  url: '/keys',
  summary: 'Create an API key',
  actions: ['keys.create'],
  body: creationBody,
  answers: { 201: keyAnswer },
} as const
const update = {
  method: 'PATCH',
  url: one,
  summary: 'Rename or describe an API key',
  actions: ['keys.update'],
  body: updateBody,
  answers: { 200: keyAnswer },
} as const
const remove = {
  method: 'DELETE',
  url: one,
  summary: 'Delete an API key, at once',
  actions: ['keys.delete'],
  answers: { 204: null },
} as const

/** API keys, addressed by uid or by value. */
export const keyRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { keys } = services.auth
  const { cells = null } = services
  /** True if the keys are those of another cell, which is the only one that changes them. */
  const isCopy = (): boolean => cells !== null && cells.home !== cells.name

  serve(app, services, browse, ({ reply, query: { offset, limit } }) => {
    const all = keys.list()
    const results = all.slice(offset, offset + limit).map((key) => keyView(keys, key))
    return sendJson(reply, { results, offset, limit, total: all.length })
  })

  serve(app, services, get, ({ request, reply }) =>
    sendJson(reply, keyView(keys, keys.find(param(request, 'key')))),
  )

  serve(app, services, create, async ({ reply, body }) => {
    if (isCopy()) return sendJson(reply, keyView(keys, await keys.put({ ...body, uid: body.uid ?? '' })), 201)
    const record = await keys.create(body)
    if (cells !== null) await sendKey(cells, { record })
    return sendJson(reply, keyView(keys, record), 201)
  })

  serve(app, services, update, async ({ request, reply, body: { name, description } }) => {
    const record = await keys.update(param(request, 'key'), { name, description })
    if (cells !== null) await sendKey(cells, { record })
    return sendJson(reply, keyView(keys, record))
  })

  serve(app, services, remove, async ({ request, reply }) => {
    const key = param(request, 'key')
    if (isCopy() && keys.byUid(key) === null) return reply.code(204).send()
    const { uid } = keys.find(key)
    await keys.delete(uid)
    if (cells !== null && !isCopy()) await sendKey(cells, { uid })
    return reply.code(204).send()
  })
}

function keyView(keys: KeyBook, key: KeyRecord): Readonly<Record<string, unknown>> {
  const { name, description, uid, actions, indexes, expiresAt, createdAt, updatedAt } = key
  const value = keys.value(uid)
  return { name, description, key: value, uid, actions, indexes, expiresAt, createdAt, updatedAt }
}
