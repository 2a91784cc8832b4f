/**
 * Here is a query: which documents match, and by which rules are they ranked?
 *
 * The first half of every search, of facet search too. Source: spec/search-semantics.md §1, §6, §18.
 *  1. A filter and refused words are subtracted first, whatever the time left.
 *  2. Without a word to look for, all that is left matches, and only sorting ranks it.
 *  3. `words` stands before the first rule that looks at words, even where the settings do not name it.
 *  4. A rule that is named twice acts once, a field that is sorted by twice is sorted by once.
 */
import type { IndexSettings } from '../../../settings/index.js'
import { EngineError } from '../../engine-error.js'
import type { FilterValue, MatchingStrategy } from '../../requests.js'
import { DocSet } from '../doc-set.js'
import { covers, matchesPattern } from '../fields/patterns.js'
import { customRule, localesOf, searchesEverything, searchWeight } from '../fields/rules.js'
import { documentsMatching, FilterError, type FilterFeatures, parseFilter } from '../filter/index.js'
import { viewOf } from '../index-data.js'
import type { OpenIndex } from '../open-index.js'
import { buildGraph, type QueryGraph, removalGroups } from '../query/graph.js'
import { Matcher } from '../query/matcher.js'
import { type ParsedQuery, parseQuery } from '../query/parse.js'
import { synonymsOf } from '../query/synonyms.js'
import {
  attributeRankRule,
  exactAttributeRule,
  exactWordsRule,
  geoRule,
  matchSet,
  proximityRule,
  type RankingRule,
  sortRule,
  typoRule,
  wordPositionRule,
  wordsRule,
} from '../ranking/index.js'
import type { SortCriterion } from './sort-request.js'

/** What decides who matches. */
export interface CandidateRequest {
  readonly indexUid: string
  readonly q: string | null
  readonly filter: FilterValue | null
  readonly matchingStrategy: MatchingStrategy
  readonly attributesToSearchOn: readonly string[] | null
  readonly locales: readonly string[] | null
  /** Documents that are not to be ranked; absent: none. */
  readonly without?: DocSet
  readonly features: FilterFeatures
}

export interface Candidates {
  readonly documents: DocSet
  /** Null for a placeholder search. */
  readonly query: { readonly graph: QueryGraph; readonly groups: readonly (number | null)[] } | null
  readonly matcher: Matcher
  readonly parsed: ParsedQuery
  /** Languages the query may be in. */
  readonly locales: readonly string[]
}

/** How messages about an index begin. */
export const prefixOf = (indexUid: string): string => `index \`${indexUid}\`: `

/** Documents that pass a filter; the set is the caller's. @throws EngineError with `code` */
export function filteredDocuments(
  { data, cache }: OpenIndex,
  filter: FilterValue | null,
  features: FilterFeatures,
  code: 'invalid_search_filter' | 'invalid_similar_filter' = 'invalid_search_filter',
): DocSet {
  try {
    const parsed = parseFilter(filter, features)
    if (parsed === null) return data.alive.clone()
    return cache.filter(JSON.stringify(filter), () => documentsMatching(viewOf(data), parsed)).clone()
  } catch (error) {
    if (error instanceof FilterError) throw new EngineError(error.code(code), error.message)
    throw error
  }
}

export function findCandidates(index: OpenIndex, request: CandidateRequest): Candidates {
  const { data, cache } = index
  const { settings } = data
  const documents = filteredDocuments(index, request.filter, request.features)
  if (request.without !== undefined) documents.subtract(request.without)
  const allowed = searchedFields(index, request)
  const matcher = new Matcher(data, cache, allowed)
  const locales = request.locales ?? queryLocales(index, allowed)
  const text = request.q ?? ''
  const tokens = text.trim() === '' ? [] : data.tokenizer.tokenize(text, locales)
  const parsed = parseQuery(tokens, settings.prefixSearch === 'indexingTime')
  for (const word of parsed.negativeWords) documents.subtract(matcher.documentsOfWord(word, false))
  for (const words of parsed.negativePhrases) documents.subtract(matcher.documentsOfPhrase(words))
  if (parsed.terms.length === 0) return { documents, query: null, matcher, parsed, locales }
  const graph = buildGraph(parsed.terms, matcher, {
    budgetOf: typoBudget(settings),
    synonyms: cache.once('synonyms', () => synonymsOf(settings.synonyms, data.tokenizer)),
  })
  const groups = removalGroups(graph, request.matchingStrategy, (id) => frequency(matcher, graph, id))
  documents.intersect(matchSet(matcher, graph, groups))
  return { documents, query: { graph, groups }, matcher, parsed, locales }
}

