/** Reorders the first hits of a search by the scores of a reranker of its index. */
import { documentContext, renderText, TemplateError } from '../../../embedding/index.js'
import type { Answer, SearchRequest } from '../../../engine/index.js'
import { ApiError } from '../../../errors/index.js'
import { RerankError } from '../../../reranking/index.js'
import {
  type IndexSettings,
  parsedSettings,
  type RerankerFields,
  rerankerCommonDefaults,
} from '../../../settings/index.js'
import type { IndexEntry } from '../../../tasks/index.js'
import { choices, ownValue } from '../../requests/index.js'
import type { DisconnectSignal } from '../disconnect-signal.js'
import type { SearchServices } from '../services.js'
import {
  arranged,
  changedAnswer,
  documentOf,
  hitsOf,
  isPinned,
  numberIn,
  withDetail,
  withMember,
  withoutDetails,
  withStage,
} from './hit-list.js'
import { windowOf } from './window.js'

/** `rerank` of a search. */
export interface WantedRerank {
  /** The name of a reranker in the settings of the index. */
  readonly model: string
  /** Hits that it ranks: the first of the search. */
  readonly topK: number
}

/** Asks the engine for more than the page, and makes the page from its answer. */
export interface Reordering {
  /** The request for the engine. */
  readonly request: SearchRequest
  /** Returns the answer for the client. @param answer to `request` */
  apply(answer: Answer, stop: DisconnectSignal): Promise<Answer>
}

type Services = Pick<SearchServices, 'engine' | 'answers' | 'rerankers'>

/**
 * Returns the reordering of a search with `rerank`.
 * @throws ApiError `invalid_search_rerank_model` for a name that is no reranker of the index
 */
export async function rerankingOf(
  services: Services,
  entry: IndexEntry,
  request: SearchRequest,
  wanted: WantedRerank,
): Promise<Reordering> {
  const { engine, answers, rerankers } = services
  const revision = engine.revision(entry.id)
  const settings = parsedSettings(await engine.settings(entry.id))
  const fields = requireReranker(settings, entry, wanted.model)
  const query = request.q?.trim() ?? ''
  const window = query === '' ? null : windowOf(request.paging, wanted.topK)
  if (window === null) {
    const reason =
      query === '' ? 'the search has no query' : `the page has none of the first ${wanted.topK} hits`
    return { request, apply: async (answer) => notApplied(answer, wanted, reason) }
  }
  const { paging, from, to, numbers } = window
  // The details say which hits are pinned.
  const isPinning = request.pins.length > 0
  const addsDetails = isPinning && !request.showRankingScoreDetails
  const widened = {
    ...request,
    paging,
    showRankingScoreDetails: request.showRankingScoreDetails || addsDetails,
  }
  return { request: widened, apply }

  async function apply(answer: Answer, stop: DisconnectSignal): Promise<Answer> {
    const started = performance.now()
    const body = bufferOf(answer.body)
    const hits = hitsOf(body)
    const fixed = new Set(hits.flatMap((hit, at) => (isPinning && isPinned(hit) ? [at] : [])))
    let order = hits.map((_, at) => at)
    let details: readonly (string | null)[] = []
    let outcome: object
    try {
      const documents = await documentsOf(answer, hits, stop)
      const texts = await textsOf(documents, fields, settings.searchableAttributes)
      const sent = texts.flatMap((text, at) => (text === '' || fixed.has(at) ? [] : [at]))
      const ranked =
        sent.length === 0
          ? []
          : await stop.waitFor(() =>
              rerankers.rank(fields, {
                ...{ query, documents: sent.map((at) => texts[at]!), signal: stop.signal },
              }),
            )
      order = arranged(
        hits.length,
        ranked.map(({ index }) => sent[index]!),
        fixed,
      )
      details = detailsOf(
        hits.length,
        ranked.map(({ index, score }) => ({ at: sent[index]!, score })),
      )
      outcome = { applied: true, model: wanted.model, hits: sent.length }
    } catch (error) {
      if (!(error instanceof NotRanked || error instanceof RerankError)) throw error
      outcome = { applied: false, model: wanted.model, reason: error.message }
    }
    const page = order.slice(from, to).map((at) => {
      const hit = addsDetails ? withoutDetails(hits[at]!) : hits[at]!
      const detail = request.showRankingScoreDetails ? (details[at] ?? null) : null
      return detail === null ? hit : withDetail(hit, detail)
    })
    const stage = { name: 'search > rerank', ms: performance.now() - started } as const
    const { timeAt: _, ...rest } = answer
    return {
      ...rest,
      body: changedAnswer(body, {
        hits: page,
        numbers: {
          ...numbers(numberIn(body, 'totalHits')),
          processingTimeMs: (before) => before + Math.round(stage.ms),
        },
        stage,
        added: `"rerank":${JSON.stringify(outcome)}`,
      }),
      facts: { ...withStage(answer.facts, stage), hits: page.length },
    }
  }

  /** Returns the displayed fields of the first hits. A second search reads them if the client asked for others. */
  async function documentsOf(
    answer: Answer,
    hits: readonly Buffer[],
    stop: DisconnectSignal,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    if (request.attributesToRetrieve === null) return hits.slice(0, wanted.topK).map(documentOf)
    const full = await answers.search(entry.id, { ...widened, ...bare }, stop)
    const found = hitsOf(bufferOf(full.body))
    // Both searches must have found the same hits in the same order.
    if (answer.facts.degraded || full.facts.degraded)
      throw new NotRanked('the search reached its own time limit')
    if (found.length !== hits.length || engine.revision(entry.id) !== revision)
      throw new NotRanked('the index changed during the search')
    return found.slice(0, wanted.topK).map(documentOf)
  }
}

