/** Settings of an Algolia index → settings of an index. */
import { isDeepStrictEqual } from 'node:util'
import { defaultIndexSettings, threeLetterLocale } from '../../settings/index.js'
import { named, textsOf } from './foreign.js'

type Json = Readonly<Record<string, unknown>>

/** Settings that only say what searches show or how they are counted, or that have the same effect here without one. */
const ignored = new Set([
  ...['version', 'userData', 'highlightPreTag', 'highlightPostTag', 'snippetEllipsisText', 'responseFields'],
  ...['attributesToHighlight', 'attributesToSnippet', 'restrictHighlightAndSnippetArrays', 'maxFacetHits'],
  ...['hitsPerPage', 'primary', 'alternativesAsExact', 'exactOnSingleWordQuery', 'minProximity'],
  ...['replaceSynonymsInHighlight', 'attributeCriteriaComputedByMinProximity', 'advancedSyntax', 'queryType'],
  ...[
    'allowCompressionOfIntegerArray',
    'enableRules',
    'enablePersonalization',
    'decompoundQuery',
    'relevancyStrictness',
  ],
])

/** Settings that have no counterpart, with advice. */
const advice: Readonly<Record<string, string>> = {
  replicas: ': name attributes in `sortableAttributes`, and sort by them in each search',
  ignorePlurals: ': see the setting `stemming`',
  removeStopWords: ': see the setting `stopWordLists`',
  optionalWords: ': see the search parameter `matchingStrategy`',
  removeWordsIfNoResults: ': see the search parameter `matchingStrategy`',
  disablePrefixOnAttributes: ': see the setting `prefixSearch`',
  unretrievableAttributes: ': name all other attributes in `displayedAttributes`',
  semanticSearch: ': see embedders and hybrid search',
}

const defaultRanking = ['typo', 'geo', 'words', 'filters', 'proximity', 'attribute', 'exact', 'custom']

