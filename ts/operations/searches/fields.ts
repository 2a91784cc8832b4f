import type { Engine } from '../../engine/index.js'
import { type FilterableRule, type IndexSettings, parsedSettings } from '../../settings/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import {
  atMost,
  boolean,
  defaulted,
  integer,
  NAMES_MAX,
  optional,
  ownValue,
  shape,
  strings,
} from '../requests/index.js'

/** The body of a request for a list of fields. */
export const fieldsBody = shape({
  offset: defaulted(integer(), 0, 'invalid_index_offset'),
  limit: defaulted(integer(), 20, 'invalid_index_limit'),
  filter: optional(
    shape({
      attributePatterns: optional(
        atMost(strings, NAMES_MAX),
        'invalid_index_fields_filter_attribute_patterns',
      ),
      displayed: optional(boolean, 'invalid_index_fields_filter_displayed'),
      searchable: optional(boolean, 'invalid_index_fields_filter_searchable'),
      sortable: optional(boolean, 'invalid_index_fields_filter_sortable'),
      distinct: optional(boolean, 'invalid_index_fields_filter_distinct'),
      rankingRule: optional(boolean, 'invalid_index_fields_filter_ranking_rule'),
      filterable: optional(boolean, 'invalid_index_fields_filter_filterable'),
    }),
    'invalid_index_fields_filter',
  ),
})

/** Conditions that listed fields must meet, all of them; null: no condition. */
interface FieldsFilter {
  readonly attributePatterns: readonly string[] | null
  readonly displayed: boolean | null
  readonly searchable: boolean | null
  readonly sortable: boolean | null
  readonly distinct: boolean | null
  readonly rankingRule: boolean | null
  readonly filterable: boolean | null
}

interface FieldsRequest {
  readonly offset: number
  readonly limit: number
  readonly filter: FieldsFilter | null
}

/** `total` counts all fields that pass the filter. */
export interface FieldsPage {
  readonly results: readonly FieldView[]
  readonly offset: number
  readonly limit: number
  readonly total: number
}

/** A field with its settings. Answers show the keys in this order. */
export interface FieldView {
  readonly name: string
  readonly displayed: { readonly enabled: boolean }
  readonly searchable: { readonly enabled: boolean }
  readonly sortable: { readonly enabled: boolean }
  readonly distinct: { readonly enabled: boolean }
  readonly rankingRule: { readonly enabled: boolean; readonly order?: 'asc' | 'desc' }
  readonly filterable: {
    readonly enabled: boolean
    readonly sortBy: 'alpha' | 'count'
    readonly facetSearch: boolean
    readonly equality: boolean
    readonly comparison: boolean
  }
  readonly localized: { readonly locales: readonly string[] }
}

/** Returns a page of the fields of the documents. */
export async function listedFields(
  engine: Engine,
  { id }: IndexEntry,
  { offset, limit, filter }: FieldsRequest,
): Promise<FieldsPage> {
  const [names, settings] = await Promise.all([engine.fields(id), engine.settings(id)])
  const views = fieldViews(names, parsedSettings(settings), filter)
  return { results: views.slice(offset, offset + limit), offset, limit, total: views.length }
}

/** Returns the fields that match `filter`, sorted by name. */
function fieldViews(
  names: readonly string[],
  settings: IndexSettings,
  filter: FieldsFilter | null,
): readonly FieldView[] {
  return [...names]
    .sort()
    .map((name) => fieldView(name, settings))
    .filter((view) => filter === null || matchesFilter(filter, view))
}

function matchesFilter(filter: FieldsFilter, view: FieldView): boolean {
  const switches = ['displayed', 'searchable', 'sortable', 'distinct', 'rankingRule', 'filterable'] as const
  return (
    (filter.attributePatterns?.some((pattern) => patternMatches(pattern, view.name)) ?? true) &&
    switches.every((name) => filter[name] === null || filter[name] === view[name].enabled)
  )
}

function fieldView(name: string, settings: IndexSettings): FieldView {
  const order = settings.rankingRules.includes(`${name}:asc`)
    ? 'asc'
    : settings.rankingRules.includes(`${name}:desc`)
      ? 'desc'
      : null
  const sortBy = settings.faceting.sortFacetValuesBy
  return {
    name,
    displayed: { enabled: covered(settings.displayedAttributes, name) },
    searchable: { enabled: covered(settings.searchableAttributes, name) },
    sortable: { enabled: settings.sortableAttributes.some((entry) => covers(entry, name)) },
    distinct: { enabled: settings.distinctAttribute === name },
    rankingRule: order === null ? { enabled: false } : { enabled: true, order },
    filterable: {
      ...filterableFeatures(name, settings.filterableAttributes),
      sortBy: ownValue(sortBy, name) ?? sortBy['*'] ?? 'alpha',
    },
    localized: {
      locales:
        settings.localizedAttributes?.find((rule) =>
          rule.attributePatterns.some((pattern) => patternMatches(pattern, name)),
        )?.locales ?? [],
    },
  }
}

function filterableFeatures(
  name: string,
  rules: readonly FilterableRule[],
): Omit<FieldView['filterable'], 'sortBy'> & { sortBy?: never } {
  // Only the first matching entry counts.
  for (const rule of rules) {
    if (typeof rule === 'string') {
      if (covers(rule, name)) return { enabled: true, facetSearch: true, equality: true, comparison: true }
    } else if (rule.attributePatterns.some((pattern) => patternMatches(pattern, name))) {
      const { facetSearch, filter } = rule.features
      return { enabled: filter.equality || filter.comparison, facetSearch, ...filter }
    }
  }
  return { enabled: false, facetSearch: false, equality: false, comparison: false }
}

const covers = (entry: string, name: string): boolean => name === entry || name.startsWith(`${entry}.`)
/** Returns true if a list of attributes, such as `displayedAttributes`, contains the attribute. */
export const covered = (entries: readonly string[], name: string): boolean =>
  entries.includes('*') || entries.some((entry) => covers(entry, name))

/** Returns true if `name` matches a pattern: `*`, `start*`, `*end`, `*inside*` or an exact dotted name. */
function patternMatches(pattern: string, name: string): boolean {
  if (pattern === '*') return true
  const open = pattern.startsWith('*')
  const close = pattern.endsWith('*')
  if (open && close) return name.includes(pattern.slice(1, -1))
  if (open) return name.endsWith(pattern.slice(1))
  return close ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}
