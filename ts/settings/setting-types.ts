import { ApiError } from '../errors/index.js'
import {
  badValue,
  boolean,
  byKind,
  defaulted,
  integer,
  list,
  mapOf,
  named,
  nullable,
  number,
  oneOf,
  refined,
  required,
  shape,
  string,
  type Type,
  unitInterval,
} from '../parse/index.js'
import { byName, partial, positive, sortedKeys, stringSet, strings } from './common-types.js'
import { embedder, template } from './embedder-types.js'
import type { FilterableRule } from './index-settings.js'
import { ATTRIBUTE_WEIGHT_MAX } from './limits.js'
import { acceptedLocales, threeLetterLocale } from './locales.js'
import { isTypoWordSizeOrder } from './typo-words.js'
import { compoundLanguages, stemmedLanguages, stopWordLanguages } from './word-languages.js'

// Types of settings other than plain strings, booleans and lists.

const filterableCode = 'invalid_settings_filterable_attributes'
const noFilters = { equality: true, comparison: false } as const

const filterablePatterns = named(
  'FilterablePatterns',
  shape({
    attributePatterns: required(strings, filterableCode),
    features: defaulted(
      shape({
        facetSearch: defaulted(boolean, false, filterableCode),
        filter: defaulted(
          shape({
            equality: defaulted(boolean, noFilters.equality, filterableCode),
            comparison: defaulted(boolean, noFilters.comparison, filterableCode),
          }),
          noFilters,
          filterableCode,
        ),
      }),
      { facetSearch: false, filter: noFilters },
      filterableCode,
    ),
  }),
)

/** Fields with all features, or patterns with some features. The value includes defaults. */
export const filterableAttributes: Type<readonly FilterableRule[]> = list(
  byKind<FilterableRule>({ string, object: filterablePatterns }),
)

const foreignKeysCode = 'invalid_settings_foreign_keys'

export const foreignKeys = list(
  named(
    'ForeignKey',
    shape({
      foreignIndexUid: required(string, foreignKeysCode),
      fieldName: required(string, foreignKeysCode),
    }),
  ),
)

const ruleNames = [
  'words',
  'typo',
  'proximity',
  'attribute',
  'attributeRank',
  'wordPosition',
  'sort',
  'exactness',
  'relevance',
]