/** Documents of all readings of the word with this id, in the whole index. */
function frequency(matcher: Matcher, graph: QueryGraph, id: number): number {
  const found = new DocSet(matcher.bound)
  for (const { term, subset, firstId, lastId } of graph.nodes)
    if (firstId <= id && id <= lastId) found.union(matcher.documentsOf(term, subset))
  return found.count()
}

/** Source: §5.1. */
export function typoBudget({ typoTolerance }: IndexSettings): (word: string) => number {
  const { enabled, minWordSizeForTypos, disableOnWords } = typoTolerance
  const protectedWords = new Set(disableOnWords)
  return (word) => {
    if (!enabled || protectedWords.has(word)) return 0
    const length = Array.from(word).length
    return length < minWordSizeForTypos.oneTypo ? 0 : length < minWordSizeForTypos.twoTypos ? 1 : 2
  }
}

/** Per field 1 if it is searched, null without a restriction. Source: §18. */
function searchedFields({ data }: OpenIndex, request: CandidateRequest): Uint8Array | null {
  const list = request.attributesToSearchOn
  if (list === null) return null
  const { settings, fieldPaths } = data
  const searchable = fieldPaths.map((path) => searchWeight(settings, path) !== null)
  const allowed = new Uint8Array(fieldPaths.length)
  for (const entry of list) {
    let known = entry === '*'
    for (const [field, path] of fieldPaths.entries()) {
      if (!searchable[field] || !matchesPattern(entry, path)) continue
      allowed[field] = 1
      known = true
    }
    known ||= !entry.includes('*') && settings.searchableAttributes.some((name) => covers(name, entry))
    if (!known && !searchesEverything(settings)) throw notSearchable(settings, entry, request.indexUid)
  }
  // `*` lifts the restriction, yet what is named beside it has to exist.
  return list.includes('*') ? null : allowed
}

function notSearchable(settings: IndexSettings, entry: string, indexUid: string): EngineError {
  const { displayedAttributes, searchableAttributes } = settings
  const everything = displayedAttributes.includes('*')
  const shown = searchableAttributes.filter((name) => everything || displayedAttributes.includes(name))
  const hidden = shown.length < searchableAttributes.length ? ', `<..hidden-attributes>`' : ''
  return new EngineError(
    'invalid_search_attributes_to_search_on',
    `${prefixOf(indexUid)}attribute \`${entry}\` is not searchable; available searchable attributes are: ` +
      `\`${shown.join(', ')}\`${hidden}`,
  )
}

function queryLocales({ data }: OpenIndex, allowed: Uint8Array | null): readonly string[] {
  if (data.settings.localizedAttributes === null) return []
  const locales = new Set<string>()
  for (const [field, path] of data.fieldPaths.entries()) {
    if (allowed !== null && allowed[field] !== 1) continue
    if (searchWeight(data.settings, path) === null) continue
    for (const locale of localesOf(data.settings, path) ?? []) locales.add(locale)
  }
  return [...locales]
}

/** The rules that act on a search, in order. Source: §6.4; with `vector`, spec/vectors.md §6.6. */
export function effectiveRules(
  { data }: OpenIndex,
  { query, matcher }: Pick<Candidates, 'query' | 'matcher'>,
  sort: readonly SortCriterion[],
  strategy: MatchingStrategy,
  vector: RankingRule | null = null,
): RankingRule[] {
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
  const words = (): void => {
    if (query === null || strategy === 'all') return
    once('words', () => wordsRule(matcher, query.groups))
  }
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
    // One rule by meaning stands where the first rule by words did.
    if (vector !== null) once('vector', () => vector)
    if (query === null) continue
    words()
    const byAttribute = settings.proximityPrecision === 'byAttribute'
    if (rule === 'typo') once('typo', () => typoRule(matcher))
    else if (rule === 'proximity') once('proximity', () => proximityRule(matcher, byAttribute))
    else if (rule === 'attributeRank' || rule === 'attribute')
      once('attributeRank', () => rankRule(data, matcher))
    else if (rule === 'exactness')
      once(
        'exactness',
        () => exactAttributeRule(matcher),
        () => exactWordsRule(matcher),
      )
    if (rule === 'wordPosition' || rule === 'attribute') once('wordPosition', () => wordPositionRule(matcher))
  }
  return rules
}

function rankRule(data: OpenIndex['data'], matcher: Matcher): RankingRule {
  const { settings, fieldPaths } = data
  const weights = Uint16Array.from(fieldPaths, (path) => searchWeight(settings, path) ?? 0)
  const most = searchesEverything(settings) ? 0 : Math.max(0, new Set(settings.searchableAttributes).size - 1)
  return attributeRankRule(matcher, weights, most)
}
