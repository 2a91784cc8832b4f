/** The schema of a Typesense collection → settings of an index. */
import { defaultIndexSettings, threeLetterLocale } from '../../settings/index.js'
import { type DocumentForm, ForeignError, named, objectOf, objectsOf, textsOf } from './foreign.js'

interface Field {
  readonly name: string
  readonly type: string
  readonly facet: boolean
  readonly index: boolean
  readonly sort: boolean
  readonly locale: string
  readonly dimensions: number | null
  /** Names of options that have no counterpart. */
  readonly lost: readonly string[]
}

export interface Collection {
  readonly name: string
  readonly documents: number | null
  readonly fields: readonly Field[]
  readonly defaultSortingField: string
  readonly tokenSeparators: readonly string[]
  readonly symbolsToIndex: readonly string[]
  readonly synonymSets: readonly string[]
  readonly curationSets: readonly string[]
}

const numeric = new Set(['int32', 'int64', 'float', 'int32[]', 'int64[]', 'float[]'])
const flags = new Set(['bool', 'bool[]'])
const texts = new Set(['string', 'string[]', 'string*', 'auto', 'object', 'object[]'])
const lostOptions = ['infix', 'stem', 'stem_dictionary', 'reference', 'range_index', 'embed'] as const

/** @throws ForeignError */
export function collectionOf(value: unknown): Collection {
  const found = objectOf(value, 'a collection')
  const { name, num_documents: documents } = found
  if (typeof name !== 'string') throw new ForeignError('a collection has no name: is it Typesense?')
  return {
    name,
    documents: typeof documents === 'number' ? documents : null,
    fields: objectsOf(found.fields).map(fieldOf),
    defaultSortingField: typeof found.default_sorting_field === 'string' ? found.default_sorting_field : '',
    tokenSeparators: textsOf(found.token_separators),
    symbolsToIndex: textsOf(found.symbols_to_index),
    synonymSets: textsOf(found.synonym_sets),
    curationSets: textsOf(found.curation_sets),
  }
}

function fieldOf(found: Readonly<Record<string, unknown>>): Field {
  const type = String(found.type)
  const isNumber = numeric.has(type) && !type.endsWith('[]')
  return {
    name: String(found.name),
    type,
    facet: found.facet === true,
    index: found.index !== false,
    sort: typeof found.sort === 'boolean' ? found.sort : isNumber,
    locale: typeof found.locale === 'string' ? found.locale : '',
    dimensions: typeof found.num_dim === 'number' && found.num_dim > 0 ? found.num_dim : null,
    lost: lostOptions.filter((option) => Boolean(found[option])),
  }
}

interface SchemaCopy {
  readonly settings: Readonly<Record<string, unknown>>
  readonly form: DocumentForm
  readonly leftOut: readonly string[]
}

export function schemaOf(collection: Collection): SchemaCopy {
  const { fields, defaultSortingField, tokenSeparators, symbolsToIndex } = collection
  const leftOut: string[] = []
  const plain = fields.filter(({ name }) => name !== 'id' && !isPattern(name))
  const patterns = fields.filter(({ name }) => isPattern(name))
  const indexed = plain.filter(({ index }) => index)
  const vectors = indexed.filter(({ dimensions }) => dimensions !== null)
  const places = indexed.filter(({ type }) => type === 'geopoint' || type === 'geopoint[]')
  const place = places.find(({ type }) => type === 'geopoint')
  const values = indexed.filter((one) => !vectors.includes(one) && !places.includes(one))

  const searchable = values.filter(({ type }) => texts.has(type)).map(({ name }) => name)
  const filterable = values
    .filter(({ type, facet }) => facet || numeric.has(type) || flags.has(type))
    .map(({ name }) => name)
  const sortable = values.filter(({ sort }) => sort).map(({ name }) => name)
  if (place !== undefined) {
    filterable.push('_geo')
    sortable.push('_geo')
  }
  const embedders = Object.fromEntries(
    vectors.map(({ name, dimensions }) => [name, { source: 'userProvided', dimensions }]),
  )
  const localized = values.flatMap(({ name, locale }) => {
    const code = threeLetterLocale(locale)
    return code === undefined ? [] : [{ attributePatterns: [name], locales: [code] }]
  })
  const isSortedBy = defaultSortingField !== ''
  if (isSortedBy && !sortable.includes(defaultSortingField)) sortable.push(defaultSortingField)

  const unfiltered = values.filter(({ type, facet }) => type.startsWith('string') && !facet)
  if (unfiltered.length > 0)
    leftOut.push(
      `filters on ${namesOf(unfiltered)}: text fields without \`facet\`; add them to \`filterableAttributes\` if you filter by them`,
    )
  if (patterns.length > 0)
    leftOut.push(`rules for field names, ${namesOf(patterns)}: all fields are searchable instead`)
  const others = places.filter((one) => one !== place)
  if (others.length > 0) leftOut.push(`places in ${namesOf(others)}: documents have one place, in \`_geo\``)
  if (place !== undefined && place.name !== '_geo')
    leftOut.push(`the name of \`${place.name}\`: the place is in \`_geo\`, which filters and sorts name`)
  for (const option of lostOptions) {
    const having = fields.filter(({ lost }) => lost.includes(option))
    if (having.length > 0)
      leftOut.push(`the option \`${option}\` of ${namesOf(having)}${advice[option] ?? ''}`)
  }
  const unknown = values.filter(({ locale }) => locale !== '' && threeLetterLocale(locale) === undefined)
  if (unknown.length > 0) leftOut.push(`the locale of ${namesOf(unknown)}`)

  return {
    settings: {
      searchableAttributes: patterns.length > 0 || searchable.length === 0 ? ['*'] : searchable,
      filterableAttributes: filterable,
      sortableAttributes: sortable,
      ...(isSortedBy && {
        rankingRules: [...defaultIndexSettings.rankingRules, `${defaultSortingField}:desc`],
      }),
      ...(tokenSeparators.length > 0 && { separatorTokens: tokenSeparators }),
      ...(symbolsToIndex.length > 0 && { nonSeparatorTokens: symbolsToIndex }),
      ...(localized.length > 0 && { localizedAttributes: localized }),
      ...(vectors.length > 0 && { embedders }),
    },
    form: {
      idField: 'id',
      removed: [],
      geo: place === undefined ? null : { field: place.name, order: 'pair' },
      vectors: vectors.map(({ name }) => name),
    },
    leftOut,
  }
}

const advice: Readonly<Record<string, string>> = {
  embed: ': the vectors are copied; set an embedder with a source for new documents',
  stem: ': see the setting `stemming`',
  reference: ': see the setting `foreignKeys`',
}

/** True for a name with a regular expression, such as `.*` or `name_.*`. */
const isPattern = (name: string): boolean => name.includes('*')

const namesOf = (fields: readonly Field[]): string => named(fields.map(({ name }) => name))
