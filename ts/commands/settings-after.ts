/** What settings would come to if others were sent, by the rules of the server itself. */
import { defaultJsonLimits, readJson, readNode } from '../parse/index.js'
import {
  defaultIndexSettings,
  type IndexSettings,
  mergeSettings,
  renderSettings,
  settingRoutes,
  settingsBody,
  settingsChange,
} from '../settings/index.js'
import type { JsonObject } from './json-argument.js'

/** Whether a feature is on is for the server to say. */
const features = { foreignKeys: true, chatCompletions: true, multimodal: true, compositeEmbedders: true }

/**
 * Settings as an API shows them, before and after `sent` is merged into them.
 * @param found as the server shows them; those that this version does not know are left out
 * @throws ApiError for the first mistake of `sent`
 */
export function settingsAfter(
  found: JsonObject,
  sent: JsonObject,
): { readonly before: JsonObject; readonly after: JsonObject } {
  const known = Object.fromEntries(settingRoutes.map(({ name }) => [name, found[name]]))
  const before = merged(defaultIndexSettings, known)
  const after = merged(before, sent)
  return { before: renderSettings(before, features), after: renderSettings(after, features) }
}

function merged(settings: IndexSettings, sent: object): IndexSettings {
  const body = readNode(readJson(Buffer.from(JSON.stringify(sent)), defaultJsonLimits), settingsBody)
  return mergeSettings(settings, settingsChange(body, features).patch)
}
