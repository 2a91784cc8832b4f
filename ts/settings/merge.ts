import type { EmbedderFields } from './embedder-rules.js'
import {
  defaultDocumentTemplate,
  mergeEmbedders,
  renderEmbedder,
  type SettingsFeatures,
} from './embedders.js'
import { defaultIndexSettings, type IndexSettings } from './index-settings.js'
import { mergeRerankers, type RerankerFields, renderRerankers } from './rerankers.js'
import { checkAttributeWeights, checkChatTemplate, checkTypoWordSizes } from './setting-types.js'
import { ownSettings, type SettingName, settingRoutes } from './validate.js'

type JsonObject = Readonly<Record<string, unknown>>

/**
 * Returns the complete settings after a patch. Values replace, nested objects are merged key by key, and null resets.
 * @param patch from `settingsChange`
 * @throws ApiError for a conflict with the stored settings, such as typo sizes in the wrong order
 */
export function mergeSettings(current: IndexSettings, patch: JsonObject): IndexSettings {
  const merged = Object.fromEntries(
    settingRoutes.map(({ name }) => [
      name,
      Object.hasOwn(patch, name) ? merge(name, current[name], patch[name]) : current[name],
    ]),
  ) as unknown as IndexSettings
  const { oneTypo, twoTypos } = merged.typoTolerance.minWordSizeForTypos
  checkTypoWordSizes(oneTypo, twoTypos)
  // Also without new weights: a dump or a copy sends both settings, and would be refused later.
  if (['attributeWeights', 'searchableAttributes'].some((name) => Object.hasOwn(patch, name))) {
    checkAttributeWeights(Object.keys(merged.attributeWeights ?? {}), merged.searchableAttributes)
  }
  if (typeof merged.chat.documentTemplate === 'string') checkChatTemplate(merged.chat.documentTemplate)
  return merged
}

function merge(name: SettingName, current: unknown, patch: unknown): unknown {
  if (patch === null) return defaultIndexSettings[name]
  switch (name) {
    case 'typoTolerance':
      return mergeTypoTolerance(current as JsonObject, patch as JsonObject)
    case 'faceting':
      return mergeFaceting(current as JsonObject, patch as JsonObject)
    case 'pagination':
      return mergeKeys(current as JsonObject, patch as JsonObject, defaultIndexSettings.pagination)
    case 'embedders':
      return mergeEmbedders(
        current as Readonly<Record<string, EmbedderFields>>,
        patch as Readonly<Record<string, EmbedderFields | null>>,
      )
    case 'rerankers':
      return mergeRerankers(
        (current ?? {}) as Readonly<Record<string, RerankerFields>>,
        patch as Readonly<Record<string, JsonObject | null>>,
      )
    case 'chat':
      return mergeChat(current as JsonObject, patch as JsonObject)
    default:
      return patch
  }
}

/** Merges the keys of `patch` into `current`. null sets the default of a key, or removes a key without a default. */
function mergeKeys(current: JsonObject, patch: JsonObject, defaults: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...current }
  for (const [name, value] of Object.entries(patch)) {
    if (value !== null) merged[name] = value
    else if (Object.hasOwn(defaults, name)) merged[name] = defaults[name]
    else delete merged[name]
  }
  return merged
}

function mergeTypoTolerance(current: JsonObject, patch: JsonObject): JsonObject {
  const defaults = defaultIndexSettings.typoTolerance
  const merged = mergeKeys(current, patch, defaults)
  const sizes = patch.minWordSizeForTypos
  if (sizes === undefined || sizes === null) return merged
  return {
    ...merged,
    minWordSizeForTypos: mergeKeys(
      current.minWordSizeForTypos as JsonObject,
      sizes as JsonObject,
      defaults.minWordSizeForTypos,
    ),
  }
}

function mergeFaceting(current: JsonObject, patch: JsonObject): JsonObject {
  const merged = mergeKeys(current, patch, defaultIndexSettings.faceting)
  const { '*': every = 'alpha', ...named } = merged.sortFacetValuesBy as JsonObject
  return { ...merged, sortFacetValuesBy: { '*': every, ...named } }
}

function mergeChat(current: JsonObject, patch: JsonObject): JsonObject {
  const merged = mergeKeys(current, patch, {})
  const parameters = patch.searchParameters
  if (parameters === undefined || parameters === null) return merged
  const before = (current.searchParameters ?? {}) as JsonObject
  return { ...merged, searchParameters: mergeKeys(before, parameters as JsonObject, {}) }
}

/**
 * Returns the settings for `GET /settings`, with masked secrets and keys in the order of the API. `foreignKeys` and
 * `chat` appear only while their features are on, and settings that the API does not know only if they are set.
 */
export function renderSettings(settings: IndexSettings, features: SettingsFeatures): JsonObject {
  const hidden: readonly string[] = [
    ...(features.foreignKeys ? [] : ['foreignKeys']),
    ...(features.chatCompletions ? [] : ['chat']),
    ...defaultOwnSettings(settings),
  ]
  return Object.fromEntries(
    settingRoutes
      .filter(({ name }) => !hidden.includes(name))
      .map(({ name }) => [name, renderSetting(settings, name)]),
  )
}

/** Returns the names of the settings that only siftd has and that have their default. */
export const defaultOwnSettings = (settings: IndexSettings): readonly SettingName[] =>
  ownSettings.filter((name) => isDefault(settings, name))

function isDefault(settings: IndexSettings, name: SettingName): boolean {
  const value = settings[name]
  return value === undefined || JSON.stringify(value) === JSON.stringify(defaultIndexSettings[name])
}

/** Returns a setting for its own route, even while its feature is off. */
export function renderSetting(settings: IndexSettings, name: SettingName): unknown {
  if (name === 'embedders') {
    const entries = Object.entries(settings.embedders)
    return Object.fromEntries(entries.map(([embedder, fields]) => [embedder, renderEmbedder(fields)]))
  }
  if (name === 'rerankers') return renderRerankers(settings.rerankers ?? {})
  if (name === 'chat') {
    return {
      description: '',
      documentTemplate: defaultDocumentTemplate,
      documentTemplateMaxBytes: 400,
      searchParameters: {},
      ...settings.chat,
    }
  }
  return settings[name] ?? defaultIndexSettings[name]
}
