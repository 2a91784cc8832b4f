import type { ErrorCode } from '../errors/index.js'
import { ApiError } from '../errors/index.js'
import {
  asBoolean,
  asChoice,
  asCount,
  asList,
  asObject,
  asSet,
  asString,
  badValue,
  choices,
  field,
  missingField,
  type Place,
  readFields,
  sortedKeys,
  unknownField,
  wrongType,
} from './decode.js'
import {
  asTemplate,
  type EmbedderFields,
  maskEmbedder,
  notEnabled,
  parseEmbedder,
  requireEmbedderFeatures,
  type SettingsFeatures,
} from './embedders.js'
import type { FilterableRule, IndexSettings } from './index-settings.js'
import { acceptedLocales, threeLetterLocale } from './locales.js'
import { isTypoWordSizeOrder, normalizedWord } from './typo-words.js'

/** A setting's key in JSON. */
export type SettingName = keyof IndexSettings

/** One setting as the routes know it. */
export interface SettingRoute {
  /** `/indexes/{uid}/settings/<segment>` */
  readonly segment: string
  readonly name: SettingName
  /** PUT replaces the stored value, PATCH merges into it. */
  readonly verb: 'PUT' | 'PATCH'
  /** What a bad value is answered with. */
  readonly code: ErrorCode
}

/** A validated request: what to store with the task, and what to show of it. */
export interface SettingsChange {
  /** Keys sent, in canonical form; null resets. Hand it to `mergeSettings`. */
  readonly patch: Readonly<Record<string, unknown>>
  /** The task's `details`: what was sent, sets sorted, defaults of rules filled in, secrets masked. */
  readonly details: Readonly<Record<string, unknown>>
}

/** A value in the form it is stored in, and in the form task details show. */
interface Parsed {
  readonly value: unknown
  readonly shown: unknown
}

interface Setting extends SettingRoute {
  readonly parse: (raw: unknown, at: Place) => Parsed
  /** What details show for a reset. */
  readonly resetShown: unknown
}

const same = (value: unknown): Parsed => ({ value, shown: value })
const strings = (raw: unknown, at: Place): readonly string[] => asList(raw, at, asString)
const stringSet = (raw: unknown, at: Place): Parsed => same(asSet(strings(raw, at)))

/** In the order they are rendered. */
const settings: readonly Setting[] = [
  put('displayed-attributes', 'displayedAttributes', attributeList, ['*']),
  put('searchable-attributes', 'searchableAttributes', attributeList, ['*']),
  put('filterable-attributes', 'filterableAttributes', (raw, at) => same(asList(raw, at, asFilterableRule))),
  put('sortable-attributes', 'sortableAttributes', stringSet),
  put('foreign-keys', 'foreignKeys', (raw, at) => same(asList(raw, at, asForeignKey))),
  put('ranking-rules', 'rankingRules', rankingRules),
  put('stop-words', 'stopWords', (raw, at) => {
    const words = strings(raw, at)
    return { value: asSet(words.map((word) => word.normalize('NFKD'))), shown: asSet(words) }
  }),
  put('non-separator-tokens', 'nonSeparatorTokens', stringSet),
  put('separator-tokens', 'separatorTokens', stringSet),
  put('dictionary', 'dictionary', stringSet),
  put('synonyms', 'synonyms', synonyms),
  put('distinct-attribute', 'distinctAttribute', (raw, at) => same(asString(raw, at))),
  put('proximity-precision', 'proximityPrecision', (raw, at) =>
    same(asChoice(raw, at, ['byWord', 'byAttribute'])),
  ),
  patch('typo-tolerance', 'typoTolerance', typoTolerance),
  patch('faceting', 'faceting', faceting),
  patch('pagination', 'pagination', pagination),
  patch('embedders', 'embedders', embedders),
  put('search-cutoff-ms', 'searchCutoffMs', (raw, at) => same(asCount(raw, at))),
  put('localized-attributes', 'localizedAttributes', localizedAttributes),
  put('facet-search', 'facetSearch', (raw, at) => same(asBoolean(raw, at))),
  put('prefix-search', 'prefixSearch', (raw, at) => same(asChoice(raw, at, ['indexingTime', 'disabled']))),
  { ...patch('chat', 'chat', chat), code: 'invalid_settings_index_chat' },
]

/** Every setting that has a route of its own, in rendering order. */
export const settingSegments: readonly SettingRoute[] = settings

const byName = new Map<string, Setting>(settings.map((setting) => [setting.name, setting]))

