import { ApiError, type ErrorCode } from '../errors/index.js'
import {
  boolean,
  coded,
  integer,
  named,
  nullable,
  oneOf,
  refined,
  setting,
  shape,
  string,
  type Type,
} from '../parse/index.js'
import { asSet, stringSet, strings } from './common-types.js'
import type { EmbedderFields } from './embedder-rules.js'
import { maskSentEmbedder, notEnabled, requireEmbedderFeatures, type SettingsFeatures } from './embedders.js'
import type { IndexSettings } from './index-settings.js'
import { FOREIGN_KEYS_MAX } from './limits.js'
import { threeLetterLocale } from './locales.js'
import { maskRerankers, rerankers } from './rerankers.js'
import {
  attributeWeights,
  chat,
  compounds,
  embedders,
  faceting,
  filterableAttributes,
  foreignKeys,
  localizedAttributes,
  matchingStrategies,
  pagination,
  rankingRules,
  stemming,
  stopWordLists,
  synonyms,
  typoTolerance,
} from './setting-types.js'
import { normalizedWord } from './typo-words.js'

/** The key of a setting in JSON. */
export type SettingName = keyof IndexSettings

/** The settings of a request as sent, in the order of answers; null resets. */
export type SentSettings = ReadonlyMap<SettingName, unknown>

/** The routes of a setting. */
interface SettingRoute {
  /** The last segment of its URL: `/indexes/{uid}/settings/<segment>`. */
  readonly segment: string
  readonly name: SettingName
  /** PUT replaces the stored value, PATCH merges into it. */
  readonly verb: 'PUT' | 'PATCH'
  /** The code of errors about the value. */
  readonly code: ErrorCode
  /**
   * The body of the setting's own route; null resets. The body is the bare value, so paths in error messages start
   * inside it.
   */
  readonly body: Type<SentSettings>
}

/** A validated request to change settings. */
export interface SettingsChange {
  /** The sent settings in canonical form, for `mergeSettings`; null resets. */
  readonly patch: Readonly<Record<string, unknown>>
  /** The `details` of the task: the sent settings, with sorted sets, defaults of rules, and masked secrets. */
  readonly details: Readonly<Record<string, unknown>>
}

/** Conversions to the stored and the shown form, if they differ from the sent form. */
interface Forms<T> {
  readonly stored?: (sent: T) => unknown
  readonly shown?: (sent: T) => unknown
  /** The value in the details for a reset. */
  readonly shownReset?: unknown
}

interface Setting extends SettingRoute, Forms<unknown> {
  readonly type: Type<unknown>
}

/** All settings, in the order of answers. */
const threeLetterSet = (codes: readonly string[]): readonly string[] =>
  asSet(codes.map((code) => threeLetterLocale(code)!))

const settings: readonly Setting[] = [
  put('displayed-attributes', 'displayedAttributes', strings, { stored: attributeList, shownReset: ['*'] }),
  put('searchable-attributes', 'searchableAttributes', strings, { stored: attributeList, shownReset: ['*'] }),
  put('filterable-attributes', 'filterableAttributes', filterableAttributes),
  put('sortable-attributes', 'sortableAttributes', stringSet),
  put('foreign-keys', 'foreignKeys', foreignKeys),
  put('ranking-rules', 'rankingRules', rankingRules),
  put('stop-words', 'stopWords', stringSet, {
    stored: (words) => asSet(words.map((word) => word.normalize('NFKD'))),
  }),
  put('non-separator-tokens', 'nonSeparatorTokens', stringSet),
  put('separator-tokens', 'separatorTokens', stringSet),
  put('dictionary', 'dictionary', stringSet),
  put('synonyms', 'synonyms', synonyms),
  put('distinct-attribute', 'distinctAttribute', string),
  put('proximity-precision', 'proximityPrecision', oneOf(['byWord', 'byAttribute'])),
  patch('typo-tolerance', 'typoTolerance', typoTolerance, {
    stored: ({ disableOnWords: words, ...rest }) => ({
      ...rest,
      ...(words !== undefined && {
        disableOnWords: words === null ? null : asSet(words.map(normalizedWord)),
      }),
    }),
  }),
  patch('faceting', 'faceting', faceting),
  patch('pagination', 'pagination', pagination),
  patch('embedders', 'embedders', embedders, {
    shown: (sent) =>
      Object.fromEntries(
        Object.entries(sent).map(([name, fields]) => [
          name,
          fields === null ? null : maskSentEmbedder(fields),
        ]),
      ),
  }),
  put('search-cutoff-ms', 'searchCutoffMs', integer()),
  put('localized-attributes', 'localizedAttributes', localizedAttributes, {
    stored: (rules) =>
      rules.map((rule) => ({ ...rule, locales: rule.locales.map((it) => threeLetterLocale(it)!) })),
  }),
  put('facet-search', 'facetSearch', boolean),
  put('prefix-search', 'prefixSearch', oneOf(['indexingTime', 'disabled'])),
  patch('chat', 'chat', chat, {}, 'invalid_settings_index_chat'),
  put('attribute-weights', 'attributeWeights', attributeWeights),
  put('matching-strategy', 'matchingStrategy', oneOf(matchingStrategies)),
  patch('rerankers', 'rerankers', rerankers, { shown: maskRerankers }),
  put('stemming', 'stemming', stemming, { stored: threeLetterSet }),
  put('compounds', 'compounds', compounds, { stored: threeLetterSet }),
  put('pinyin', 'pinyin', boolean),
  put('stop-word-lists', 'stopWordLists', stopWordLists, { stored: threeLetterSet }),
]