/** Parameters of the search that reads documents only. */
const bare = {
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

/** A reason to keep the order of the search. */
class NotRanked extends Error {
  override readonly name = 'NotRanked'
}

function requireReranker(
  { rerankers = {} }: IndexSettings,
  { uid }: IndexEntry,
  name: string,
): RerankerFields {
  const fields = ownValue(rerankers, name)
  if (fields !== undefined) return fields
  const names = Object.keys(rerankers)
  const known = names.length === 0 ? 'it has none' : choices(name, names)
  throw new ApiError(
    'invalid_search_rerank_model',
    `\`.rerank.model\`: index \`${uid}\` has no reranker \`${name}\`: ${known}; see the setting \`rerankers\``,
  )
}

/** Renders documents for the model. A document whose template fails has an empty text, and is not ranked. */
async function textsOf(
  documents: readonly Readonly<Record<string, unknown>>[],
  fields: RerankerFields,
  searchable: readonly string[],
): Promise<readonly string[]> {
  const { documentTemplate, documentTemplateMaxBytes } = { ...rerankerCommonDefaults, ...fields }
  const texts: string[] = []
  for (const document of documents) {
    try {
      const context = documentContext(document, searchable)
      texts.push((await renderText(documentTemplate, context, documentTemplateMaxBytes)).trim())
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error
      texts.push('')
    }
  }
  return texts
}

/** Returns the entry of the score details by hit; null for a hit that was not ranked. */
function detailsOf(
  count: number,
  ranked: readonly { readonly at: number; readonly score: number | null }[],
): readonly (string | null)[] {
  const entries = new Array<string | null>(count).fill(null)
  for (const { at, score } of ranked)
    entries[at] = `"rerank":${JSON.stringify({ positionBefore: at, score })}`
  return entries
}

/** Returns the answer with the reason why its hits keep their order. */
function notApplied(answer: Answer, { model }: WantedRerank, reason: string): Answer {
  const body = bufferOf(answer.body)
  const added = `"rerank":${JSON.stringify({ applied: false, model, reason })}`
  return { ...answer, body: withMember(body, added) }
}

export const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
