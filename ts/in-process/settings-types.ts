/** Types of the settings of an index. */
import type { Attribute, Document, Pattern, ReservedAttribute } from './document-types.js'

/** Attributes with the same features of filters. */
export interface FilterablePatterns<T = Document> {
  readonly attributePatterns: readonly (Attribute<T> | Pattern | ReservedAttribute)[]
  readonly features?: {
    readonly facetSearch?: boolean
    readonly filter?: { readonly equality?: boolean; readonly comparison?: boolean }
  }
}

/** A ranking rule, or an attribute to rank by with its direction. */
export type RankingRule<T = Document> =
  string extends Attribute<T> ? string : BuiltInRule | `${Attribute<T>}:${'asc' | 'desc'}`

type BuiltInRule =
  | 'words'
  | 'typo'
  | 'proximity'
  | 'attribute'
  | 'attributeRank'
  | 'wordPosition'
  | 'sort'
  | 'exactness'
  | 'relevance'

/** An embedder. Fields depend on its source: docs/vectors.md. */
export interface Embedder {
  readonly source?: 'openAi' | 'huggingFace' | 'ollama' | 'userProvided' | 'rest' | 'composite'
  readonly model?: string | null
  readonly revision?: string | null
  readonly pooling?: 'useModel' | 'forceCls' | 'forceMean' | null
  readonly apiKey?: string | null
  readonly dimensions?: number | null
  readonly binaryQuantized?: boolean | null
  readonly documentTemplate?: string | null
  readonly documentTemplateMaxBytes?: number | null
  readonly url?: string | null
  readonly request?: unknown
  readonly response?: unknown
  readonly headers?: Readonly<Record<string, string>> | null
  readonly indexingFragments?: Readonly<Record<string, { readonly value: unknown } | null>> | null
  readonly searchFragments?: Readonly<Record<string, { readonly value: unknown } | null>> | null
  readonly searchEmbedder?: Embedder | null
  readonly indexingEmbedder?: Embedder | null
  readonly distribution?: { readonly mean: number; readonly sigma: number } | null
}

/** A reranker. Fields depend on its source: docs/reranking.md. */
export interface Reranker {
  readonly source?: 'cohere' | 'jina' | 'voyage' | 'tei' | 'rest' | 'huggingFace'
  readonly url?: string | null
  readonly apiKey?: string | null
  readonly model?: string | null
  readonly revision?: string | null
  readonly headers?: Readonly<Record<string, string>> | null
  readonly documentTemplate?: string | null
  readonly documentTemplateMaxBytes?: number | null
  readonly timeoutMs?: number | null
}

/** The settings of an index, as `settings()` returns them. */
export interface Settings<T = Document> {
  readonly displayedAttributes: readonly (Attribute<T> | Pattern | ReservedAttribute)[]
  readonly searchableAttributes: readonly (Attribute<T> | Pattern)[]
  readonly filterableAttributes: readonly (
    | Attribute<T>
    | Pattern
    | ReservedAttribute
    | FilterablePatterns<T>
  )[]
  readonly sortableAttributes: readonly (Attribute<T> | Pattern | ReservedAttribute)[]
  /** Absent unless the experimental feature `foreignKeys` is on. */
  readonly foreignKeys?: readonly { readonly foreignIndexUid: string; readonly fieldName: Attribute<T> }[]
  readonly rankingRules: readonly RankingRule<T>[]
  readonly stopWords: readonly string[]
  readonly nonSeparatorTokens: readonly string[]
  readonly separatorTokens: readonly string[]
  readonly dictionary: readonly string[]
  readonly synonyms: Readonly<Record<string, readonly string[]>>
  readonly distinctAttribute: Attribute<T> | null
  readonly proximityPrecision: 'byWord' | 'byAttribute'
  readonly typoTolerance: {
    readonly enabled: boolean
    readonly minWordSizeForTypos: { readonly oneTypo: number; readonly twoTypos: number }
    readonly disableOnWords: readonly string[]
    readonly disableOnAttributes: readonly (Attribute<T> | Pattern)[]
    readonly disableOnNumbers: boolean
  }
  readonly faceting: {
    readonly maxValuesPerFacet: number
    readonly sortFacetValuesBy: { readonly [A in Attribute<T> | '*']?: 'alpha' | 'count' }
  }
  readonly pagination: { readonly maxTotalHits: number }
  readonly embedders: Readonly<Record<string, Embedder>>
  readonly searchCutoffMs: number | null
  readonly localizedAttributes:
    | readonly {
        readonly attributePatterns: readonly (Attribute<T> | Pattern)[]
        readonly locales: readonly string[]
      }[]
    | null
  readonly facetSearch: boolean
  readonly prefixSearch: 'indexingTime' | 'disabled'
  /** Weights in the ranking rule `relevance`. Absent if none are set. */
  readonly attributeWeights?: { readonly [A in Attribute<T>]?: number }
  /** The strategy of searches that name none. Absent for `last`. */
  readonly matchingStrategy?: 'last' | 'all' | 'frequency' | 'any'
  /** By name. Absent if none are set. */
  readonly rerankers?: Readonly<Record<string, Reranker>>
  /** Languages whose word forms searches find. Absent if none is set. */
  readonly stemming?: readonly string[]
  /** Languages whose compounds searches find by their parts. Absent if none is set. */
  readonly compounds?: readonly string[]
  /** True if Latin words find Chinese words by their pinyin. Absent if false. */
  readonly pinyin?: boolean
  /** Languages whose stop words searches ignore outside phrases. Absent if none is set. */
  readonly stopWordLists?: readonly string[]
  /** Absent unless the experimental feature `chatCompletions` is on. */
  readonly chat?: Readonly<Record<string, unknown>>
}

/** Some members of an object, at every level; null resets one. */
type Patch<V> = V extends readonly unknown[] | string | number | boolean
  ? V
  : { readonly [K in keyof V]?: Patch<V[K]> | null }

/** Settings to change, as in the body of PATCH /settings. Absent ones stay, null resets. */
export type SettingsPatch<T = Document> = Patch<
  Omit<Settings<T>, 'embedders' | 'rerankers' | 'synonyms' | 'chat'>
> & {
  readonly synonyms?: Settings['synonyms'] | null
  /** By name; null removes an embedder. */
  readonly embedders?: Readonly<Record<string, Embedder | null>> | null
  /** By name; null removes a reranker. */
  readonly rerankers?: Readonly<Record<string, Reranker | null>> | null
  readonly chat?: Readonly<Record<string, unknown>> | null
}