/** The routes of all settings, in the order of answers. */
export const settingRoutes: readonly SettingRoute[] = settings

/** Settings that the API does not know. Answers leave them out while they have their default. */
export const ownSettings: readonly SettingName[] = [
  'attributeWeights',
  'compounds',
  'matchingStrategy',
  'pinyin',
  'rerankers',
  'stemming',
  'stopWordLists',
]

const byName = new Map<string, Setting>(settings.map((one) => [one.name, one]))

/**
 * The body of `PATCH /settings`. Reports the first mistake in payload order: with `bad_request` for the body itself and
 * for unknown keys, and with the code of the setting for its value.
 */
export const settingsBody: Type<SentSettings> = refined(
  named(
    'Settings',
    shape(Object.fromEntries(settings.map(({ name, type, code }) => [name, setting(type, code)]))),
  ),
  (sent) => {
    const given = Object.entries(sent).filter(([, value]) => value !== undefined)
    return new Map(given) as unknown as SentSettings
  },
)

/**
 * Converts sent settings to a change.
 * @throws ApiError `feature_not_enabled`
 */
export function settingsChange(sent: SentSettings, features: SettingsFeatures): SettingsChange {
  for (const [name, value] of sent) requireFeatures(name, value, features)
  const forms = [...sent].map(([name, value]) => ({ setting: byName.get(name)!, value }))
  return {
    patch: Object.fromEntries(
      forms.map(({ setting: { name, stored }, value }) => [
        name,
        value === null || stored === undefined ? value : stored(value),
      ]),
    ),
    details: Object.fromEntries(
      forms.map(({ setting: { name, shown, shownReset }, value }) => {
        if (value === null) return [name, shownReset]
        return [name, shown === undefined ? value : shown(value)]
      }),
    ),
  }
}

/** Returns the change of `DELETE /settings`. It resets every setting, even if its feature is off. */
export function resetAllSettings(): SettingsChange {
  return {
    patch: Object.fromEntries(settings.map(({ name }) => [name, null])),
    details: Object.fromEntries(
      settings
        .filter(({ name }) => !ownSettings.includes(name))
        .map(({ name, shownReset }) => [name, shownReset]),
    ),
  }
}

/** Returns the change of `DELETE /settings/<segment>`. */
export function resetSetting(name: SettingName): SettingsChange {
  return { patch: { [name]: null }, details: { [name]: byName.get(name)!.shownReset } }
}

function requireFeatures(name: SettingName, value: unknown, features: SettingsFeatures): void {
  if (value === null) return
  if (name === 'foreignKeys' && !features.foreignKeys) {
    throw notEnabled('setting `foreignKeys`', 'foreignKeys')
  }
  if (name === 'foreignKeys') requireFewForeignKeys(value as IndexSettings['foreignKeys'])
  if (name === 'chat' && !features.chatCompletions) throw notEnabled('setting `chat`', 'chatCompletions')
  if (name !== 'embedders') return
  for (const fields of Object.values(value as Record<string, EmbedderFields | null>)) {
    if (fields !== null) requireEmbedderFeatures(fields, features)
  }
}

function requireFewForeignKeys({ length }: IndexSettings['foreignKeys']): void {
  if (length <= FOREIGN_KEYS_MAX) return
  throw new ApiError(
    'invalid_settings_foreign_keys',
    `an index has at most ${FOREIGN_KEYS_MAX} foreign keys, found ${length}`,
  )
}

function put<T>(
  segment: string,
  name: SettingName,
  type: Type<T>,
  forms: Forms<T> = {},
  code = `invalid_settings_${segment.replaceAll('-', '_')}` as ErrorCode,
): Setting {
  const body = refined(coded(nullable(type), code), (value): SentSettings => new Map([[name, value]]))
  // The forms are only called with values read by `type`.
  return { segment, name, verb: 'PUT', code, type, body, shownReset: null, ...(forms as Forms<unknown>) }
}

function patch<T>(...args: Parameters<typeof put<T>>): Setting {
  return { ...put(...args), verb: 'PATCH' }
}

function attributeList(names: readonly string[]): readonly string[] {
  return names.includes('*') ? ['*'] : [...new Set(names)]
}
