/**
 * Settings as JSON text: what is sent, what is stored, what an index has.
 *
 * A hundred thousand words are parsed, validated, merged and written by these functions alone. All they take and give is
 * text, bytes or small, so that another thread can run them; see `SettingsThread`.
 */
import { type JsonLimits, readJson, readNode } from '../parse/index.js'
import type { SettingsFeatures } from './embedders.js'
import { type SettingsFacts, settingsFacts } from './facts.js'
import { defaultIndexSettings, type IndexSettings } from './index-settings.js'
import { mergeSettings, renderSetting, renderSettings } from './merge.js'
import { type Remakes, remakesBetween } from './remakes.js'
import {
  type SettingName,
  type SettingsChange,
  settingRoutes,
  settingsBody,
  settingsChange,
} from './validate.js'

/** A validated change as JSON texts: what to store with its task, and what to show of it. */
export interface SettingsUpdate {
  /** Keys sent, in canonical form; null resets. */
  readonly patch: string
  /** The task's `details`. */
  readonly details: string
}

/** How a body of settings is to be read. */
export interface SettingsRequest {
  /** The setting whose own route got the body; null: the body is that of `PATCH /settings`. */
  readonly name: SettingName | null
  readonly limits: JsonLimits
  readonly features: SettingsFeatures
}

export interface ReadSettings {
  readonly update: SettingsUpdate
  /** What is counted of it about use. */
  readonly facts: SettingsFacts
}

export type EmbeddersByName = IndexSettings['embedders']

/** Settings after a patch. The caller completes the embedders, whose providers may have to be asked. */
export interface MergedSettings {
  /** JSON text of the complete settings in front of the value of `embedders`, and behind it. */
  readonly head: string
  readonly tail: string
  readonly embedders: EmbeddersByName
  readonly embeddersBefore: EmbeddersByName
  readonly remakes: Remakes
  /** Whether stored documents decide if these settings can be had. */
  readonly askDocuments: boolean
}

/** The JSON text of settings as an object. */
export const parsedSettings = (text: string): IndexSettings => JSON.parse(text) as IndexSettings

/** @throws ApiError the first mistake of the body, or `feature_not_enabled` */
export function readSettings(body: Uint8Array, { name, limits, features }: SettingsRequest): ReadSettings {
  const type = name === null ? settingsBody : settingRoutes.find((route) => route.name === name)!.body
  const sent = readNode(readJson(body, limits), type)
  return { update: updateOf(settingsChange(sent, features)), facts: settingsFacts(sent) }
}

/** A change as texts; mostly both are the same, and then one text. */
export function updateOf({ patch, details }: SettingsChange): SettingsUpdate {
  const text = JSON.stringify(patch)
  const isShownAsStored = Object.entries(patch).every(([name, value]) => details[name] === value)
  return { patch: text, details: isShownAsStored ? text : JSON.stringify(details) }
}

/**
 * The settings that follow on a patch.
 * @param current the complete settings; null: those of a fresh index
 * @throws ApiError for what only shows against the current settings
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
    remakes: remakesBetween(before, merged),
    askDocuments: asksDocuments(changes),
  }
}

/** The JSON text of merged settings that have these embedders. */
export const completeSettings = ({ head, tail }: MergedSettings, embedders: EmbeddersByName): string =>
  `${head}${JSON.stringify(embedders)}${tail}`

/** Whether stored documents decide if a patch can be had. */
function asksDocuments(patch: Readonly<Record<string, unknown>>): boolean {
  const { embedders = null, filterableAttributes = null, sortableAttributes = null } = patch
  return embedders !== null || /_geo|\*/.test(JSON.stringify([filterableAttributes, sortableAttributes]))
}

/** Complete settings as their routes show them, as JSON text. @param name null: all of them */
export function renderedSettings(
  current: string,
  name: SettingName | null,
  features: SettingsFeatures,
): string {
  const settings = parsedSettings(current)
  const shown = name === null ? renderSettings(settings, features) : renderSetting(settings, name)
  return JSON.stringify(shown)
}
