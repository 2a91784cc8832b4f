/** The order of hits by the scores of a reranker, and the answer in that order. */
import { documentContext, renderText, TemplateError } from '../../../embedding/index.js'
import type { Answer } from '../../../engine/index.js'
import { ApiError } from '../../../errors/index.js'
import { RerankError, type Rerankers } from '../../../reranking/index.js'
import { type IndexSettings, type RerankerFields, rerankerDefaultsOf } from '../../../settings/index.js'
import type { IndexEntry } from '../../../tasks/index.js'
import { choices, ownValue } from '../../requests/index.js'
import type { DisconnectSignal } from '../disconnect-signal.js'
import {
  arranged,
  changedAnswer,
  isPinned,
  numberIn,
  partsOf,
  withDetail,
  withMember,
  withoutDetails,
  withStage,
} from './hit-list.js'
import { Pacer } from './pacer.js'
import type { HitWindow } from './window.js'

/** `rerank` of a search. */
export interface WantedRerank {
  /** The name of a reranker in the settings of the index. */
  readonly model: string
  /** Hits that it ranks: the first of the search. */
  readonly topK: number
}

/** A reranker, and the text that it compares with documents. */
export interface Ranking {
  readonly rerankers: Pick<Rerankers, 'rank'>
  readonly fields: RerankerFields
  readonly wanted: WantedRerank
  readonly query: string
  readonly window: HitWindow
  /** True if hits may be pinned: they have score details that say so, and stay at their positions. */
  readonly isPinning: boolean
  /**
   * Returns the texts of the first hits. A hit with an empty text is not ranked.
   * @throws NotRanked
   */
  texts(answer: Answer, hits: readonly Buffer[], pacer: Pacer): Promise<readonly string[]>
  /** Returns true if the client did not ask for the score details of a hit. */
  hidesDetails(hit: Buffer): boolean
}

/** A reason to keep the order of the search. */
export class NotRanked extends Error {
  override readonly name = 'NotRanked'
}

/**
 * Returns the answer with the page that the window wants, in the order of the reranker. If the reranker fails, the page
 * has the order of the search, and the answer says why.
 */
export async function rankedAnswer(
  ranking: Ranking,
  answer: Answer,
  stop: DisconnectSignal,
): Promise<Answer> {
  const started = performance.now()
  const { wanted, window, isPinning, hidesDetails } = ranking
  const pacer = new Pacer(stop)
  const parts = await partsOf(bufferOf(answer.body), pacer)
  const { hits } = parts
  const fixed = isPinning ? await pinnedHits(hits, pacer) : new Set<number>()
  let order = hits.map((_, at) => at)
  let details: readonly (string | null)[] = []
  let outcome: object
  try {
    const texts = await ranking.texts(answer, hits, pacer)
    const ranked = await scored(ranking, texts, fixed, stop)
    order = arranged(
      hits.length,
      ranked.scores.map(({ at }) => at),
      fixed,
    )
    details = detailsOf(hits.length, ranked.scores)
    outcome = { applied: true, model: wanted.model, hits: ranked.sent }
  } catch (error) {
    if (!(error instanceof NotRanked || error instanceof RerankError)) throw error
    outcome = { applied: false, model: wanted.model, reason: error.message }
  }
  const page = await pacer.map(order.slice(window.from, window.to), (at) => {
    const hit = hits[at]!
    if (hidesDetails(hit)) return isPinning ? withoutDetails(hit) : hit
    const detail = details[at] ?? null
    return detail === null ? hit : withDetail(hit, detail)
  })
  const stage = { name: 'search > rerank', ms: performance.now() - started } as const
  const { timeAt: _, ...rest } = answer
  return {
    ...rest,
    body: changedAnswer(parts, {
      hits: page,
      numbers: {
        ...window.numbers(numberIn(parts, 'totalHits')),
        processingTimeMs: (before) => before + Math.round(stage.ms),
      },
      stage,
      added: `"rerank":${JSON.stringify(outcome)}`,
    }),
    facts: { ...withStage(answer.facts, stage), hits: page.length },
  }
}

