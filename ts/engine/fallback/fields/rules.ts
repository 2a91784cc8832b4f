/** Decides how fields are used under the index settings. Source: settings §4. */
import type { FilterableRule, IndexSettings } from '../../../settings/index.js'
import { compareUtf8 } from '../store/text-order.js'
import { covers, matchesPattern } from './patterns.js'

/** Features that a filterable rule allows. */
interface FilterFeatures {
  readonly facetSearch: boolean
  readonly equality: boolean
  readonly comparison: boolean
}

const ALL_FEATURES: FilterFeatures = { facetSearch: true, equality: true, comparison: true }
/** Fields with a special meaning; never searchable. */
const RESERVED = ['_vectors', '_geo', '_geojson']

/** Features of the first rule that matches `path`, null if none does. */
export function filterFeatures(settings: IndexSettings, path: string): FilterFeatures | null {
  for (const rule of settings.filterableAttributes) {
    if (typeof rule === 'string') {
      if (covers(rule, path)) return ALL_FEATURES
    } else if (rule.attributePatterns.some((pattern) => matchesPattern(pattern, path))) {
      const { facetSearch, filter } = rule.features
      return { facetSearch, equality: filter.equality, comparison: filter.comparison }
    }
  }
  return null
}

/** Returns true if equality or comparison is allowed, as `EXISTS` and facet counts require. */
export function isFilterable(settings: IndexSettings, path: string): boolean {
  const features = filterFeatures(settings, path)
  return features !== null && (features.equality || features.comparison)
}

export const isSortable = (settings: IndexSettings, path: string): boolean =>
  settings.sortableAttributes.some((entry) => covers(entry, path))

/** Field and direction of a custom ranking rule, null for a built-in rule. */
export function customRule(rule: string): { readonly field: string; readonly ascending: boolean } | null {
  const colon = rule.lastIndexOf(':')
  const direction = rule.slice(colon + 1)
  if (colon < 0 || (direction !== 'asc' && direction !== 'desc')) return null
  return { field: rule.slice(0, colon), ascending: direction === 'asc' }
}

/** Returns true if a path is nested in a reserved field. Such a path is no field. */
export const isInReserved = (path: string): boolean =>
  RESERVED.some((reserved) => path.length > reserved.length && covers(reserved, path))

/** Returns true if the field needs a column. */
export function needsColumn(settings: IndexSettings, path: string): boolean {
  if (isInReserved(path) || path === '_vectors') return false
  return (
    filterFeatures(settings, path) !== null ||
    isSortable(settings, path) ||
    settings.distinctAttribute === path ||
    settings.rankingRules.some((rule) => customRule(rule)?.field === path)
  )
}

/** Returns true if `_geo` is read from documents. */
export const usesGeo = (settings: IndexSettings): boolean =>
  isSortable(settings, '_geo') || settings.filterableAttributes.includes('_geo')

/** Returns true if `_geojson` is read from documents. */
export const usesGeojson = (settings: IndexSettings): boolean =>
  settings.filterableAttributes.includes('_geojson')

/**
 * Returns names of attributes for a message: ordered, each once. One placeholder stands for attributes that are not
 * displayed, because clients without access to the settings read messages too.
 */
export function shownNames(
  { displayedAttributes }: IndexSettings,
  names: readonly string[],
): readonly string[] {
  const shown = names.filter((name) => displayedAttributes.some((one) => one === '*' || covers(one, name)))
  const hidden = shown.length < names.length ? ['<..hidden-attributes>'] : []
  return [...[...new Set(shown)].sort(compareUtf8), ...hidden]
}

/** Lists the filterable attributes, for the end of a message. */
export const describeFilterable = (settings: IndexSettings): string =>
  describeRules(settings, 'filterable', settings.filterableAttributes)

/** Lists the attributes whose values can be searched, for the end of a message. */
export const describeFacetSearchable = (settings: IndexSettings): string =>
  describeRules(
    settings,
    'facet-searchable',
    settings.filterableAttributes.filter((rule) => typeof rule === 'string' || rule.features.facetSearch),
  )

function describeRules(settings: IndexSettings, kind: string, rules: readonly FilterableRule[]): string {
  const names = rules.flatMap((rule) => (typeof rule === 'string' ? [rule] : rule.attributePatterns))
  return names.length === 0
    ? `This index does not have configured ${kind} attributes.`
    : `Available ${kind} attribute patterns are: \`${shownNames(settings, names).join('`, `')}\`.`
}

export const searchesEverything = (settings: IndexSettings): boolean =>
  settings.searchableAttributes.includes('*')

/** Index of the first searchable entry that covers `path`; null if the field is not searchable. */
export function searchWeight(settings: IndexSettings, path: string): number | null {
  if (RESERVED.some((reserved) => covers(reserved, path))) return null
  if (searchesEverything(settings)) return 0
  const weight = [...new Set(settings.searchableAttributes)].findIndex((entry) => covers(entry, path))
  return weight === -1 ? null : weight
}

/** Languages of a field, from the first rule that matches it; null without a rule. */
export function localesOf(settings: IndexSettings, path: string): readonly string[] | null {
  const rule = settings.localizedAttributes?.find((candidate) =>
    candidate.attributePatterns.some((pattern) => matchesPattern(pattern, path)),
  )
  return rule?.locales ?? null
}

/** Returns true if all fields are displayed. */
export const displaysEverything = (settings: IndexSettings): boolean =>
  settings.displayedAttributes.includes('*')
