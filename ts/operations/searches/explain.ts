/** Explains the position of a document among the hits of a search, or its absence. */
import {
  type Clause,
  type ExplainFacts,
  encodeRequest,
  type FilterValue,
  filterClauses,
  foreignIndexes,
  type SearchRequest,
  type WordFacts,
} from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { parsedSettings } from '../../settings/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import {
  bothFilters,
  documentId,
  followedKeys,
  type ParsedSearch,
  required,
  searchFields,
  searchRequest,
} from '../requests/index.js'
import { withVector } from './embedding.js'
import { EXPLAINED_CLAUSES_MAX } from './limits.js'
import type { Reading } from './reading.js'
import type { SearchServices } from './services.js'

/** The fields of the body of POST /explain: the fields of a search, and the document's id. */
export const explainFields = { ...searchFields, id: required(documentId, 'invalid_document_id') }

/** The answer of POST /explain. */
export interface Explanation {
  readonly id: string
  readonly isHit: boolean
  /** Position among the hits, from 0; null if it is not a hit. */
  readonly position: number | null
  /** See `_rankingScore`; null if the search has no score for the document. */
  readonly rankingScore: number | null
  /** See `_rankingScoreDetails`. */
  readonly rankingScoreDetails: Readonly<Record<string, unknown>> | null
  /** `rule`: a dynamic search rule pins it. */
  readonly foundBy: 'words' | 'vectors' | 'rule' | null
  /** Reasons why it is not a hit, each sufficient; empty for a hit. */
  readonly reasons: readonly Reason[]
  readonly query: ExplainedQuery
}

/** A reason why a document is not a hit. */
export type Reason =
  | { readonly kind: 'filter'; readonly clause: JudgedClause }
  | { readonly kind: 'excludedWords' }
  /** Terms of the query that the document lacks and must have. */
  | { readonly kind: 'missingWords'; readonly words: readonly string[] }
  | { readonly kind: 'rankingScoreThreshold'; readonly score: number; readonly threshold: number }
  /** A dynamic search rule hides it. */
  | { readonly kind: 'rule'; readonly uid: string }
  /** A better hit has the same distinct value. */
  | { readonly kind: 'distinct'; readonly attribute: string; readonly id: string }
  | { readonly kind: 'searchCutoff' }
  /** It ranks below the last hit that the search considers. */
  | { readonly kind: 'tooFarDown'; readonly hitsLookedAt: number; readonly maxTotalHits: number }

/** A part of the filter, and if the document passes it. */
export interface JudgedClause {
  readonly filter: string
  readonly operator: Clause['operator']
  readonly passes: boolean
  readonly clauses: readonly JudgedClause[]
}

interface ExplainedQuery {
  readonly text: string
  /** Three-letter codes of the possible languages; empty: any language. */
  readonly languages: readonly string[]
  readonly ignoredWords: readonly string[]
  readonly excludedWords: readonly string[]
  /** Terms of the query, and sequences of terms read as one word; see `WordStep`. */
  readonly steps: WordFacts['steps']
  /** Terms that the document lacks. */
  readonly missingWords: readonly string[]
}

/**
 * Explains a document. Calls the engine several times, so a concurrent write may affect the result.
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
    const asked = encodeRequest({ ...request, ...minimalParameters, only: id, ...change })
    const { body, facts } = await engine.search(entry.id, asked, stop, foreign)
    return { isHit: facts.hits > 0, body }
  }
  const passes = async (filter: FilterValue): Promise<boolean> =>
    (await alone({ q: null, hybrid: null, vector: null, sort: null, filter })).isHit
  /** Returns the uid of the first rule that hides the document; null without any. */
  const hiddenBy = async (): Promise<string | null> => {
    const hiding = (request.scales ?? []).filter(({ weight }) => weight === 0)
    const plain = { q: null, hybrid: null, vector: null, sort: null, filter: null }
    const hides = async (scales: NonNullable<SearchRequest['scales']>): Promise<boolean> =>
      !(await alone({ ...plain, scales })).isHit
    if (hiding.length === 0 || !(await hides(hiding))) return null
    for (const scale of hiding) if (await hides([scale])) return scale.ruleUid
    return null
  }
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
  if (scored === null) reasons.push(missingReason(facts.words, query))
  else if (request.rankingScoreThreshold !== null && scored.score < request.rankingScoreThreshold)
    reasons.push({
      kind: 'rankingScoreThreshold',
      score: scored.score,
      threshold: request.rankingScoreThreshold,
    })
  const hidingRule = await hiddenBy()
  if (hidingRule !== null) reasons.push({ kind: 'rule', uid: hidingRule })
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

/** The result of a search restricted to one document. */
interface SearchAlone {
  readonly isHit: boolean
  readonly body: Uint8Array
}

/** Turns off parameters that a search for one document does not need. */
const minimalParameters = {
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
  scales: [],
} as const satisfies Partial<SearchRequest>

/** Returns the score of the only hit; null without a hit. */
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

/** Returns the reason why the query words do not find the document. */
function missingReason(words: WordFacts, { missingWords }: ExplainedQuery): Reason {
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

/** Judges a clause and its parts. If there are many, only the first ones are judged. */
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
