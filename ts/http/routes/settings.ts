import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import {
  type IndexSettings,
  renderSetting,
  renderSettings,
  resetAllSettings,
  resetSetting,
  type SentSettings,
  type SettingsChange,
  settingsBody,
  settingsChange,
  settingRoutes as settingTable,
} from '../../settings/index.js'
import { jsonBody } from '../body.js'
import { param, reading, requireIndexUid, sendJson, sendSummary } from '../exchange.js'
import type { Type } from '../parse/index.js'
import type { RouteServices } from '../services.js'

/** The settings of an index, whole and one by one. */
export const settingsRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, engine, tasks, features, options } = services
  const path = '/indexes/:indexUid/settings'

  app.get(path, async (request, reply) =>
    sendJson(reply, renderSettings(await stored(request), features.flags)),
  )
  app.patch(path, (request, reply) => write(request, reply, settingsBody))
  app.delete(path, (request, reply) => reset(request, reply, resetAllSettings()))

  for (const { segment, name, verb, body } of settingTable) {
    const url = `${path}/${segment}`
    app.get(url, async (request, reply) => sendJson(reply, renderSetting(await stored(request), name)))
    app.route({
      method: verb,
      url,
      handler: (request, reply) => write(request, reply, body),
    })
    app.delete(url, (request, reply) => reset(request, reply, resetSetting(name)))
  }

  async function stored(request: FastifyRequest): Promise<IndexSettings> {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'settings.get', uid)
    return reading(tasks, requireIndexUid(uid), ({ id }) => engine.settings(id))
  }

  async function write(
    request: FastifyRequest,
    reply: FastifyReply,
    body: Type<SentSettings>,
  ): Promise<FastifyReply> {
    const uid = param(request, 'indexUid')
    const access = await auth.require(request.headers.authorization, 'settings.update', uid)
    const sent = await jsonBody(request, options.payloadBytesMax, body)
    const change = settingsChange(sent, features.flags)
    return enqueue(reply, requireIndexUid(uid), change, false, access.mayCreate(uid))
  }

  async function reset(
    request: FastifyRequest,
    reply: FastifyReply,
    change: SettingsChange,
  ): Promise<FastifyReply> {
    const uid = param(request, 'indexUid')
    await auth.require(request.headers.authorization, 'settings.update', uid)
    return enqueue(reply, requireIndexUid(uid), change, true, false)
  }

  async function enqueue(
    reply: FastifyReply,
    indexUid: string,
    { patch, details }: SettingsChange,
    isReset: boolean,
    mayCreateIndex: boolean,
  ): Promise<FastifyReply> {
    const content = { kind: 'settings', patch, details, isReset, mayCreateIndex } as const
    return sendSummary(reply, await tasks.enqueue({ indexUid, type: 'settingsUpdate', content }))
  }
}
