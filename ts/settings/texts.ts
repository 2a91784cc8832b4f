/**
 * Here are settings as JSON text: how are they validated, merged with stored ones, and shown?
 *
 * Settings can have a hundred thousand words. No other function parses, merges or writes them. Arguments and results
 * are text, bytes or short, so that `SettingsThread` can run these functions on another thread.
 */
import { type JsonLimits, readJson, readNode } from '../parse/index.js'
import type { SettingsFeatures } from './embedders.js'
import { type SettingsFacts, settingsFacts, withoutSource } from './facts.js'
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

/** A validated change of settings as JSON texts. */
export interface SettingsUpdate {
  /** The settings that were sent, in canonical form, to be stored with the task; null resets. */
  readonly patch: string
  /** The `details` of the task. */
  readonly details: string
}

/** How to read a body with settings. */
export interface SettingsRequest {
  /** The setting whose own route received the body; null: it is the body of `PATCH /settings`. */
  readonly name: SettingName | null
  readonly limits: JsonLimits
  readonly features: SettingsFeatures
}

export interface ReadSettings {
  readonly update: SettingsUpdate
  /** Facts for counting the use of the service. */
  readonly facts: SettingsFacts
  /** The embedders whose source the request does not name, for the same purpose. */
  readonly sourceless: readonly string[]
}

export type EmbeddersByName = IndexSettings['embedders']

/** Settings after a patch. The caller completes the embedders, for which it may have to call their providers. */
export interface MergedSettings {
  /** JSON text of the complete settings up to the value of `embedders`. */
  readonly head: string
  /** JSON text of the complete settings after the value of `embedders`. */
  readonly tail: string
  readonly embedders: EmbeddersByName
  readonly embeddersBefore: EmbeddersByName
  readonly remakes: Remakes
  /** Whether these settings may conflict with stored documents. */
  readonly askDocuments: boolean
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

/** A change as texts. Both texts are the same string if they are equal, as in most changes. */
export function updateOf({ patch, details }: SettingsChange): SettingsUpdate {
  const text = JSON.stringify(patch)
  const isShownAsStored = Object.entries(patch).every(([name, value]) => details[name] === value)
  return { patch: text, details: isShownAsStored ? text : JSON.stringify(details) }
}

/**
 * The settings after a patch.
 * @param current the complete settings; null: those of a new index
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
    remakes: remakesBetween(before, merged),
    askDocuments: asksDocuments(changes),
  }
}

/** The JSON text of merged settings with completed embedders. */
export const completeSettings = ({ head, tail }: MergedSettings, embedders: EmbeddersByName): string =>
  `${head}${JSON.stringify(embedders)}${tail}`

/** Whether a patch may conflict with stored documents. */
function asksDocuments(patch: Readonly<Record<string, unknown>>): boolean {
  const { embedders = null, filterableAttributes = null, sortableAttributes = null } = patch
  return embedders !== null || /_geo|\*/.test(JSON.stringify([filterableAttributes, sortableAttributes]))
}

/** Settings as their routes show them, as JSON text. @param name null: all settings */
export function renderedSettings(
  current: string,
  name: SettingName | null,
  features: SettingsFeatures,
): string {
  const settings = parsedSettings(current)
  const shown = name === null ? renderSettings(settings, features) : renderSetting(settings, name)
  return JSON.stringify(shown)
}
