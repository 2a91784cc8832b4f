/**
 * Which ranking rules does a search go through, and in which order?
 *
 * Every rule is a file here and is registered below. Source: search §6.4.
 *  1. `words` stands before the first rule about words, even where the settings do not name it.
 *  2. A rule that is named twice acts once; a field that is sorted by twice is sorted by once.
 *  3. A search by vectors has one rule over vectors where the first rule about words would stand (vectors §6.6).
 */
import type { MatchingStrategy } from '../../../requests.js'
import { customRule } from '../../fields/rules.js'
import type { GeoPoint, IndexData } from '../../index-data/index-data.js'
import type { TermResolver } from '../../query/resolver.js'
import type { RankingRule } from '../rule.js'
import { attributeRankRule } from './attribute-rank.js'
import { exactAttributeRule } from './exact-attribute.js'
import { exactWordsRule } from './exact-words.js'
import { geoRule } from './geo.js'
import { proximityByAttributeRule, proximityRule } from './proximity.js'
import { sortRule } from './sort.js'
import { typoRule } from './typo.js'
import { wordPositionRule } from './word-position.js'
import { wordsRule } from './words.js'

/** One criterion of a request's `sort`, checked. */
export type SortCriterion =
  | { readonly kind: 'field'; readonly field: string; readonly ascending: boolean }
  | { readonly kind: 'geo'; readonly target: GeoPoint; readonly ascending: boolean }

/** What of a search decides about its rules. */
export interface SearchedBy {
  /** The words of the query, null without any. */
  readonly words: {
    readonly resolver: TermResolver
    /** Per node of the query's graph the group in which it is given up, null if it never is. */
    readonly removalGroups: readonly (number | null)[]
    readonly strategy: MatchingStrategy
  } | null
  readonly sort: readonly SortCriterion[]
  /** The rule over vectors of a semantic search, else null. */
  readonly vector: RankingRule | null
}

/** The rules of a search by the order that the settings of the index give. */
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
    once(`sort ${field}`, () => sortRule(columns.byPath.get(field), { field, ascending }))
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
    // One rule over vectors stands where the first rule about words would.
    if (vector !== null) once('vector', () => vector)
    if (words === null) continue
    const { resolver, removalGroups, strategy } = words
    if (strategy !== 'all') once('words', () => wordsRule(resolver, removalGroups))
    const proximity = settings.proximityPrecision === 'byAttribute' ? proximityByAttributeRule : proximityRule
    if (rule === 'typo') once('typo', () => typoRule(resolver))
    else if (rule === 'proximity') once('proximity', () => proximity(resolver))
    else if (rule === 'attributeRank' || rule === 'attribute')
      once('attributeRank', () => attributeRankRule(data, resolver))
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