export function settingsOf(given: Json): {
  readonly settings: Json
  readonly leftOut: readonly string[]
} {
  const leftOut: string[] = []
  const settings: Record<string, unknown> = {}
  const read = new Set<string>()
  const take = (name: string): unknown => {
    read.add(name)
    return given[name] ?? null
  }
  const texts = (name: string): readonly string[] => textsOf(take(name))

  const searchable =
    texts('searchableAttributes').length > 0 ? texts('searchableAttributes') : texts('attributesToIndex')
  read.add('attributesToIndex')
  if (searchable.length > 0) {
    settings.searchableAttributes = unique(searchable.flatMap((entry) => entry.split(',').map(bareName)))
    const tied = searchable.filter((entry) => entry.includes(','))
    if (tied.length > 0) leftOut.push(`the equal rank of ${named(tied)}: attributes rank in their order`)
  }

  const sorts = [...texts('customRanking')].map(sortOf)
  const filterable = unique([
    ...texts('attributesForFaceting').map(bareName),
    ...texts('numericAttributesForFiltering').map(bareName),
    '_geo',
  ])
  settings.filterableAttributes = filterable
  settings.sortableAttributes = unique([...sorts.map(({ attribute }) => attribute), '_geo'])
  if (read.has('attributesForFaceting') && given.numericAttributesForFiltering === undefined)
    leftOut.push('filters on numbers without a setting: add these attributes to `filterableAttributes`')

  const ranking = texts('ranking')
  const firstOther = ranking.findIndex((rule) => !isSort(rule))
  const first = ranking.slice(0, firstOther === -1 ? ranking.length : firstOther).map(sortOf)
  if (sorts.length + first.length > 0)
    settings.rankingRules = unique([
      ...first.map(ruleOf),
      ...defaultIndexSettings.rankingRules,
      ...sorts.map(ruleOf),
    ])
  const others = ranking.filter((rule) => !isSort(rule))
  if (others.length > 0 && !isDeepStrictEqual(others, defaultRanking))
    leftOut.push(`the order of ${named(others)} in \`ranking\`: ranking rules keep the order of this API`)

  const distinct = take('distinct')
  const attribute = take('attributeForDistinct')
  if (typeof attribute === 'string' && distinct !== false && distinct !== 0) {
    settings.distinctAttribute = attribute
    if (typeof distinct === 'number' && distinct > 1)
      leftOut.push(`\`distinct\` ${distinct}: one hit for each \`${attribute}\` is shown`)
  }

  const retrieved = texts('attributesToRetrieve')
  if (retrieved.length > 0 && retrieved.every((name) => !/^[-*]/.test(name))) {
    const hidden = texts('unretrievableAttributes')
    settings.displayedAttributes = unique(['objectID', ...retrieved.filter((name) => !hidden.includes(name))])
  }
  const excluded = retrieved.filter((name) => name.startsWith('-')).map((name) => name.slice(1))
  if (excluded.length > 0)
    leftOut.push(
      `that \`attributesToRetrieve\` hides ${named(excluded)}: name all other attributes in \`displayedAttributes\``,
    )

  const typo = typoOf(take, leftOut)
  if (Object.keys(typo).length > 0) settings.typoTolerance = typo
  const faceting = {
    ...numberAt('maxValuesPerFacet', take('maxValuesPerFacet')),
    ...(take('sortFacetValuesBy') === 'count' && { sortFacetValuesBy: { '*': 'count' } }),
  }
  if (Object.keys(faceting).length > 0) settings.faceting = faceting
  const pages = numberAt('maxTotalHits', take('paginationLimitedTo'))
  if (Object.keys(pages).length > 0) settings.pagination = pages
  const symbols = take('separatorsToIndex')
  if (typeof symbols === 'string' && symbols !== '') settings.nonSeparatorTokens = unique([...symbols])
  const languages = texts('indexLanguages').length > 0 ? texts('indexLanguages') : texts('queryLanguages')
  read.add('queryLanguages')
  const locales = languages.flatMap((language) => threeLetterLocale(language) ?? [])
  if (locales.length > 0)
    settings.localizedAttributes = [{ attributePatterns: ['*'], locales: unique(locales) }]

  const rest = Object.entries(given).filter(
    ([name, value]) => !read.has(name) && !ignored.has(name) && !isEmpty(value),
  )
  for (const [name] of rest) leftOut.push(`\`${name}\`${advice[name] ?? ''}`)
  return { settings, leftOut }
}

function typoOf(take: (name: string) => unknown, leftOut: string[]): Json {
  const tolerance = take('typoTolerance')
  if (tolerance === 'min' || tolerance === 'strict')
    leftOut.push(`\`typoTolerance\` ${tolerance}: typos are tolerated as with \`true\``)
  const sizes = {
    ...numberAt('oneTypo', take('minWordSizefor1Typo')),
    ...numberAt('twoTypos', take('minWordSizefor2Typos')),
  }
  const words = textsOf(take('disableTypoToleranceOnWords'))
  const attributes = textsOf(take('disableTypoToleranceOnAttributes'))
  return {
    ...((tolerance === false || tolerance === 'false') && { enabled: false }),
    ...(Object.keys(sizes).length > 0 && { minWordSizeForTypos: sizes }),
    ...(words.length > 0 && { disableOnWords: words }),
    ...(attributes.length > 0 && { disableOnAttributes: attributes }),
    ...(take('allowTyposOnNumericTokens') === false && { disableOnNumbers: true }),
  }
}

/** The attribute in `unordered(title)`, `filterOnly(brand)` and the like. */
const bareName = (entry: string): string => entry.trim().replace(/^\w+\((.*)\)$/, '$1')

const isSort = (rule: string): boolean => /^(?:asc|desc)\(/.test(rule)

const sortOf = (rule: string): { readonly attribute: string; readonly isAscending: boolean } => ({
  attribute: bareName(rule),
  isAscending: rule.startsWith('asc('),
})

const ruleOf = ({ attribute, isAscending }: ReturnType<typeof sortOf>): string =>
  `${attribute}:${isAscending ? 'asc' : 'desc'}`

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)]

const numberAt = (name: string, value: unknown): Json => (typeof value === 'number' ? { [name]: value } : {})

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === false ||
  value === '' ||
  value === 'none' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && Object.keys(value).length === 0)