/**
 * Reads the body of `PATCH /settings`. Keys are visited in payload order and the first mistake is thrown:
 * `bad_request` for the body itself and for unknown keys, the setting's own code for what is inside it,
 * `feature_not_enabled` last.
 */
export function parseSettingsPatch(raw: unknown, features: SettingsFeatures): SettingsChange {
  const root: Place = { path: '', code: 'bad_request' }
  const parsed = new Map<string, Parsed>()
  for (const [name, value] of Object.entries(asObject(raw, root))) {
    const setting = byName.get(name)
    if (setting === undefined) throw unknownField(root, name, [...byName.keys()])
    parsed.set(name, parsedOrReset(setting, value, { path: `.${name}`, code: setting.code }))
  }
  return settingsChange(parsed, features)
}

/**
 * Reads the body of a setting's own route; null resets. Locations in messages start below the setting,
 * since the body is its bare value.
 */
export function parseSetting(name: SettingName, raw: unknown, features: SettingsFeatures): SettingsChange {
  const setting = byName.get(name)!
  const parsed = parsedOrReset(setting, raw, { path: '', code: setting.code })
  return settingsChange(new Map([[name, parsed]]), features)
}

/** `DELETE /settings`: every setting back to its default, those of switched-off features too. */
export function resetAllSettings(): SettingsChange {
  return {
    patch: Object.fromEntries(settings.map(({ name }) => [name, null])),
    details: Object.fromEntries(settings.map(({ name, resetShown }) => [name, resetShown])),
  }
}

/** `DELETE /settings/<segment>`. */
export function resetSetting(name: SettingName): SettingsChange {
  return { patch: { [name]: null }, details: { [name]: byName.get(name)!.resetShown } }
}

const parsedOrReset = (setting: Setting, raw: unknown, at: Place): Parsed =>
  raw === null ? { value: null, shown: setting.resetShown } : setting.parse(raw, at)

function settingsChange(parsed: ReadonlyMap<string, Parsed>, features: SettingsFeatures): SettingsChange {
  for (const [name, { value }] of parsed) requireFeatures(name, value, features)
  const sent = settings.map(({ name }) => name).filter((name) => parsed.has(name))
  return {
    patch: Object.fromEntries(sent.map((name) => [name, parsed.get(name)!.value])),
    details: Object.fromEntries(sent.map((name) => [name, parsed.get(name)!.shown])),
  }
}

function requireFeatures(name: string, value: unknown, features: SettingsFeatures): void {
  if (value === null) return
  if (name === 'foreignKeys' && !features.foreignKeys) {
    throw notEnabled('setting `foreignKeys`', 'foreignKeys')
  }
  if (name === 'chat' && !features.chatCompletions) throw notEnabled('setting `chat`', 'chatCompletions')
  if (name !== 'embedders') return
  for (const fields of Object.values(value as Record<string, EmbedderFields | null>)) {
    if (fields !== null) requireEmbedderFeatures(fields, features)
  }
}

function put(
  segment: string,
  name: SettingName,
  parse: Setting['parse'],
  resetShown: unknown = null,
): Setting {
  const code = `invalid_settings_${segment.replaceAll('-', '_')}` as ErrorCode
  return { segment, name, verb: 'PUT', code, parse, resetShown }
}

function patch(segment: string, name: SettingName, parse: Setting['parse']): Setting {
  return { ...put(segment, name, parse), verb: 'PATCH' }
}

function attributeList(raw: unknown, at: Place): Parsed {
  const names = strings(raw, at)
  return { value: names.includes('*') ? ['*'] : [...new Set(names)], shown: names }
}

function asFilterableRule(raw: unknown, at: Place): FilterableRule {
  if (typeof raw === 'string') return raw
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
    throw wrongType(at, raw, 'string', 'object')
  let attributePatterns: readonly string[] | undefined
  let facetSearch = false
  let equality = true
  let comparison = false
  readFields(raw, at, {
    attributePatterns: (value, place) => {
      attributePatterns = strings(value, place)
    },
    features: (features, featuresAt) =>
      readFields(features, featuresAt, {
        facetSearch: (value, place) => {
          facetSearch = asBoolean(value, place)
        },
        filter: (filter, filterAt) =>
          readFields(filter, filterAt, {
            equality: (value, place) => {
              equality = asBoolean(value, place)
            },
            comparison: (value, place) => {
              comparison = asBoolean(value, place)
            },
          }),
      }),
  })
  if (attributePatterns === undefined) throw missingField(at, 'attributePatterns')
  return { attributePatterns, features: { facetSearch, filter: { equality, comparison } } }
}

