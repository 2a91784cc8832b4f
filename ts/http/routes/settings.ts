import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import {
  boolean,
  defaulted,
  dryRunJson,
  readIndex,
  requireIndexUid,
  type Schema,
  type Type,
} from '../../operations/index.js'
import {
  resetAllSettings,
  resetSetting,
  type SentSettings,
  type SettingName,
  type SettingsChange,
  type SettingsUpdate,
  settingsBody,
  settingRoutes as settingTable,
  updateOf,
} from '../../settings/index.js'
import type { TaskSummary } from '../../tasks/index.js'
import { sendJsonBytes, settingsComparison } from '../answers/index.js'
import { type UnparsedBody, unparsedBody } from '../body/index.js'
import { type OtherAnswer, serveTask } from '../following/index.js'
import { recordUse } from '../metrics/index.js'
import { type Call, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

const path = '/indexes/:indexUid/settings'

/** A URL with routes to read, change and reset all settings of an index, or one setting. */
interface SettingsResource {
  readonly url: string
  /** Its name in summaries: `the settings`, `the setting stopWords`. */
  readonly what: string
  readonly verb: 'PUT' | 'PATCH'
  /** null: all settings. */
  readonly name: SettingName | null
  readonly body: Type<SentSettings>
  readonly shown: Schema
  readonly reset: () => SettingsChange
}

/** The settings of an index, all together and separately. */
export const settingsRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  resource(app, services, {
    url: path,
    what: 'the settings',
    verb: 'PATCH',
    name: null,
    body: settingsBody,
    shown: settingsBody.schema,
    reset: resetAllSettings,
  })
  for (const { segment, name, verb, body } of settingTable) {
    resource(app, services, {
      url: `${path}/${segment}`,
      what: `the setting ${name}`,
      verb,
      name,
      body,
      shown: body.schema,
      reset: () => resetSetting(name),
    })
  }
}

/** `dryRun`: the request only asks for the cost of its change. */
const changeParameters = { dryRun: defaulted(boolean, false, 'invalid_settings_dry_run') }

type Sent = Call<typeof changeParameters, UnparsedBody>

function resource(app: FastifyInstance, services: RouteServices, one: SettingsResource): void {
  const { auth, engine, features, settingsThread, tasks, usage } = services
  const { url, what, verb, name, body, shown, reset } = one

  const get = {
    method: 'GET',
    url,
    summary: `Get ${what}`,
    actions: ['settings.get'],
    answers: { 200: shown },
  } as const
  serve(app, services, get, async ({ reply, indexUid }) => {
    const settings = await readIndex(tasks, requireIndexUid(indexUid), ({ id }) => engine.settings(id))
    return sendJsonBytes(reply, await settingsThread.render(settings, name, features.flags))
  })

  const actions = ['settings.update'] as const
  const write = {
    method: verb,
    url,
    summary: `Change ${what}`,
    actions,
    query: changeParameters,
    ignoresOthers: true,
    body,
    otherAnswer: settingsComparison,
  } as const
  const change = async ({
    request,
    access,
    indexUid,
    query,
    body: { bytes, limits },
  }: Sent): Promise<TaskSummary | OtherAnswer> => {
    // The answer shows the present settings.
    if (query.dryRun) await auth.require(request.headers.authorization, ['settings.get'], indexUid)
    const { update, facts, sourceless } = await settingsThread.read(bytes, {
      name,
      limits,
      features: features.flags,
    })
    if (query.dryRun)
      return { json: await dryRunJson(requireIndexUid(indexUid), update.patch, services, settingsThread) }
    const sources =
      usage.isOpen && sourceless.length > 0 ? await storedSources(indexUid, update, sourceless) : []
    const summary = await enqueue(requireIndexUid(indexUid), update, false, access.mayCreate(indexUid))
    recordUse(services, request, 'settingsUpdated', facts)
    usage.observe('settingsUpdated', { 'embedders.sources': sources })
    return summary
  }
  // Parse on another thread: settings can have megabytes.
  serveTask(app, services, write, change, unparsedBody)

  const forget = { method: 'DELETE', url, summary: `Reset ${what}`, actions } as const
  serveTask(app, services, forget, async ({ indexUid }) =>
    enqueue(requireIndexUid(indexUid), updateOf(reset()), true, false),
  )

  /** Returns the sources of these embedders after a change; empty if it conflicts with the stored settings. */
  async function storedSources(
    indexUid: string,
    { patch }: SettingsUpdate,
    names: readonly string[],
  ): Promise<readonly string[]> {
    const index = tasks.index(indexUid)
    try {
      const stored = index === null ? null : await engine.settings(index.id)
      const { embedders } = await settingsThread.merge(stored, patch)
      return names.flatMap((name) => (embedders[name]?.source as string | undefined) ?? [])
    } catch {
      // The task will fail for the same reason.
      return []
    }
  }

  function enqueue(
    indexUid: string,
    { patch, details }: SettingsUpdate,
    isReset: boolean,
    mayCreateIndex: boolean,
  ): Promise<TaskSummary> {
    const content = { kind: 'settings', patch, details, isReset, mayCreateIndex } as const
    return tasks.enqueue({ indexUid, type: 'settingsUpdate', content })
  }
}
