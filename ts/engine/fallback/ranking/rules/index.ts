/**
 * Builds the list of ranking rules of a search.
 *
 * Every rule has a file here and is registered below. Source: search §6.4.
 * 1. `words` precedes the first rule about words, even if the settings do not name it.
 * 2. A repeated rule applies once, and so does a repeated sort field.
 * 3. With the matching strategy `any`, `relevance` is the only rule about words, at the place of the first of them.
 * 4. A vector search has a single vector rule, at the place of the first rule about words (vectors §6.6).
 */
import type { MatchingStrategy } from '../../../requests.js'
import { columnOf } from '../../facets/coordinates.js'
import { customRule } from '../../fields/rules.js'
import type { GeoPoint, IndexData } from '../../index-data/index-data.js'
import type { QueryGraph } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import type { RankingRule } from '../rule.js'
import { attributeRankRule } from './attribute-rank.js'
import { exactAttributeRule } from './exact-attribute.js'
import { exactWordsRule } from './exact-words.js'
import { geoRule } from './geo.js'
import { proximityByAttributeRule, proximityRule } from './proximity.js'
import { relevanceRule } from './relevance.js'
import { sortRule } from './sort.js'
import { typoRule } from './typo.js'
import { wordPositionRule } from './word-position.js'
import { wordsRule } from './words.js'

/** A validated criterion of the `sort` of a request. */
export type SortCriterion =
  | { readonly kind: 'field'; readonly field: string; readonly ascending: boolean }
  | { readonly kind: 'geo'; readonly target: GeoPoint; readonly ascending: boolean }

/** The parts of a search that determine its rules. */
interface SearchedBy {
  /** The query words; null without a query. */
  readonly words: {
    readonly resolver: TermResolver
    /** All readings of the query. */
    readonly graph: QueryGraph
    /** Removal group of each node of the query graph; null: never dropped. */
    readonly removalGroups: readonly (number | null)[]
    readonly strategy: MatchingStrategy
  } | null
  readonly sort: readonly SortCriterion[]
  /** The vector rule of a semantic search, else null. */
  readonly vector: RankingRule | null
}

/** Returns the rules of a search in the order of the index settings. */
export function rulesOfSearch(data: IndexData, { words, sort, vector }: SearchedBy): RankingRule[] {
  const { settings, columns } = data
  const rules: RankingRule[] = []
  const used = new Set<string>()
  const once = (name: string, ...made: (() => RankingRule)[]): void => {
    if (used.has(name)) return
    used.add(name)
    rules.push(...made.map((make) => make()))
  }
  const byField = (field: string, ascending: boolean): void =>
    once(`sort ${field}`, () => sortRule(columnOf(columns, field), { field, ascending }))
  for (const rule of settings.rankingRules) {
    if (rule === 'sort') {
      if (used.has('sort')) continue
      used.add('sort')
      for (const criterion of sort)
        if (criterion.kind === 'field') byField(criterion.field, criterion.ascending)
        else rules.push(geoRule(columns.points, criterion))
      continue
    }
    const custom = customRule(rule)
    if (custom !== null) {
      byField(custom.field, custom.ascending)
      continue
    }
    // The single vector rule is at the place of the first rule about words.
    if (vector !== null) once('vector', () => vector)
    if (words === null) continue
    const { resolver, graph, removalGroups, strategy } = words
    if (strategy === 'any') {
      once('relevance', () => relevanceRule(data, resolver, graph))
      continue
    }
    if (strategy !== 'all') once('words', () => wordsRule(resolver, removalGroups))
    const proximity = settings.proximityPrecision === 'byAttribute' ? proximityByAttributeRule : proximityRule
    if (rule === 'typo') once('typo', () => typoRule(resolver))
    else if (rule === 'proximity') once('proximity', () => proximity(resolver))
    else if (rule === 'attributeRank' || rule === 'attribute')
      once('attributeRank', () => attributeRankRule(data, resolver))
    else if (rule === 'relevance') once('relevance', () => relevanceRule(data, resolver, graph))
    else if (rule === 'exactness')
      once(
        'exactness',
        () => exactAttributeRule(resolver),
        () => exactWordsRule(resolver),
      )
    if (rule === 'wordPosition' || rule === 'attribute')
      once('wordPosition', () => wordPositionRule(resolver))
  }
  return rules
}
