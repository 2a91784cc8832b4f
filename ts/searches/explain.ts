/** Here is a search and a document: why is it where it is among the hits, or what keeps it from being one? */
import {
  type Clause,
  type ExplainFacts,
  encodeRequest,
  type FilterValue,
  filterClauses,
  foreignIndexes,
  type SearchRequest,
  type WordFacts,
} from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import {
  bothFilters,
  documentId,
  followedKeys,
  type ParsedSearch,
  required,
  searchFields,
  searchRequest,
} from '../requests/index.js'
import { parsedSettings } from '../settings/index.js'
import type { IndexEntry } from '../tasks/index.js'
import { withVector } from './embedding.js'
import { EXPLAINED_CLAUSES_MAX } from './limits.js'
import type { Reading } from './reading.js'
import type { SearchServices } from './services.js'

/** The fields of the body of POST /explain: those of a search, and the key of the document. */
export const explainFields = { ...searchFields, id: required(documentId, 'invalid_document_id') }

/** The answer. */
export interface Explanation {
  readonly id: string
  readonly isHit: boolean
  /** Among the hits, from 0; null if it is none. */
  readonly position: number | null
  /** As `_rankingScore`; null if the search has no score for it. */
  readonly rankingScore: number | null
  /** As `_rankingScoreDetails`. */
  readonly rankingScoreDetails: Readonly<Record<string, unknown>> | null
  /** `rule`: a dynamic search rule pins it. */
  readonly foundBy: 'words' | 'vectors' | 'rule' | null
  /** What keeps it from being a hit, each of which would be enough; empty for a hit. */
  readonly reasons: readonly Reason[]
  readonly query: ExplainedQuery
}

/** What keeps a document from being a hit. */
export type Reason =
  | { readonly kind: 'filter'; readonly clause: JudgedClause }
  | { readonly kind: 'excludedWords' }
  /** Terms of the query that it lacks, and may not. */
  | { readonly kind: 'missingWords'; readonly words: readonly string[] }
  | { readonly kind: 'rankingScoreThreshold'; readonly score: number; readonly threshold: number }
  /** A better hit has the same value. */
  | { readonly kind: 'distinct'; readonly attribute: string; readonly id: string }
  | { readonly kind: 'searchCutoff' }
  /** It comes after so many hits, which are all that are looked at. */
  | { readonly kind: 'tooFarDown'; readonly hitsLookedAt: number; readonly maxTotalHits: number }

/** A part of the filter, and whether the document passes it. */
export interface JudgedClause {
  readonly filter: string
  readonly operator: Clause['operator']
  readonly passes: boolean
  readonly clauses: readonly JudgedClause[]
}

export interface ExplainedQuery {
  readonly text: string
  /** Three-letter codes of the languages that it may be in; none: any. */
  readonly languages: readonly string[]
  readonly ignoredWords: readonly string[]
  readonly excludedWords: readonly string[]
  /** Terms of the query and neighbouring words read as one; see `WordStep`. */
  readonly steps: WordFacts['steps']
  /** Terms that the document lacks. */
  readonly missingWords: readonly string[]
}

/**
 * Explains a document. Several questions are asked of the engine, so that a write in between may show.
 * @throws ApiError `document_not_found`, also for a document that the rights of the request hide
 */
