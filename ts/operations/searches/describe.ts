/** Describes indexes to callers that do not know them: fields with types, usable filters, example values. */
import { cutText } from '../../parse/index.js'
import { type IndexSettings, parsedSettings, sourceOf } from '../../settings/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { boolean, bothFilters, defaulted, integer, readBody, searchFields, shape } from '../requests/index.js'
import { documentFields, listedDocuments } from './documents.js'
import { listedFields } from './fields.js'
import {
  DESCRIBED_FACETS_MAX,
  DESCRIBED_FIELDS_MAX,
  DESCRIBED_INDEXES_MAX,
  DESCRIBED_VALUES_MAX,
  SAMPLE_ITEMS_MAX,
  SAMPLE_TEXT_CHARS_MAX,
  SAMPLES_MAX,
  TYPED_DOCUMENTS_MAX,
} from './limits.js'
import type { Reading } from './reading.js'
import { search } from './search.js'
import type { SearchServices } from './services.js'

/** Query parameters of a description. */
export const descriptionParameters = {
  examples: defaulted(boolean, true, 'bad_request'),
}

/** Query parameters of the list of indexes that a caller may search. */
export const searchableListParameters = {
  offset: defaulted(integer(), 0, 'invalid_index_offset'),
  limit: defaulted(integer(DESCRIBED_INDEXES_MAX), 20, 'invalid_index_limit'),
}

/** An index that the caller may search. */
export interface SearchableIndex {
  readonly uid: string
  readonly primaryKey: string | null
  /** Documents that the caller may find. */
  readonly numberOfDocuments: number
}

/** A displayed field of the documents. */
interface DescribedField {
  readonly name: string
  /** Types of the values in some documents, such as `string` or `array of string`; `unknown` if they lack the field. */
  readonly type: string
  readonly min?: number
  readonly max?: number
}

/** An index as the caller sees it. Only displayed fields are named. */
interface IndexDescription extends SearchableIndex {
  readonly searchableAttributes: readonly string[]
  readonly filterableAttributes: readonly string[]
  /** Attributes that filters may compare with `<`, `>` and `TO`. */
  readonly comparableAttributes: readonly string[]
  readonly sortableAttributes: readonly string[]
  /** Embedders that make a vector of the text of a query. */
  readonly embedders: readonly string[]
}

/** A description with values of documents. */
export interface IndexDescriptionWithExamples extends IndexDescription {
  readonly fields: readonly DescribedField[]
  /** By filterable attribute: some of its values. */
  readonly facets: Readonly<Record<string, readonly string[]>>
  readonly filterExamples: readonly string[]
  readonly sortExamples: readonly string[]
  readonly sampleDocuments: readonly Readonly<Record<string, unknown>>[]
}

/** Returns an index with the number of documents that the request may find. */
export async function searchableIndex(
  services: SearchServices,
  entry: IndexEntry,
  reading: Reading,
): Promise<SearchableIndex> {
  const { uid, primaryKey } = entry
  return { uid, primaryKey, numberOfDocuments: await countDocuments(services, entry, reading) }
}

/** Describes an index. @param hasExamples false: reads no documents */
export async function describedIndex(
  services: SearchServices,
  entry: IndexEntry,
  hasExamples: boolean,
  reading: Reading,
): Promise<IndexDescription | IndexDescriptionWithExamples> {
  const { engine } = services
  const settings = parsedSettings(await engine.settings(entry.id))
  const page = { offset: 0, limit: DESCRIBED_FIELDS_MAX, filter: displayedOnly }
  const { results: views } = await listedFields(engine, entry, page)
  const named = (isWanted: (view: (typeof views)[number]) => boolean): readonly string[] =>
    views.filter(isWanted).map(({ name }) => name)
  const description: IndexDescription = {
    ...(await searchableIndex(services, entry, reading)),
    searchableAttributes: named(({ searchable }) => searchable.enabled),
    filterableAttributes: named(({ filterable }) => filterable.enabled),
    comparableAttributes: named(({ filterable }) => filterable.comparison),
    sortableAttributes: named(({ sortable }) => sortable.enabled),
    embedders: textEmbedders(settings),
  }
  if (!hasExamples) return description
  const facets = description.filterableAttributes.slice(0, DESCRIBED_FACETS_MAX)
  const wanted = readBody(Buffer.from(JSON.stringify({ limit: TYPED_DOCUMENTS_MAX, facets })), searchBody)
  const { body } = await search(services, entry, wanted, { ...reading, includeMetadata: false })
  const answer = JSON.parse(Buffer.from(body).toString()) as PlaceholderAnswer
  const values = Object.fromEntries(
    Object.entries(answer.facetDistribution ?? {}).map(([name, counts]) => [name, mostFrequent(counts)]),
  )
  const fields = views.map(({ name }): DescribedField => {
    const range = answer.facetStats?.[name]
    return { name, type: typeOf(answer.hits, name), ...(range && { min: range.min, max: range.max }) }
  })
  const examples = filterExamples(description, fields, values)
  return {
    ...description,
    fields,
    facets: values,
    filterExamples: examples,
    sortExamples: description.sortableAttributes
      .slice(0, 2)
      .flatMap((name) => [`${name}:asc`, `${name}:desc`]),
    sampleDocuments: answer.hits.slice(0, SAMPLES_MAX).map((hit) => shortened(hit) as Document),
  }
}

