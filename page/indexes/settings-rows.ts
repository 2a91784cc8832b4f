/** Which settings are there, how is each typed into a form, and how is it read back? */
import type { Json, Settings } from '../api/types.ts'

export interface SettingRow {
  /** The key in the API. */
  readonly name: string
  readonly title: string
  readonly hint: string
  /** `lines`: texts, one a line. `json`: anything else that is no single value. */
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
  row('rankingRules', 'Ranking rules', 'lines', 'First decides first'),
  row('distinctAttribute', 'Distinct attribute', 'text', 'One hit per value'),
  row('stopWords', 'Stop words', 'lines', 'Words that queries do without'),
  row('synonyms', 'Synonyms', 'json', '{ "film": ["movie"] }'),
  row('typoTolerance', 'Typo tolerance', 'json', 'From which length how many typos are forgiven'),
  row(
    'prefixSearch',
    'Prefix search',
    ['indexingTime', 'disabled'],
    'Whether the last word may be unfinished',
  ),
  row(
    'proximityPrecision',
    'Proximity precision',
    ['byWord', 'byAttribute'],
    'How nearness of words is measured',
  ),
  row('separatorTokens', 'Separators', 'lines', 'Further texts that end a word'),
  row('nonSeparatorTokens', 'No separators', 'lines', 'Characters that end no word here'),
  row('dictionary', 'Dictionary', 'lines', 'Texts that are one word'),
  row('localizedAttributes', 'Languages', 'json', 'Which attributes are in which languages'),
  row('faceting', 'Faceting', 'json', 'How many values are counted, and in which order'),
  row('facetSearch', 'Facet search', 'toggle', 'Whether values of facets can be searched'),
  row('pagination', 'Pagination', 'json', 'How far down hits are looked at'),
  row('searchCutoffMs', 'Search cutoff, ms', 'number', 'Time after which a search ends; empty: 1,500'),
  row('embedders', 'Embedders', 'json', 'Where vectors come from'),
]

/** The kind of a row for a value: lists that hold more than texts are edited as JSON. */
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
  if (!/^\d+$/.test(typed.trim())) throw new SyntaxError('this is no whole number')
  return Number(typed)
}

/** What has been typed and differs from what is set, and what cannot be read. */
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
