/** Extracts usage statistics from sent settings: numbers and switches, never words or names. */
import { sourceOf } from './embedder-rules.js'
import type { SentSettings } from './validate.js'

/** Returns facts about the sent settings. */
export function settingsFacts(sent: SentSettings): SettingsFacts {
  let facts: SettingsFacts = {}
  for (const [name, value] of sent) {
    if (Object.hasOwn(factsOfSetting, name))
      facts = { ...facts, ...factsOfSetting[name as keyof typeof factsOfSetting](value as never) }
  }
  return facts
}

/** Returns the embedders in the request without a source: their stored settings may have one. */
export function withoutSource(sent: SentSettings): readonly string[] {
  const embedders = (sent.get('embedders') ?? {}) as Readonly<Record<string, Embedder | null>>
  return Object.entries(embedders).flatMap(([name, one]) =>
    one !== null && one.source === undefined ? [name] : [],
  )
}

type Words = readonly string[] | null
const total = (list: { readonly length: number } | null): number | null => list?.length ?? null

/** Facts about each setting, by its name. The value is null if the request resets the setting. */
const factsOfSetting = {
  rankingRules: (rules: Words) => {
    const at = (rule: string): number | null => {
      const position = rules?.indexOf(rule) ?? -1
      return position === -1 ? null : position
    }
    return {
      'ranking_rules.words_position': at('words'),
      'ranking_rules.typo_position': at('typo'),
      'ranking_rules.proximity_position': at('proximity'),
      'ranking_rules.attribute_position': at('attribute'),
      'ranking_rules.attribute_rank_position': at('attributeRank'),
      'ranking_rules.attribute_position_position': at('wordPosition'),
      'ranking_rules.sort_position': at('sort'),
      'ranking_rules.exactness_position': at('exactness'),
      'ranking_rules.values': rules?.filter((rule) => !/:(asc|desc)$/.test(rule)).join(', ') ?? null,
    }
  },
  sortableAttributes: (names: Words) => ({
    'sortable_attributes.total': total(names),
    'sortable_attributes.has_geo': names?.includes('_geo') ?? null,
  }),
  filterableAttributes: (rules: readonly unknown[] | null) => ({
    'filterable_attributes.total': total(rules),
    'filterable_attributes.has_geo': rules?.includes('_geo') ?? null,
    'filterable_attributes.has_patterns': rules?.some((rule) => typeof rule === 'object') ?? null,
  }),
  searchableAttributes: (names: Words) => ({
    'searchable_attributes.total': total(names),
    'searchable_attributes.with_wildcard': names?.includes('*') ?? null,
  }),
  displayedAttributes: (names: Words) => ({
    'displayed_attributes.total': total(names),
    'displayed_attributes.with_wildcard': names?.includes('*') ?? null,
  }),
  typoTolerance: (typo: TypoTolerance | null) => ({
    'typo_tolerance.enabled': typo?.enabled ?? null,
    'typo_tolerance.disable_on_attributes': typo?.disableOnAttributes
      ? typo.disableOnAttributes.length > 0
      : null,
    'typo_tolerance.disable_on_words': typo?.disableOnWords ? typo.disableOnWords.length > 0 : null,
    'typo_tolerance.min_word_size_for_typos.one_typo': typo?.minWordSizeForTypos?.oneTypo ?? null,
    'typo_tolerance.min_word_size_for_typos.two_typos': typo?.minWordSizeForTypos?.twoTypos ?? null,
  }),
  pagination: (pagination: { readonly maxTotalHits?: number | null } | null) => ({
    'pagination.max_total_hits': pagination?.maxTotalHits ?? null,
  }),
  faceting: (faceting: Faceting | null) => ({
    'faceting.max_values_per_facet': faceting?.maxValuesPerFacet ?? null,
    'faceting.sort_facet_values_by_star_count': faceting?.sortFacetValuesBy?.['*'] === 'count',
    'faceting.sort_facet_values_by_total': new Set(Object.values(faceting?.sortFacetValuesBy ?? {})).size,
  }),
  distinctAttribute: (name: string | null) => ({ 'distinct_attribute.set': name !== null }),
  proximityPrecision: (value: string | null) => ({
    'proximity_precision.set': value !== null,
    'proximity_precision.value': value,
  }),
  facetSearch: (value: boolean | null) => ({
    'facet_search.set': value !== null,
    'facet_search.value': value,
  }),
  prefixSearch: (value: string | null) => ({
    'prefix_search.set': value !== null,
    'prefix_search.value': value,
  }),
  stopWords: (words: Words) => ({ 'stop_words.total': total(words) }),
  separatorTokens: (words: Words) => ({ 'separator_tokens.total': total(words) }),
  nonSeparatorTokens: (words: Words) => ({ 'non_separator_tokens.total': total(words) }),
  dictionary: (words: Words) => ({ 'dictionary.total': total(words) }),
  synonyms: (map: object | null) => ({ 'synonyms.total': map === null ? null : Object.keys(map).length }),
  localizedAttributes: (rules: readonly { readonly locales: readonly string[] }[] | null) => ({
    locales: rules?.flatMap(({ locales }) => locales) ?? [],
  }),
  embedders: (named: Readonly<Record<string, Embedder | null>> | null) => {
    const all = Object.values(named ?? {}).filter((one) => one !== null)
    const bytes = all.flatMap(({ documentTemplateMaxBytes }) => documentTemplateMaxBytes ?? [])
    return {
      'embedders.total': named === null ? null : all.length,
      'embedders.sources': all.flatMap(({ source }) => (source === undefined ? [] : [sourceOf({ source })])),
      'embedders.document_template_used': all.some(({ documentTemplate }) => Boolean(documentTemplate)),
      'embedders.document_template_max_bytes': bytes.length === 0 ? null : Math.max(...bytes),
      'embedders.binary_quantization_used': all.some((one) => Object.hasOwn(one, 'binaryQuantized')),
    }
  },
}

type Counted = ReturnType<(typeof factsOfSetting)[keyof typeof factsOfSetting]>
type All<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never

/** Facts by metric name. */
export type SettingsFacts = Partial<All<Counted>>

interface TypoTolerance {
  readonly enabled?: boolean | null
  readonly disableOnAttributes?: Words
  readonly disableOnWords?: Words
  readonly minWordSizeForTypos?: {
    readonly oneTypo?: number | null
    readonly twoTypos?: number | null
  } | null
}
interface Faceting {
  readonly maxValuesPerFacet?: number | null
  readonly sortFacetValuesBy?: Readonly<Record<string, string>> | null
}
interface Embedder {
  readonly source?: string | null
  readonly documentTemplate?: string | null
  readonly documentTemplateMaxBytes?: number | null
}
