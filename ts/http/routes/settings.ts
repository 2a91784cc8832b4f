import type { FastifyInstance, FastifyPluginAsync, FastifyReply } from 'fastify'
import type { Schema, Type } from '../../requests/index.js'
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
import { sendJson, sendSummary, taskSummary } from '../answers/index.js'
import { readIndex, requireIndexUid } from '../index-lookup.js'
import { recordUse, settingsFacts } from '../metrics/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

const path = '/indexes/:indexUid/settings'

/** A URL with routes to read, change and reset all settings of an index, or one of them. */
interface SettingsResource {
  readonly url: string
  /** Its name in summaries: `the settings`, `the setting stopWords`. */
  readonly what: string
  readonly verb: 'PUT' | 'PATCH'
  readonly body: Type<SentSettings>
  readonly shown: Schema
  readonly render: (settings: IndexSettings) => unknown
  readonly reset: () => SettingsChange
}

/** The settings of an index, all together and one by one. */
export const settingsRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { features } = services
  resource(app, services, {
    url: path,
    what: 'the settings',
    verb: 'PATCH',
    body: settingsBody,
    shown: settingsBody.schema,
    render: (settings) => renderSettings(settings, features.flags),
    reset: resetAllSettings,
  })
  for (const { segment, name, verb, body } of settingTable) {
    resource(app, services, {
      url: `${path}/${segment}`,
      what: `the setting ${name}`,
      verb,
      body,
      shown: body.schema,
      render: (settings) => renderSetting(settings, name),
      reset: () => resetSetting(name),
    })
  }
}

function resource(app: FastifyInstance, services: RouteServices, one: SettingsResource): void {
  const { engine, features, tasks } = services
  const { url, what, verb, body, shown, render, reset } = one
  const answers = { 202: taskSummary } as const

  const get = {
    method: 'GET',
    url,
    summary: `Get ${what}`,
    actions: ['settings.get'],
    answers: { 200: shown },
  } as const
  serve(app, services, get, async ({ reply, indexUid }) =>
    sendJson(
      reply,
      render(await readIndex(tasks, requireIndexUid(indexUid), ({ id }) => engine.settings(id))),
    ),
  )

  const actions = ['settings.update'] as const
  const write = { method: verb, url, summary: `Change ${what}`, actions, body, answers } as const
  serve(app, services, write, async ({ request, reply, access, indexUid, body: sent }) => {
    recordUse(services, request, 'settingsUpdated', settingsFacts(sent))
    const change = settingsChange(sent, features.flags)
    return enqueue(reply, requireIndexUid(indexUid), change, false, access.mayCreate(indexUid))
  })

  const forget = { method: 'DELETE', url, summary: `Reset ${what}`, actions, answers } as const
  serve(app, services, forget, ({ reply, indexUid }) =>
    enqueue(reply, requireIndexUid(indexUid), reset(), true, false),
  )

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