function asForeignKey(raw: unknown, at: Place): { foreignIndexUid: string; fieldName: string } {
  let foreignIndexUid: string | undefined
  let fieldName: string | undefined
  readFields(raw, at, {
    foreignIndexUid: (value, place) => {
      foreignIndexUid = asString(value, place)
    },
    fieldName: (value, place) => {
      fieldName = asString(value, place)
    },
  })
  if (foreignIndexUid === undefined) throw missingField(at, 'foreignIndexUid')
  if (fieldName === undefined) throw missingField(at, 'fieldName')
  return { foreignIndexUid, fieldName }
}

const ruleNames = [
  'words',
  'typo',
  'proximity',
  'attribute',
  'attributeRank',
  'wordPosition',
  'sort',
  'exactness',
]

/** Names and calls of geo search, which a custom rule cannot order by. */
const reservedNames = /^_geo(json|Distance|Point|Radius|BoundingBox|Polygon)?$/
const reservedCalls = /^_geo(Distance|Point|Radius|BoundingBox)?\(/

function asRankingRule(raw: unknown, at: Place): string {
  const rule = asString(raw, at)
  if (ruleNames.includes(rule)) return rule
  const [, name] = /^(.*):(?:asc|desc)$/s.exec(rule) ?? []
  if (name === undefined) {
    const reason = `\`${rule}\` is not a ranking rule, ${choices(rule, ruleNames)}, \`<field>:asc\`, \`<field>:desc\``
    throw badValue(at, reason)
  }
  if (reservedNames.test(name) || reservedCalls.test(name)) {
    throw badValue(at, `\`${rule}\` is reserved: \`${name}\` can only be used in the \`sort\` of a search`)
  }
  return rule
}

function rankingRules(raw: unknown, at: Place): Parsed {
  const rules = asList(raw, at, asRankingRule)
  const part = rules.find((rule) => rule === 'attributeRank' || rule === 'wordPosition')
  if (rules.includes('attribute') && part !== undefined) {
    throw badValue(at, `\`attribute\` already contains \`${part}\`, the two cannot be used together`)
  }
  return same(rules)
}

function synonyms(raw: unknown, at: Place): Parsed {
  const entries = Object.entries(asObject(raw, at))
  return same(
    sortedKeys(Object.fromEntries(entries.map(([word, list]) => [word, strings(list, field(at, word))]))),
  )
}

function localizedAttributes(raw: unknown, at: Place): Parsed {
  const rules = asList(raw, at, (rule, ruleAt) => {
    let attributePatterns: readonly string[] | undefined
    let locales: readonly string[] | undefined
    readFields(rule, ruleAt, {
      attributePatterns: (value, place) => {
        attributePatterns = strings(value, place)
      },
      locales: (value, place) => {
        locales = asList(value, place, (locale, localeAt) => asChoice(locale, localeAt, acceptedLocales))
      },
    })
    if (attributePatterns === undefined) throw missingField(ruleAt, 'attributePatterns')
    if (locales === undefined) throw missingField(ruleAt, 'locales')
    return { attributePatterns, locales }
  })
  const value = rules.map((rule) => ({ ...rule, locales: rule.locales.map((it) => threeLetterLocale(it)!) }))
  return { value, shown: rules }
}

/** Collects the keys of a nested setting; null (a reset of that key) is kept as null. */
class Nested {
  readonly #keys = new Map<string, Parsed>()

  reader(name: string, parse: (raw: unknown, at: Place) => Parsed) {
    return [
      name,
      (raw: unknown, at: Place): void => {
        this.#keys.set(name, raw === null ? same(null) : parse(raw, at))
      },
    ] as const
  }

  /** Both forms, keys in the order of `names`. */
  parsed(names: readonly string[]): Parsed {
    const sent = names.filter((name) => this.#keys.has(name))
    return {
      value: Object.fromEntries(sent.map((name) => [name, this.#keys.get(name)!.value])),
      shown: Object.fromEntries(sent.map((name) => [name, this.#keys.get(name)!.shown])),
    }
  }
}

function nested(
  raw: unknown,
  at: Place,
  keys: Readonly<Record<string, (raw: unknown, at: Place) => Parsed>>,
): Parsed {
  const found = new Nested()
  readFields(
    raw,
    at,
    Object.fromEntries(Object.entries(keys).map(([name, parse]) => found.reader(name, parse))),
  )
  return found.parsed(Object.keys(keys))
}

const flag = (raw: unknown, at: Place): Parsed => same(asBoolean(raw, at))
const wordSize = (raw: unknown, at: Place): Parsed => same(asCount(raw, at, 255))

function typoTolerance(raw: unknown, at: Place): Parsed {
  return nested(raw, at, {
    enabled: flag,
    minWordSizeForTypos: (sizes, place) => {
      const parsed = nested(sizes, place, { oneTypo: wordSize, twoTypos: wordSize })
      const { oneTypo, twoTypos } = parsed.value as { oneTypo?: number | null; twoTypos?: number | null }
      if (!isTypoWordSizeOrder(oneTypo ?? 0, twoTypos ?? 255)) {
        const reason = `\`oneTypo\` (${oneTypo}) must not be larger than \`twoTypos\` (${twoTypos})`
        throw badValue(place, reason)
      }
      return parsed
    },
    disableOnWords: (words, place) => {
      const list = strings(words, place)
      return { value: asSet(list.map(normalizedWord)), shown: asSet(list) }
    },
    disableOnAttributes: stringSet,
    disableOnNumbers: flag,
  })
}

function faceting(raw: unknown, at: Place): Parsed {
  return nested(raw, at, {
    maxValuesPerFacet: (value, place) => same(asCount(value, place)),
    sortFacetValuesBy: (value, place) => {
      const orders = Object.entries(asObject(value, place)).map(([name, order]) => [
        name,
        asChoice(order, field(place, name), ['alpha', 'count']),
      ])
      return same(sortedKeys(Object.fromEntries(orders)))
    },
  })
}

function pagination(raw: unknown, at: Place): Parsed {
  return nested(raw, at, {
    maxTotalHits: (value, place) => {
      const hits = asCount(value, place)
      if (hits === 0)
        throw badValue(place, 'a non-zero integer value lower than 18446744073709551615 was expected')
      return same(hits)
    },
  })
}

function embedders(raw: unknown, at: Place): Parsed {
  const named = Object.entries(asObject(raw, at)).map(([name, fields]): [string, EmbedderFields | null] => {
    if (name === '') throw badValue(at, 'an embedder needs a name')
    return [name, fields === null ? null : parseEmbedder(fields, field(at, name))]
  })
  const shown = named.map(([name, fields]) => [name, fields === null ? null : maskEmbedder(fields)] as const)
  return { value: sortedKeys(Object.fromEntries(named)), shown: sortedKeys(Object.fromEntries(shown)) }
}

const hybridFields = (raw: unknown, at: Place): Parsed =>
  nested(raw, at, {
    embedder: (value, place) => same(asString(value, place)),
    semanticRatio: (value, place) => same(asRatio(value, place)),
  })

function chat(raw: unknown, at: Place): Parsed {
  return nested(raw, at, {
    description: (value, place) => same(asString(value, place)),
    // A template that does not parse is told by the task.
    documentTemplate: (value, place) => same(asString(value, place)),
    documentTemplateMaxBytes: (value, place) => {
      const bytes = asCount(value, place)
      if (bytes === 0) {
        throw badValue({ path: place.path, code: 'invalid_settings_embedders' }, 'must be at least 1')
      }
      return same(bytes)
    },
    searchParameters: (parameters, parametersAt) =>
      nested(parameters, parametersAt, {
        hybrid: hybridFields,
        limit: (value, place) => same(asCount(value, place)),
        sort: (value, place) => same(strings(value, place)),
        distinct: (value, place) => same(asString(value, place)),
        matchingStrategy: (value, place) => same(asChoice(value, place, ['last', 'all', 'frequency'])),
        attributesToSearchOn: (value, place) => same(strings(value, place)),
        rankingScoreThreshold: (value, place) => same(asRatio(value, place)),
      }),
  })
}

function asRatio(raw: unknown, at: Place): number {
  if (typeof raw !== 'number') throw wrongType(at, raw, 'number')
  if (raw < 0 || raw > 1) throw badValue(at, `must be between 0 and 1, found ${raw}`)
  return raw
}

/** Told by the task, not by the request: a chat template that does not parse. */
export function checkChatTemplate(template: string): void {
  const at: Place = {
    path: '.chat.documentTemplate',
    code: 'invalid_chat_setting_document_template',
  }
  asTemplate(template, at)
}

/** Told by the task: sizes that conflict only with the stored ones. */
export function checkTypoWordSizes(oneTypo: number, twoTypos: number): void {
  if (isTypoWordSizeOrder(oneTypo, twoTypos)) return
  throw new ApiError(
    'invalid_settings_typo_tolerance',
    `\`minWordSizeForTypos\` is invalid: \`oneTypo\` (${oneTypo}) must not be larger than \`twoTypos\` (${twoTypos})`,
  )
}