/** Returns the positions of the hits that a dynamic search rule fixed. The hits must have score details. */
export async function pinnedHits(hits: readonly Buffer[], pacer: Pacer): Promise<ReadonlySet<number>> {
  const pinned = await pacer.map(hits, isPinned)
  return new Set(pinned.flatMap((isFixed, at) => (isFixed ? [at] : [])))
}

/** Position of a hit, and its score; null: the service gave none. */
interface ScoredHit {
  readonly at: number
  readonly score: number | null
}

/** Asks the service for the order of the hits that have a text and are not fixed. @throws RerankError */
async function scored(
  { rerankers, fields, query }: Ranking,
  texts: readonly string[],
  fixed: ReadonlySet<number>,
  stop: DisconnectSignal,
): Promise<{ readonly sent: number; readonly scores: readonly ScoredHit[] }> {
  const sent = texts.flatMap((text, at) => (text === '' || fixed.has(at) ? [] : [at]))
  if (sent.length === 0) return { sent: 0, scores: [] }
  const documents = sent.map((at) => texts[at]!)
  const ranked = await stop.waitFor(() => rerankers.rank(fields, { query, documents, signal: stop.signal }))
  return { sent: sent.length, scores: ranked.map(({ index, score }) => ({ at: sent[index]!, score })) }
}

/** Returns the entry of the score details by hit; null for a hit that was not ranked. */
function detailsOf(count: number, scores: readonly ScoredHit[]): readonly (string | null)[] {
  const entries = new Array<string | null>(count).fill(null)
  for (const { at, score } of scores)
    entries[at] = `"rerank":${JSON.stringify({ positionBefore: at, score })}`
  return entries
}

/** Returns the answer with the reason why its hits keep their order. */
export function notRanked(answer: Answer, { model }: WantedRerank, reason: string): Answer {
  const body = bufferOf(answer.body)
  const added = `"rerank":${JSON.stringify({ applied: false, model, reason })}`
  return { ...answer, body: withMember(body, added) }
}

/** @throws ApiError `invalid_search_rerank_model` for a name that is no reranker of the index */
export function requireReranker(
  { rerankers = {} }: IndexSettings,
  { uid }: IndexEntry,
  name: string,
  where: string,
): RerankerFields {
  const fields = ownValue(rerankers, name)
  if (fields !== undefined) return fields
  const names = Object.keys(rerankers)
  const known = names.length === 0 ? 'it has none' : choices(name, names)
  throw new ApiError(
    'invalid_search_rerank_model',
    `\`${where}\`: index \`${uid}\` has no reranker \`${name}\`: ${known}; see the setting \`rerankers\``,
  )
}

/** Renders a document for the model. The text is empty if its template fails. */
export async function documentText(
  document: Readonly<Record<string, unknown>>,
  fields: RerankerFields,
  searchable: readonly string[],
): Promise<string> {
  const { documentTemplate, documentTemplateMaxBytes } = { ...rerankerDefaultsOf(fields.source), ...fields }
  try {
    const context = documentContext(document, searchable)
    return (await renderText(documentTemplate, context, documentTemplateMaxBytes)).trim()
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return ''
  }
}

/** Parameters of a search that reads the documents of its hits only. */
export const documentsOnly = {
  attributesToRetrieve: null,
  attributesToCrop: null,
  attributesToHighlight: null,
  showMatchesPosition: false,
  facets: null,
  retrieveVectors: false,
  showRankingScore: false,
  showRankingScoreDetails: false,
  showPerformanceDetails: false,
  metadata: null,
} as const

/**
 * Returns the hits of a second search, which reads the documents of the first.
 * @throws NotRanked if the documents are too large, or the searches may have found other hits
 */
export async function sameHits(
  first: { readonly answer: Answer; readonly hits: readonly Buffer[]; readonly pacer: Pacer },
  search: () => Promise<Answer>,
  isUnchanged: () => boolean,
): Promise<readonly Buffer[]> {
  const second = await search().catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'answer_too_large')
      throw new NotRanked('the documents are too large to be ranked together: set a lower `topK`')
    throw error
  })
  if (first.answer.facts.degraded || second.facts.degraded)
    throw new NotRanked('the search reached its own time limit')
  const { hits: found } = await partsOf(bufferOf(second.body), first.pacer)
  if (found.length !== first.hits.length || !isUnchanged())
    throw new NotRanked('the index changed during the search')
  return found
}

export const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
