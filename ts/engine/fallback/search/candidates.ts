/**
 * Finds the documents that match a query.
 *
 * The first half of every search, including facet search. Source: search §1, §6.
 * 1. Filter and negated terms are applied first, even if time is up.
 * 2. Without a query term, all remaining documents match.
 */
import { clientMessages } from '../../../errors/index.js'
import { EngineError } from '../../engine-error.js'
import { searchedText } from '../../query-text.js'
import type { FilterValue, ForeignKey, MatchingStrategy } from '../../requests.js'
import { stopWordsOf } from '../analysis/stop-words.js'
import { trimmed } from '../fields/flatten.js'
import { localesOf, searchWeight } from '../fields/rules.js'
import {
  documentsMatching,
  FilterError,
  type FilterFeatures,
  type ForeignIndexes,
  parseFilter,
  withForeignIds,
} from '../filter/index.js'
import { viewOf } from '../index-data/index-data.js'
import { ANY_TERMS_MAX, QUERY_TERMS_MAX, QUERY_TOKENS_MAX } from '../limits.js'
import type { OpenIndex } from '../open-index.js'
import { buildGraph, type QueryGraph, removalGroups } from '../query/graph.js'
import { type ParsedQuery, parseQuery } from '../query/parse.js'
import { TermResolver } from '../query/resolver.js'
import { searchedFields } from '../query/search-on.js'
import { synonymsOf } from '../query/synonyms.js'
import { typoBudget } from '../query/typos.js'
import { matchSet } from '../ranking/index.js'
import { DocSet } from '../store/docid-set.js'
import { filterClock, type SharedTime, type Stop } from './bounds.js'

/** Context for evaluating a filter. */
export interface FilterContext {
  /** Used in messages about the settings of the index, except on the documents route. */
  readonly indexUid: string
  readonly features: FilterFeatures
  readonly foreignKeys?: readonly ForeignKey[]
  /** Indexes that the foreign keys refer to. */
  readonly foreign?: ForeignIndexes
  readonly stop?: Stop
  readonly shared?: SharedTime
}

/** The parts of a request that determine matching documents. */
interface CandidateRequest extends FilterContext {
  readonly indexUid: string
  readonly q: string | null
  readonly filter: FilterValue | null
  readonly matchingStrategy: MatchingStrategy | null
  readonly attributesToSearchOn: readonly string[] | null
  readonly locales: readonly string[] | null
  /** Documents that must not be ranked; absent: none. */
  readonly without?: DocSet
  /** Id of the only document to rank; absent: all documents are ranked. */
  readonly only?: string
}

export interface Candidates {
  readonly documents: DocSet
  /** Null for a placeholder search. */
  readonly query: { readonly graph: QueryGraph; readonly groups: readonly (number | null)[] } | null
  readonly resolver: TermResolver
  readonly parsed: ParsedQuery
  /** Possible languages of the query. */
  readonly locales: readonly string[]
}

/** Prefix of messages about an index. */
export const prefixOf = (indexUid: string): string => clientMessages.ofIndex(indexUid)

/** Returns the documents that match a filter, as a set owned by the caller. @throws EngineError with `code` */
export function filteredDocuments(
  { data, cache }: OpenIndex,
  filter: FilterValue | null,
  context: FilterContext,
  code:
    | 'invalid_document_filter'
    | 'invalid_search_filter'
    | 'invalid_similar_filter' = 'invalid_search_filter',
): DocSet {
  let prefix = ''
  try {
    const parsed = parseFilter(filter, context.features)
    if (parsed === null) return data.alive.clone()
    if (code !== 'invalid_document_filter') prefix = prefixOf(context.indexUid)
    const check = filterClock(context.stop, code, context.shared)
    const { foreignKeys: keys, foreign: indexes, features } = context
    const plain =
      keys === undefined || indexes === undefined
        ? parsed
        : withForeignIds(parsed, { keys, indexes, features, check })
    // The key needs the resolved ids: documents of other indexes do not follow from the filter text.
    const key = JSON.stringify(plain === parsed ? filter : plain)
    return cache.get('filters', key, () => documentsMatching(viewOf(data), plain, check)).clone()
  } catch (error) {
    if (error instanceof FilterError) throw new EngineError(error.code(code), prefix + error.message)
    throw error
  }
}