type Document = Readonly<Record<string, unknown>>

interface PlaceholderAnswer {
  readonly hits: readonly Document[]
  readonly facetDistribution?: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly facetStats?: Readonly<Record<string, { readonly min: number; readonly max: number }>>
}

const displayedOnly = {
  attributePatterns: null,
  displayed: true,
  searchable: null,
  sortable: null,
  distinct: null,
  rankingRule: null,
  filterable: null,
}

const documentsBody = shape(documentFields)
const searchBody = shape(searchFields)

/** Counts the documents that the request may find. */
async function countDocuments(
  services: SearchServices,
  entry: IndexEntry,
  reading: Reading,
): Promise<number> {
  const filter = bothFilters(null, reading.access.forcedFilter(entry.uid))
  if (filter === null) return (await services.engine.stats(entry.id)).numberOfDocuments
  const wanted = { ...readBody(Buffer.from('{"limit":0}'), documentsBody), filter }
  const page = await listedDocuments(services, entry, wanted, reading)
  return (JSON.parse(Buffer.from(page).toString()) as { readonly total: number }).total
}

const textEmbedders = ({ embedders }: IndexSettings): readonly string[] =>
  Object.entries(embedders)
    .filter(([, fields]) => sourceOf(fields) !== 'userProvided')
    .map(([name]) => name)

const mostFrequent = (counts: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .slice(0, DESCRIBED_VALUES_MAX)
    .map(([value]) => (value.length > SAMPLE_TEXT_CHARS_MAX ? null : value))
    .filter((value) => value !== null)

/** Returns the types of the values at a dotted path, such as `string or array of string`. */
function typeOf(documents: readonly Document[], path: string): string {
  const found = new Set<string>()
  for (const document of documents)
    for (const value of valuesAt(document, path.split('.'))) {
      if (value === null || value === undefined) continue
      if (!Array.isArray(value)) found.add(typeof value)
      else for (const type of new Set(value.map((item) => typeof item))) found.add(`array of ${type}`)
    }
  return found.size === 0 ? 'unknown' : [...found].sort().join(' or ')
}

function valuesAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (path.length === 0) return [value]
  if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, path))
  if (typeof value !== 'object' || value === null) return []
  // A key may contain dots itself.
  return path.flatMap((_, at) => {
    const key = path.slice(0, at + 1).join('.')
    return Object.hasOwn(value, key) ? valuesAt((value as Document)[key], path.slice(at + 1)) : []
  })
}

/** Returns valid filters with attributes and values of the index. */
function filterExamples(
  { comparableAttributes }: IndexDescription,
  fields: readonly DescribedField[],
  values: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const examples: string[] = []
  const texts = Object.entries(values).filter(
    ([name, some]) => some.length > 0 && fields.some((field) => field.name === name && !isNumeric(field)),
  )
  const [text] = texts
  if (text !== undefined) {
    const [name, [first = '', second]] = text
    examples.push(`${name} = ${quoted(first)}`)
    if (second !== undefined) examples.push(`${name} IN [${quoted(first)}, ${quoted(second)}]`)
  }
  const number = fields.find((field) => isNumeric(field) && comparableAttributes.includes(field.name))
  if (number !== undefined) {
    const { name, min = 0, max = 0 } = number
    examples.push(`${name} ${min} TO ${max}`, `${name} >= ${min} AND NOT ${name} = ${max}`)
    if (text !== undefined) examples.push(`${text[0]} = ${quoted(text[1][0] ?? '')} AND ${name} < ${max}`)
  }
  return examples
}

const isNumeric = ({ min }: DescribedField): boolean => min !== undefined

const quoted = (value: string): string => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

/** Shortens long texts and lists of a document. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > SAMPLE_TEXT_CHARS_MAX ? `${cutText(value, SAMPLE_TEXT_CHARS_MAX)}…` : value
  if (Array.isArray(value)) return value.slice(0, SAMPLE_ITEMS_MAX).map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]))
}
