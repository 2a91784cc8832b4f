import { createRequire } from 'node:module'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'
import {
  badValue,
  httpUrl,
  immutable,
  isUuid,
  mapOf,
  nullable,
  refined,
  setting,
  shape,
  string,
  type Type,
} from '../../operations/index.js'
import { maskUserInfo } from '../../settings/index.js'
import { LAUNCH_WEBHOOK, type StoredWebhook } from '../../tasks/index.js'
import { listOf, record, sendJson, webhook as webhookAnswer } from '../answers/index.js'
import { recordUse } from '../metrics/index.js'
import { param, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { redactedAuthorization } from '../views/index.js'

// An import of `node:http` also loads its web clients in Node.js 22 and later, which makes each start 5 % slower.
const { validateHeaderName, validateHeaderValue } = createRequire(import.meta.url)(
  'node:http',
) as typeof import('node:http')

const headers: Type<ReadonlyMap<string, string | null>> = refined(mapOf(nullable(string)), (map, at) => {
  for (const [name, value] of map) {
    try {
      validateHeaderName(name)
      if (value !== null) validateHeaderValue(name, value)
    } catch {
      throw badValue(`the header \`${name}\` has a name or value that HTTP does not allow`, at)
    }
  }
  return map
})
const body = shape({
  url: setting(httpUrl, 'invalid_webhook_url'),
  headers: setting(headers, 'invalid_webhook_headers'),
  uuid: immutable('immutable_webhook_uuid'),
  isEditable: immutable('immutable_webhook_is_editable'),
})

/** Webhooks: URLs that are called for finished tasks. */
export const webhookRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { webhooks } = services
  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/webhooks',
      summary: 'List the webhooks',
      actions: ['webhooks.get'],
      answers: { 200: record({ results: listOf(webhookAnswer) }) },
    },
    ({ reply }) => sendJson(reply, { results: webhooks.all().map(view) }),
  )

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/webhooks',
      summary: 'Create a webhook',
      actions: ['webhooks.create'],
      body,
      answers: { 201: webhookAnswer },
    },
    async ({ request, reply, body: { url, headers } }) => {
      if (!url) throw new ApiError('invalid_webhook_url', 'missing field `url`: a webhook needs one')
      const created = await webhooks.create({ url, headers })
      recordUse(services, request, 'webhooksCreated', { webhooks_created: 1 })
      return sendJson(reply, view(created), 201)
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/webhooks/:uuid',
      summary: 'Get one webhook',
      actions: ['webhooks.get'],
      answers: { 200: webhookAnswer },
    },
    async ({ request, reply }) => {
      const uuid = uuidOf(request)
      const webhook = webhooks.get(uuid)
      if (webhook === null) throw new ApiError('webhook_not_found', `there is no webhook \`${uuid}\``)
      return sendJson(reply, view(webhook))
    },
  )

  serve(
    app,
    services,
    {
      method: 'PATCH',
      url: '/webhooks/:uuid',
      summary: 'Change a webhook',
      actions: ['webhooks.update'],
      body,
      answers: { 200: webhookAnswer },
    },
    async ({ request, reply, body: { url, headers } }) => {
      const uuid = uuidOf(request)
      if (url === null) throw new ApiError('invalid_webhook_url', 'a webhook needs a `url`, not null')
      const updated = await webhooks.update(uuid, { url, headers })
      recordUse(services, request, 'webhooksUpdated', { 'webhooks.updated': 1 })
      return sendJson(reply, view(updated))
    },
  )

  serve(
    app,
    services,
    {
      method: 'DELETE',
      url: '/webhooks/:uuid',
      summary: 'Delete a webhook',
      actions: ['webhooks.delete'],
      answers: { 204: null },
    },
    async ({ request, reply }) => {
      await webhooks.remove(uuidOf(request))
      return reply.code(204).send()
    },
  )
}

function uuidOf(request: FastifyRequest): string {
  const text = param(request, 'uuid')
  if (!isUuid(text)) throw new ApiError('invalid_webhook_uuid', `\`${text}\` is not a valid UUID`)
  return text.toLowerCase()
}

function view({ uuid, url, headers }: StoredWebhook): unknown {
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    name.toLowerCase() === 'authorization' ? redactedAuthorization(value) : value,
  ])
  const isEditable = uuid !== LAUNCH_WEBHOOK
  return { uuid, isEditable, url: maskUserInfo(url), headers: Object.fromEntries(shown) }
}