export async function explain(
  services: SearchServices,
  entry: IndexEntry,
  { id, ...wanted }: ParsedSearch & { readonly id: string },
  { access, stop, alsoRead }: Reading,
): Promise<Explanation> {
  const { engine, features, tasks } = services
  const { entries, ...followed } = await followedKeys(services, entry, access)
  alsoRead(entries)
  const forcedFilter = access.forcedFilter(entry.uid)
  const context = { entry, features, includeMetadata: false, rules: tasks.rules(), ...followed }
  const request = searchRequest(wanted, { ...context, forcedFilter })
  const foreign = foreignIndexes(request)
  const alone = async (change: Partial<SearchRequest>): Promise<SearchAlone> => {
    const asked = encodeRequest({ ...request, ...bare, only: id, ...change })
    const { body, facts } = await engine.search(entry.id, asked, stop, foreign)
    return { isHit: facts.hits > 0, body }
  }
  const passes = async (filter: FilterValue): Promise<boolean> =>
    (await alone({ q: null, hybrid: null, vector: null, sort: null, filter })).isHit
  const complete = await withVector(services, { entry, request, media: wanted.media }, stop)
  const visible = bothFilters(null, forcedFilter)
  const question = encodeRequest({ search: { ...complete, facets: null }, documentId: id, visible })
  const answer = await engine.explain(entry.id, question, stop, foreign)
  if (answer === null) throw new ApiError('document_not_found', `document \`${id}\` not found`)
  const facts = JSON.parse(Buffer.from(answer).toString()) as ExplainFacts
  const query = explainedQuery(wanted.q, facts.words)
  const { rank } = facts
  if (rank !== null) {
    const { position, score, details, byMeaning } = rank
    return {
      id,
      isHit: true,
      position,
      rankingScore: score,
      rankingScoreDetails: details,
      foundBy: 'pin' in details ? 'rule' : byMeaning === true ? 'vectors' : 'words',
      reasons: [],
      query,
    }
  }
  const scored = scoreOf(await alone({ hybrid: complete.hybrid, vector: complete.vector, filter: null }))
  const clause = filterClauses(wanted.filter)
  const reasons: Reason[] = []
  if (clause !== null && !(await passes(clause.filter)))
    reasons.push({ kind: 'filter', clause: await judged(clause, passes) })
  if (scored === null) reasons.push(lack(facts.words, query))
  else if (request.rankingScoreThreshold !== null && scored.score < request.rankingScoreThreshold)
    reasons.push({
      kind: 'rankingScoreThreshold',
      score: scored.score,
      threshold: request.rankingScoreThreshold,
    })
  if (reasons.length === 0 && facts.replacedBy !== null)
    reasons.push({ kind: 'distinct', ...facts.replacedBy })
  if (reasons.length === 0 && facts.degraded) reasons.push({ kind: 'searchCutoff' })
  if (reasons.length === 0) {
    const { maxTotalHits } = parsedSettings(await engine.settings(entry.id)).pagination
    reasons.push({ kind: 'tooFarDown', hitsLookedAt: facts.hitsLookedAt, maxTotalHits })
  }
  return {
    id,
    isHit: false,
    position: null,
    rankingScore: scored?.score ?? null,
    rankingScoreDetails: scored?.details ?? null,
    foundBy: null,
    reasons,
    query,
  }
}

/** A search that ranks one document. */
interface SearchAlone {
  readonly isHit: boolean
  readonly body: Uint8Array
}

/** What a search for one document does not need. */
const bare = {
  paging: { kind: 'offset', offset: 0, limit: 1 },
  attributesToRetrieve: [],
  attributesToCrop: null,
  attributesToHighlight: null,
  showMatchesPosition: false,
  distinct: null,
  facets: null,
  rankingScoreThreshold: null,
  retrieveVectors: false,
  showRankingScore: true,
  showRankingScoreDetails: true,
  showPerformanceDetails: false,
  pins: [],
} as const satisfies Partial<SearchRequest>

/** The score of the one hit; null without a hit. */
function scoreOf({ isHit, body }: SearchAlone): {
  readonly score: number
  readonly details: Readonly<Record<string, unknown>>
} | null {
  if (!isHit) return null
  const { hits } = JSON.parse(Buffer.from(body).toString()) as {
    readonly hits: readonly { _rankingScore: number; _rankingScoreDetails: Record<string, unknown> }[]
  }
  const [hit] = hits
  return hit === undefined ? null : { score: hit._rankingScore, details: hit._rankingScoreDetails }
}

/** Why the words of the query do not find the document. */
function lack(words: WordFacts, { missingWords }: ExplainedQuery): Reason {
  return words.isExcluded ? { kind: 'excludedWords' } : { kind: 'missingWords', words: missingWords }
}

function explainedQuery(q: string | null, words: WordFacts): ExplainedQuery {
  const { languages, steps, ignored, excluded, excludedPhrases } = words
  const terms = steps.filter(({ parts }) => parts === null)
  const isCovered = (term: number): boolean =>
    steps.some(
      ({ firstTerm, lastTerm, isInDocument }) => isInDocument && firstTerm <= term && term <= lastTerm,
    )
  return {
    text: q ?? '',
    languages,
    ignoredWords: ignored,
    excludedWords: [...excluded, ...excludedPhrases.map(shownPhrase)],
    steps,
    missingWords: terms
      .filter(({ firstTerm }) => !isCovered(firstTerm))
      .map(({ text, phrase }) => (phrase === null ? text : shownPhrase(phrase))),
  }
}

const shownPhrase = (words: readonly (string | null)[]): string =>
  `"${words.map((word) => word ?? '…').join(' ')}"`

/** Whether the document passes a clause and its parts, of which the first are judged if there are many. */
async function judged(
  clause: Clause,
  passes: (filter: FilterValue) => Promise<boolean>,
): Promise<JudgedClause> {
  let left = EXPLAINED_CLAUSES_MAX
  const judge = async ({ text, operator, parts, filter }: Clause): Promise<JudgedClause> => {
    left--
    const isPassed = await passes(filter)
    const clauses: JudgedClause[] = []
    for (const part of parts) if (left > 0) clauses.push(await judge(part))
    return { filter: text, operator, passes: isPassed, clauses }
  }
  return judge(clause)
}
