import type { RerankerFields } from './rerankers.js'

/**
 * The complete settings of an index, as engines receive and store them and as `GET /settings` shows them: with all keys
 * in a fixed order, sorted sets, and defaults filled in.
 */
export interface IndexSettings {
  readonly displayedAttributes: readonly string[]
  readonly searchableAttributes: readonly string[]
  readonly filterableAttributes: readonly FilterableRule[]
  readonly sortableAttributes: readonly string[]
  readonly foreignKeys: readonly { readonly foreignIndexUid: string; readonly fieldName: string }[]
  readonly rankingRules: readonly string[]
  readonly stopWords: readonly string[]
  readonly nonSeparatorTokens: readonly string[]
  readonly separatorTokens: readonly string[]
  readonly dictionary: readonly string[]
  readonly synonyms: Readonly<Record<string, readonly string[]>>
  readonly distinctAttribute: string | null
  readonly proximityPrecision: 'byWord' | 'byAttribute'
  readonly typoTolerance: {
    readonly enabled: boolean
    readonly minWordSizeForTypos: { readonly oneTypo: number; readonly twoTypos: number }
    readonly disableOnWords: readonly string[]
    readonly disableOnAttributes: readonly string[]
    readonly disableOnNumbers: boolean
  }
  readonly faceting: {
    readonly maxValuesPerFacet: number
    readonly sortFacetValuesBy: Readonly<Record<string, 'alpha' | 'count'>>
  }
  readonly pagination: { readonly maxTotalHits: number }
  /** By name; fields as in `EmbedderFields`. Engines read only the fields that they need. */
  readonly embedders: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** null: the default of 1500 ms. */
  readonly searchCutoffMs: number | null
  readonly localizedAttributes: readonly LocalizedRule[] | null
  readonly facetSearch: boolean
  readonly prefixSearch: 'indexingTime' | 'disabled'
  readonly chat: Readonly<Record<string, unknown>>
  /** Weights of attributes in the ranking rule `relevance`; absent in settings that an older version stored. */
  readonly attributeWeights?: Readonly<Record<string, number>>
  /** Default of `matchingStrategy` in searches; absent in settings that an older version stored: `last`. */
  readonly matchingStrategy?: MatchingStrategy
  /** By name; absent in settings that an older version stored. Engines ignore them. */
  readonly rerankers?: Readonly<Record<string, RerankerFields>>
  /** Three-letter codes of languages whose word forms searches find; absent in settings that an older version stored. */
  readonly stemming?: readonly string[]
  /** Three-letter codes of languages whose compounds searches find by parts; absent in settings that an older version stored. */
  readonly compounds?: readonly string[]
  /** True if Latin words find Chinese words by their pinyin; absent in settings that an older version stored. */
  readonly pinyin?: boolean
  /** Three-letter codes of languages whose stop words searches ignore; absent in settings that an older version stored. */
  readonly stopWordLists?: readonly string[]
}

/** Tells which words of a query a hit may lack. `any`: all but one, in whatever order. */
export type MatchingStrategy = 'last' | 'all' | 'frequency' | 'any'

export type FilterableRule =
  | string
  | {
      readonly attributePatterns: readonly string[]
      readonly features: {
        readonly facetSearch: boolean
        readonly filter: { readonly equality: boolean; readonly comparison: boolean }
      }
    }

/** A rule with its locales as three-letter codes, whatever form was sent. */
interface LocalizedRule {
  readonly attributePatterns: readonly string[]
  readonly locales: readonly string[]
}

/** The settings of a new index. Source: the API's settings page. */
export const defaultIndexSettings: IndexSettings = {
  displayedAttributes: ['*'],
  searchableAttributes: ['*'],
  filterableAttributes: [],
  sortableAttributes: [],
  foreignKeys: [],
  rankingRules: ['words', 'typo', 'proximity', 'attributeRank', 'sort', 'wordPosition', 'exactness'],
  stopWords: [],
  nonSeparatorTokens: [],
  separatorTokens: [],
  dictionary: [],
  synonyms: {},
  distinctAttribute: null,
  proximityPrecision: 'byWord',
  typoTolerance: {
    enabled: true,
    minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 },
    disableOnWords: [],
    disableOnAttributes: [],
    disableOnNumbers: false,
  },
  faceting: { maxValuesPerFacet: 100, sortFacetValuesBy: { '*': 'alpha' } },
  pagination: { maxTotalHits: 1000 },
  embedders: {},
  searchCutoffMs: null,
  localizedAttributes: null,
  facetSearch: true,
  prefixSearch: 'indexingTime',
  chat: {},
  attributeWeights: {},
  matchingStrategy: 'last',
  rerankers: {},
  stemming: [],
  compounds: [],
  pinyin: false,
  stopWordLists: [],
}
