/** Computes the settings after a change, with the rules of the server. */
import { defaultJsonLimits, readJson, readNode } from '../../parse/index.js'
import {
  defaultIndexSettings,
  type IndexSettings,
  mergeSettings,
  renderSettings,
  settingRoutes,
  settingsBody,
  settingsChange,
} from '../../settings/index.js'
import type { JsonObject } from './json-argument.js'

/** All features are on here. The server refuses settings of features that are off. */
const features = { foreignKeys: true, chatCompletions: true, multimodal: true, compositeEmbedders: true }

/**
 * Returns settings as in API answers, before and after `sent` is merged into them.
 * @param found settings of the server; settings that this version does not know are ignored
 * @throws ApiError for the first mistake in `sent`
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
