/**
 * Validates, merges and renders settings in the form of JSON text.
 *
 * Settings can have a hundred thousand words. Only these functions parse, merge or write them. Arguments and results
 * are text, bytes or short, so that `SettingsThread` can run these functions on another thread.
 */
import { type JsonLimits, readJson, readNode } from '../parse/index.js'
import type { SettingsFeatures } from './embedders.js'
import { type SettingsFacts, settingsFacts, withoutSource } from './facts.js'
import { defaultIndexSettings, type IndexSettings } from './index-settings.js'
import { mergeSettings, renderSetting, renderSettings } from './merge.js'
import { type Remakes, remakesBetween } from './remakes.js'
import { changedLocalRerankers, type RerankerFields } from './rerankers.js'
import {
  type SettingName,
  type SettingsChange,
  settingRoutes,
  settingsBody,
  settingsChange,
} from './validate.js'

/** A validated change of settings, as JSON texts. */
export interface SettingsUpdate {
  /** The sent settings in canonical form, stored with the task; null resets. */
  readonly patch: string
  /** The `details` of the task. */
  readonly details: string
}

/** Options for reading a body with settings. */
export interface SettingsRequest {
  /** The setting of a single-setting route; null: `PATCH /settings`. */
  readonly name: SettingName | null
  readonly limits: JsonLimits
  readonly features: SettingsFeatures
}

export interface ReadSettings {
  readonly update: SettingsUpdate
  /** Facts for usage statistics. */
  readonly facts: SettingsFacts
  /** Embedders without a source in the request, for usage statistics. */
  readonly sourceless: readonly string[]
}

export type EmbeddersByName = IndexSettings['embedders']

/** Settings after a patch. The caller completes the embedders, which may need calls to their providers. */
export interface MergedSettings {
  /** JSON text of the complete settings up to the value of `embedders`. */
  readonly head: string
  /** JSON text of the complete settings after the value of `embedders`. */
  readonly tail: string
  readonly embedders: EmbeddersByName
  readonly embeddersBefore: EmbeddersByName
  /** Rerankers with a model here that are new or changed. The caller checks that their models can be used. */
  readonly changedLocalRerankers: Readonly<Record<string, RerankerFields>>
  readonly remakes: Remakes
  /** True if these settings may conflict with stored documents. */
  readonly mayConflictWithDocuments: boolean
}

/** Settings as an object, from their JSON text. */
export const parsedSettings = (text: string): IndexSettings => JSON.parse(text) as IndexSettings

/** Reads and validates a body. @throws ApiError for the first mistake of the body, or `feature_not_enabled` */
export function readSettings(body: Uint8Array, { name, limits, features }: SettingsRequest): ReadSettings {
  const type = name === null ? settingsBody : settingRoutes.find((route) => route.name === name)!.body
  const sent = readNode(readJson(body, limits), type)
  return {
    update: updateOf(settingsChange(sent, features)),
    facts: settingsFacts(sent),
    sourceless: withoutSource(sent),
  }
}

/** Converts a change to texts. Both are the same string if they are equal, as in most changes. */
export function updateOf({ patch, details }: SettingsChange): SettingsUpdate {
  const text = JSON.stringify(patch)
  const isShownAsStored = Object.entries(patch).every(([name, value]) => details[name] === value)
  return { patch: text, details: isShownAsStored ? text : JSON.stringify(details) }
}

/**
 * Merges a patch into settings.
 * @param current the complete settings; null: the settings of a new index
 * @throws ApiError for a conflict with the current settings
 */
export function mergedSettings(current: string | null, patch: string): MergedSettings {
  const before = current === null ? defaultIndexSettings : parsedSettings(current)
  const changes = JSON.parse(patch) as Readonly<Record<string, unknown>>
  const merged = mergeSettings(before, changes)
  const members = Object.entries(merged)
  const at = members.findIndex(([name]) => name === 'embedders')
  const [front, behind] = [members.slice(0, at), members.slice(at + 1)].map((some) =>
    JSON.stringify(Object.fromEntries(some)),
  ) as [string, string]
  return {
    head: `${front.slice(0, -1)},"embedders":`,
    tail: `,${behind.slice(1)}`,
    embedders: merged.embedders,
    embeddersBefore: before.embedders,
    changedLocalRerankers: changedLocalRerankers(before.rerankers ?? {}, merged.rerankers ?? {}),
    remakes: remakesBetween(before, merged),
    mayConflictWithDocuments: asksDocuments(changes),
  }
}

/** Returns the JSON text of merged settings with completed embedders. */
export const completeSettings = ({ head, tail }: MergedSettings, embedders: EmbeddersByName): string =>
  `${head}${JSON.stringify(embedders)}${tail}`

/** Returns true if a patch may conflict with stored documents. */
function asksDocuments(patch: Readonly<Record<string, unknown>>): boolean {
  const { embedders = null, filterableAttributes = null, sortableAttributes = null } = patch
  return embedders !== null || /_geo|\*/.test(JSON.stringify([filterableAttributes, sortableAttributes]))
}

/** Returns settings in the form of their routes, as JSON text. @param name null: all settings */
export function renderedSettings(
  current: string,
  name: SettingName | null,
  features: SettingsFeatures,
): string {
  const settings = parsedSettings(current)
  const shown = name === null ? renderSettings(settings, features) : renderSetting(settings, name)
  return JSON.stringify(shown)
}
