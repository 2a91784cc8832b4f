/** The settings in the form: how each is edited and parsed. */
import type { Json, Settings } from '../api/types.ts'

export interface SettingRow {
  /** The key in the API. */
  readonly name: string
  readonly title: string
  readonly hint: string
  /** `lines`: a list of texts, one per line. `json`: other compound values. */
  readonly kind: 'lines' | 'text' | 'number' | 'toggle' | 'json' | readonly string[]
}

const row = (name: string, title: string, kind: SettingRow['kind'], hint: string): SettingRow => ({
  name,
  title,
  kind,
  hint,
})

export const settingRows: readonly SettingRow[] = [
  row('searchableAttributes', 'Searchable attributes', 'lines', 'Most important first; * for all'),
  row('filterableAttributes', 'Filterable attributes', 'lines', 'For filters and facets'),
  row('sortableAttributes', 'Sortable attributes', 'lines', 'For sort, and for _geo'),
  row('displayedAttributes', 'Displayed attributes', 'lines', '* for all'),
  row('rankingRules', 'Ranking rules', 'lines', 'Most important first'),
  row('distinctAttribute', 'Distinct attribute', 'text', 'One hit per value'),
  row('stopWords', 'Stop words', 'lines', 'Words that queries ignore'),
  row('synonyms', 'Synonyms', 'json', '{ "film": ["movie"] }'),
  row('typoTolerance', 'Typo tolerance', 'json', 'Allowed typos by length of the word'),
  row(
    'prefixSearch',
    'Prefix search',
    ['indexingTime', 'disabled'],
    'Match words that begin with the last query word',
  ),
  row(
    'proximityPrecision',
    'Proximity precision',
    ['byWord', 'byAttribute'],
    'How the distance of words is measured',
  ),
  row('separatorTokens', 'Separators', 'lines', 'Additional texts that separate words'),
  row('nonSeparatorTokens', 'No separators', 'lines', 'Texts that do not separate words'),
  row('dictionary', 'Dictionary', 'lines', 'Texts that count as one word'),
  row('localizedAttributes', 'Languages', 'json', 'Languages of attributes'),
  row('faceting', 'Faceting', 'json', 'Number and order of values'),
  row('facetSearch', 'Facet search', 'toggle', 'Allow searching facet values'),
  row('pagination', 'Pagination', 'json', 'Maximum number of hits'),
  row('searchCutoffMs', 'Search cutoff, ms', 'number', 'Time limit of a search; default: 1,500'),
  row('embedders', 'Embedders', 'json', 'Sources of vectors'),
]

/** Returns how to edit a value. Lists with other values than texts are edited as JSON. */
export function kindFor({ kind }: SettingRow, value: Json | undefined): SettingRow['kind'] {
  if (kind !== 'lines') return kind
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? 'lines' : 'json'
}

export function typedFrom(kind: SettingRow['kind'], value: Json | undefined): string {
  if (kind === 'lines') return (value as readonly string[]).join('\n')
  if (kind === 'json') return JSON.stringify(value ?? null, null, 2)
  return value === null || value === undefined ? '' : String(value)
}

/** @throws SyntaxError if the text does not fit the kind */
export function valueFrom(kind: SettingRow['kind'], typed: string): Json {
  if (kind === 'lines')
    return typed
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
  if (kind === 'json') return JSON.parse(typed) as Json
  if (kind === 'toggle') return typed === 'true'
  if (typed.trim() === '') return null
  if (kind !== 'number') return typed.trim()
  if (!/^\d+$/.test(typed.trim())) throw new SyntaxError('not a whole number')
  return Number(typed)
}

/** Returns the changed values, and the mistakes in values that cannot be parsed. */
export function changesOf(
  settings: Settings,
  typed: Readonly<Record<string, string>>,
): { readonly patch: Record<string, Json>; readonly mistakes: Readonly<Record<string, string>> } {
  const patch: Record<string, Json> = {}
  const mistakes: Record<string, string> = {}
  for (const one of settingRows) {
    const text = typed[one.name]
    if (text === undefined) continue
    try {
      const value = valueFrom(kindFor(one, settings[one.name]), text)
      if (JSON.stringify(value) !== JSON.stringify(settings[one.name] ?? null)) patch[one.name] = value
    } catch (error) {
      mistakes[one.name] = (error as Error).message
    }
  }
  return { patch, mistakes }
}