export function findCandidates(index: OpenIndex, request: CandidateRequest): Candidates {
  const { data, cache } = index
  const { settings } = data
  const documents = filteredDocuments(index, request.filter, request)
  if (request.without !== undefined) documents.subtract(request.without)
  if (request.only !== undefined) documents.intersect(oneDocument(index, request.only))
  const searched = searchedFields(data, request.attributesToSearchOn, request.indexUid)
  const resolver = new TermResolver(data, cache, searched)
  const locales = request.locales ?? queryLocales(index, searched)
  const text = searchedText(request.q ?? '')
  const tokens = trimmed(text) === '' ? [] : data.tokenizer.tokenize(text, locales, QUERY_TOKENS_MAX)
  const strategy = strategyOf(index, request)
  const termsMax = strategy === 'any' ? ANY_TERMS_MAX : QUERY_TERMS_MAX
  const parsed = parseQuery(tokens, {
    prefixSearch: settings.prefixSearch === 'indexingTime',
    termsMax,
    listed: stopWordsOf(settings.stopWordLists ?? []),
  })
  for (const word of parsed.negativeWords) documents.subtract(resolver.documentsOfWord(word, false))
  for (const words of parsed.negativePhrases) documents.subtract(resolver.documentsOfPhrase(words))
  if (parsed.terms.length === 0) return { documents, query: null, resolver, parsed, locales }
  const graph = buildGraph(parsed.terms, resolver, {
    budgetOf: typoBudget(settings),
    synonyms: cache.get('synonyms', '', () => synonymsOf(settings.synonyms, data.tokenizer)),
    strategy,
  })
  const groups = removalGroups(graph, strategy, (id) => frequency(resolver, graph, id))
  documents.intersect(strategy === 'any' ? anySet(resolver, graph) : matchSet(resolver, graph, groups))
  return { documents, query: { graph, groups }, resolver, parsed, locales }
}

/** The strategy of a request, or the default of the index. */
export const strategyOf = (
  { data }: OpenIndex,
  { matchingStrategy }: Pick<CandidateRequest, 'matchingStrategy'>,
): MatchingStrategy => matchingStrategy ?? data.settings.matchingStrategy ?? 'last'

/** Documents with at least one term of the query. */
function anySet(resolver: TermResolver, graph: QueryGraph): DocSet {
  const found = new DocSet(resolver.bound)
  for (const { term, kinds } of graph.nodes) found.union(resolver.documentsOf(term, kinds))
  return found
}

function oneDocument({ data }: OpenIndex, id: string): DocSet {
  const found = new DocSet(data.alive.words.length * 32)
  const docid = data.docids.get(id)
  if (docid !== undefined) found.add(docid)
  return found
}

/** Number of documents with any reading of the term `id`, in the whole index. */
function frequency(resolver: TermResolver, graph: QueryGraph, id: number): number {
  const found = new DocSet(resolver.bound)
  for (const { term, kinds, firstId, lastId } of graph.nodes)
    if (firstId <= id && id <= lastId) found.union(resolver.documentsOf(term, kinds))
  return found.count()
}

function queryLocales({ data }: OpenIndex, searched: Uint8Array | null): readonly string[] {
  if (data.settings.localizedAttributes === null) return []
  const locales = new Set<string>()
  for (const [field, path] of data.fieldPaths.entries()) {
    if (searched !== null && searched[field] !== 1) continue
    if (searchWeight(data.settings, path) === null) continue
    for (const locale of localesOf(data.settings, path) ?? []) locales.add(locale)
  }
  return [...locales]
}
