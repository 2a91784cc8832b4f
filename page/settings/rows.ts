/** The settings with a single control. */
import type { Json } from '../api/types.ts'

export interface SettingRow {
  /** The key in the API. */
  readonly name: string
  readonly title: string
  readonly hint: string
  /** `lines`: a list of texts, one per line. `json`: other compound values. A list: its values to choose from. */
  readonly kind: 'lines' | 'text' | 'number' | 'toggle' | 'json' | readonly string[]
}

const row = (name: string, title: string, kind: SettingRow['kind'], hint: string): SettingRow => ({
  name,
  title,
  kind,
  hint,
})

export const searchRows: readonly SettingRow[] = [
  row(
    'matchingStrategy',
    'Matching strategy',
    ['last', 'all', 'frequency', 'any'],
    'Words that hits may lack, unless the search says it. Only in siftd',
  ),
  row('distinctAttribute', 'Distinct field', 'text', 'One hit per value'),
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
  row('searchCutoffMs', 'Search cutoff, ms', 'number', 'Time limit of a search; default: 1,500'),
]

export const wordRows: readonly SettingRow[] = [
  row('stopWords', 'Stop words', 'lines', 'Words that queries and documents ignore, one per line'),
  row('separatorTokens', 'Separators', 'lines', 'Additional texts that separate words'),
  row('nonSeparatorTokens', 'No separators', 'lines', 'Texts that do not separate words'),
  row('dictionary', 'Dictionary', 'lines', 'Texts that count as one word'),
  row('localizedAttributes', 'Languages of fields', 'json', 'Instead of recognizing them'),
  row('pinyin', 'Pinyin', 'toggle', 'Chinese words by their sound: beijing finds 北京. Only in siftd'),
]

export const otherRows: readonly SettingRow[] = [
  row('facetSearch', 'Facet search', 'toggle', 'Allow searching facet values'),
  row('faceting', 'Faceting', 'json', 'Number and order of values'),
  row('pagination', 'Pagination', 'json', 'Maximum number of hits'),
  row('foreignKeys', 'Foreign keys', 'json', 'Fields with ids of documents in other indexes'),
  row('rerankers', 'Rerankers', 'json', 'Models that order the first hits. Only in siftd'),
  row('chat', 'Chat', 'json', 'How a language model uses the index'),
]

export function typedFrom(kind: SettingRow['kind'], value: Json | undefined): string {
  if (kind === 'lines') return Array.isArray(value) ? value.join('\n') : ''
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
