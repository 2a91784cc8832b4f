import { randomUUID } from 'node:crypto'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { jsonBody } from '../body.js'
import { param, sendJson } from '../exchange.js'
import { inTurn } from '../in-turn.js'
import {
  badValue,
  immutable,
  isUuid,
  mapOf,
  nullable,
  refined,
  setting,
  shape,
  string,
  type Type,
} from '../parse/index.js'
import { redactedAuthorization } from '../secrets.js'
import type { RouteServices } from '../services.js'

/** Under this name the webhooks are kept in the instance store, by uuid. */
const STORED_AS = 'webhooks'
/** The webhook of the command line. */
const INSTANCE_UUID = '00000000-0000-0000-0000-000000000000'
const WEBHOOKS_MAX = 20
const HEADERS_MAX = 200

interface Webhook {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}
type Webhooks = ReadonlyMap<string, Webhook>

const url: Type<string> = refined(string, (text, at) => {
  if (!URL.canParse(text)) throw badValue(`\`${text}\` is not an absolute URL`, at)
  return text
})
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
  url: setting(url, 'invalid_webhook_url'),
  headers: setting(headers, 'invalid_webhook_headers'),
  uuid: immutable('immutable_webhook_uuid'),
  isEditable: immutable('immutable_webhook_is_editable'),
})

/** Who is told about finished tasks. */
export const webhookRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, instance, options } = services
  const turn = inTurn()

  app.get('/webhooks', async (request, reply) => {
    await auth.require(request.headers.authorization, 'webhooks.get')
    const all = [...instanceWebhook(), ...(await stored())].sort(([a], [b]) => (a < b ? -1 : 1))
    return sendJson(reply, { results: all.map(([uuid, webhook]) => view(uuid, webhook)) })
  })

  app.post('/webhooks', async (request, reply) => {
    await auth.require(request.headers.authorization, 'webhooks.create')
    const change = await jsonBody(request, options.payloadBytesMax, body)
    if (!change.url) throw new ApiError('invalid_webhook_url', 'missing field `url`: a webhook needs one')
    const uuid = randomUUID()
    const webhook = { url: change.url, headers: mergeHeaders({}, change.headers) }
    await changeStored((webhooks) => {
      if (webhooks.size >= WEBHOOKS_MAX) {
        throw new ApiError(
          'invalid_webhooks',
          `there are ${WEBHOOKS_MAX} webhooks already, which is the limit`,
        )
      }
      webhooks.set(uuid, webhook)
    })
    return sendJson(reply, view(uuid, webhook), 201)
  })

  app.get('/webhooks/:uuid', async (request, reply) => {
    await auth.require(request.headers.authorization, 'webhooks.get')
    const uuid = uuidOf(request)
    const webhook = instanceWebhook().get(uuid) ?? (await stored()).get(uuid)
    if (webhook === undefined) throw notFound(uuid)
    return sendJson(reply, view(uuid, webhook))
  })

  app.patch('/webhooks/:uuid', async (request, reply) => {
    await auth.require(request.headers.authorization, 'webhooks.update')
    const change = await jsonBody(request, options.payloadBytesMax, body)
    const uuid = editable(uuidOf(request))
    const changed = await changeStored((webhooks) => {
      const known = webhooks.get(uuid)
      if (known === undefined) throw notFound(uuid)
      if (change.url === null) {
        throw new ApiError('invalid_webhook_url', 'a webhook needs a `url`: null is none')
      }
      const kept = mergeHeaders(known.headers, change.headers)
      webhooks.set(uuid, { url: change.url ?? known.url, headers: kept })
    })
    return sendJson(reply, view(uuid, changed.get(uuid)!))
  })

  app.delete('/webhooks/:uuid', async (request, reply) => {
    await auth.require(request.headers.authorization, 'webhooks.delete')
    const uuid = editable(uuidOf(request))
    await changeStored((webhooks) => {
      if (!webhooks.delete(uuid)) throw notFound(uuid)
    })
    return reply.code(204).send()
  })

  async function stored(): Promise<Webhooks> {
    return new Map(Object.entries(((await instance.value(STORED_AS)) ?? {}) as Record<string, Webhook>))
  }

  /** Changes what is stored, or throws and leaves it as it was. */
  function changeStored(change: (webhooks: Map<string, Webhook>) => void): Promise<Webhooks> {
    return turn(async () => {
      const webhooks = new Map(await stored())
      change(webhooks)
      await instance.putValue(STORED_AS, Object.fromEntries(webhooks))
      return webhooks
    })
  }

  function instanceWebhook(): Webhooks {
    const given = options.taskWebhook
    if (given === null) return new Map()
    const sent: Record<string, string> =
      given.authorization === null ? {} : { Authorization: given.authorization }
    return new Map([[INSTANCE_UUID, { url: given.url, headers: sent }]])
  }
}

function uuidOf(request: FastifyRequest): string {
  const text = param(request, 'uuid')
  if (!isUuid(text)) throw new ApiError('invalid_webhook_uuid', `\`${text}\` is not a valid UUID`)
  return text.toLowerCase()
}

function editable(uuid: string): string {
  if (uuid === INSTANCE_UUID) {
    throw new ApiError('immutable_webhook', `the webhook \`${uuid}\` was set at launch and cannot be changed`)
  }
  return uuid
}

function mergeHeaders(
  known: Webhook['headers'],
  change: ReadonlyMap<string, string | null> | null | undefined,
): Webhook['headers'] {
  const merged = new Map(change === null ? [] : Object.entries(known))
  for (const [name, value] of change ?? []) {
    if (value === null) merged.delete(name)
    else merged.set(name, value)
  }
  if (merged.size > HEADERS_MAX) {
    const message = `a webhook has at most ${HEADERS_MAX} headers, ${merged.size} were given`
    throw new ApiError('invalid_webhook_headers', message)
  }
  return Object.fromEntries(merged)
}

function view(uuid: string, webhook: Webhook): unknown {
  const shown = Object.entries(webhook.headers).map(([name, value]) => [
    name,
    name.toLowerCase() === 'authorization' ? redactedAuthorization(value) : value,
  ])
  return { uuid, isEditable: uuid !== INSTANCE_UUID, url: webhook.url, headers: Object.fromEntries(shown) }
}

function notFound(uuid: string): ApiError {
  return new ApiError('webhook_not_found', `there is no webhook \`${uuid}\``)
}