/** Names and function calls of geo search. A custom ranking rule cannot sort by them. */
const reservedNames = /^_geo(json|Distance|Point|Radius|BoundingBox|Polygon)?$/
const reservedCalls = /^_geo(Distance|Point|Radius|BoundingBox)?\(/

const rankingRule: Type<string> = refined(string, (rule, at) => {
  if (ruleNames.includes(rule)) return rule
  const [, name] = /^(.*):(?:asc|desc)$/s.exec(rule) ?? []
  if (name === undefined) {
    const known = ruleNames.map((one) => `\`${one}\``).join(', ')
    throw badValue(
      `\`${rule}\` is not a ranking rule: expected one of ${known}, \`<field>:asc\`, \`<field>:desc\``,
      at,
    )
  }
  if (reservedNames.test(name) || reservedCalls.test(name)) {
    throw badValue(`\`${rule}\` is reserved: \`${name}\` can only be used in the \`sort\` of a search`, at)
  }
  return rule
})

/** Ranking rules: built-in rules by name, custom rules as `field:asc` or `field:desc`. */
export const rankingRules: Type<readonly string[]> = refined(list(rankingRule), (rules, at) => {
  const part = rules.find((rule) => rule === 'attributeRank' || rule === 'wordPosition')
  if (rules.includes('attribute') && part !== undefined) {
    throw badValue(`\`attribute\` already contains \`${part}\`, they cannot be used together`, at)
  }
  return rules
})

export const synonyms = byName(strings)

export const matchingStrategies = ['last', 'all', 'frequency', 'any'] as const

/** Languages with a stemmer, as two-letter or three-letter codes. */
export const stemming = list(
  oneOf(acceptedLocales.filter((code) => stemmedLanguages.includes(threeLetterLocale(code)!))),
)

/** Languages with rules for compounds, as two-letter or three-letter codes. */
export const compounds = list(
  oneOf(acceptedLocales.filter((code) => compoundLanguages.includes(threeLetterLocale(code)!))),
)

/** Languages with a list of stop words, as two-letter or three-letter codes. */
export const stopWordLists = list(
  oneOf(acceptedLocales.filter((code) => stopWordLanguages.includes(threeLetterLocale(code)!))),
)

/** Weights by attribute, for the ranking rule `relevance`. */
export const attributeWeights = byName(
  number(
    (weight) => weight > 0 && weight <= ATTRIBUTE_WEIGHT_MAX,
    `greater than 0 and at most ${ATTRIBUTE_WEIGHT_MAX}`,
    { exclusiveMinimum: 0, maximum: ATTRIBUTE_WEIGHT_MAX },
  ),
)

/** Checks that every weighted attribute is searchable; called when the task runs. @throws ApiError */
export function checkAttributeWeights(names: readonly string[], searchable: readonly string[]): void {
  if (searchable.includes('*')) return
  const unknown = names.find((name) => !searchable.some((entry) => isSameOrBelow(name, entry)))
  if (unknown === undefined) return
  throw new ApiError(
    'invalid_settings_attribute_weights',
    `attribute \`${unknown}\` has a weight but is not searchable: add it to \`searchableAttributes\`, or remove ` +
      'its weight',
  )
}

const isSameOrBelow = (path: string, entry: string): boolean =>
  path === entry || path.startsWith(`${entry}.`) || entry.startsWith(`${path}.`)

const localizedCode = 'invalid_settings_localized_attributes'

/** Rules for the locales of attributes. The value keeps the sent form of the locales. */
export const localizedAttributes = list(
  named(
    'LocalizedAttributes',
    shape({
      attributePatterns: required(strings, localizedCode),
      locales: required(list(oneOf(acceptedLocales)), localizedCode),
    }),
  ),
)

const typoCode = 'invalid_settings_typo_tolerance'
const wordSize = integer(255)

export const typoTolerance = named(
  'TypoTolerance',
  partial(typoCode, {
    enabled: boolean,
    minWordSizeForTypos: refined(
      partial(typoCode, { oneTypo: wordSize, twoTypos: wordSize }),
      (sizes, at) => {
        const { oneTypo, twoTypos } = sizes
        if (!isTypoWordSizeOrder(oneTypo ?? 0, twoTypos ?? 255)) {
          throw badValue(`\`oneTypo\` (${oneTypo}) must not be larger than \`twoTypos\` (${twoTypos})`, at)
        }
        return sizes
      },
    ),
    disableOnWords: stringSet,
    disableOnAttributes: stringSet,
    disableOnNumbers: boolean,
  }),
)

export const faceting = named(
  'Faceting',
  partial('invalid_settings_faceting', {
    maxValuesPerFacet: integer(),
    sortFacetValuesBy: byName(oneOf(['alpha', 'count'])),
  }),
)

export const pagination = named(
  'Pagination',
  partial('invalid_settings_pagination', { maxTotalHits: positive }),
)

/** Embedders by name; null removes an embedder. */
export const embedders = refined(mapOf(nullable(embedder)), (map, at) => {
  if (map.has('')) throw badValue('an embedder needs a name', at)
  return sortedKeys(map)
})

const chatCode = 'invalid_settings_index_chat'

const chatTemplateBytes: Type<number> = refined(integer(), (bytes, at) => {
  // Source: the API uses the code of the embedders for this mistake in a chat.
  if (bytes === 0) throw badValue('must be at least 1', { ...at, code: 'invalid_settings_embedders' })
  return bytes
})

export const chat = named(
  'ChatSettings',
  partial(chatCode, {
    description: string,
    // An invalid template fails the task, not the request.
    documentTemplate: string,
    documentTemplateMaxBytes: chatTemplateBytes,
    searchParameters: partial(chatCode, {
      hybrid: shape({
        embedder: required(string, chatCode),
        semanticRatio: defaulted(unitInterval, 0.5, chatCode),
      }),
      limit: integer(),
      sort: strings,
      distinct: string,
      matchingStrategy: oneOf(matchingStrategies),
      attributesToSearchOn: strings,
      rankingScoreThreshold: unitInterval,
    }),
  }),
)

/** Checks that a chat template is valid; called when the task runs. @throws ApiError */
export function checkChatTemplate(text: string): void {
  template.text(text, { path: '.chat.documentTemplate', code: 'invalid_chat_setting_document_template' })
}

/** Checks the word sizes after merging; called when the task runs. @throws ApiError */
export function checkTypoWordSizes(oneTypo: number, twoTypos: number): void {
  if (isTypoWordSizeOrder(oneTypo, twoTypos)) return
  throw new ApiError(
    typoCode,
    `\`minWordSizeForTypos\` is invalid: \`oneTypo\` (${oneTypo}) must not be larger than \`twoTypos\` (${twoTypos})`,
  )
}
