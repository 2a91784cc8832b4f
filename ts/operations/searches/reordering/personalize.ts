/** Reorders the hits of a page for a user. */
import type { Answer, SearchRequest } from '../../../engine/index.js'
import { notConfigured, PERSONALIZED_HIT_BYTES_MAX, type Rerankers } from '../../../reranking/index.js'
import { parsedSettings } from '../../../settings/index.js'
import type { IndexEntry } from '../../../tasks/index.js'
import type { DisconnectSignal } from '../disconnect-signal.js'
import { searchBudgetMs } from '../embedding.js'
import type { SearchServices } from '../services.js'
import {
  arranged,
  changedAnswer,
  documentBytes,
  partsOf,
  queryPositionOf,
  withoutDetails,
} from './hit-list.js'
import { Pacer } from './pacer.js'
import { bufferOf, pinnedHits } from './ranked-hits.js'
import type { Reordering } from './rerank.js'

/** `personalize` of a search or a federation. */
export interface WantedPersonalization {
  readonly userContext: string
}

/** @throws ApiError `feature_not_enabled` without a service */
export function requirePersonalization(rerankers: Rerankers, wanted: object | null): void {
  if (wanted !== null && !rerankers.personalizes) throw notConfigured()
}

/** Returns the reordering of a search with `personalize`. @param started of the search, by `performance.now()` */
export async function personalizationOf(
  { engine, rerankers }: Pick<SearchServices, 'engine' | 'rerankers'>,
  entry: IndexEntry,
  request: SearchRequest,
  { userContext }: WantedPersonalization,
  started: number,
): Promise<Reordering> {
  requirePersonalization(rerankers, { userContext })
  const deadline = started + searchBudgetMs(parsedSettings(await engine.settings(entry.id)))
  const isPinning = request.pins.length > 0
  const hidesDetails = isPinning && !request.showRankingScoreDetails
  return {
    request: { ...request, showRankingScoreDetails: request.showRankingScoreDetails || isPinning },
    async apply(answer, stop) {
      const body = await personalized(rerankers, bufferOf(answer.body), {
        ...{ queries: [request.q], userContext, deadline, stop, isPinning },
        hidesDetails: () => hidesDetails,
      })
      const { timeAt: _, ...rest } = answer
      return { ...rest, body } satisfies Answer
    },
  }
}

export interface Personalized {
  /** Texts of the searches that found the hits. */
  readonly queries: readonly (string | null)[]
  readonly userContext: string
  /** By `performance.now()`. */
  readonly deadline: number
  readonly stop: DisconnectSignal
  /** True if hits may be pinned. They have score details that say so. */
  readonly isPinning: boolean
  /** Returns true if the client did not ask for the score details of the query at this position. */
  readonly hidesDetails: (queryPosition: number | null) => boolean
}

/**
 * Returns an answer with its hits in the order of the service. Pinned hits stay where they are.
 * @param body an answer to one search, or a federated answer
 * @throws ApiError if the service fails before the deadline
 */
export async function personalized(
  rerankers: Rerankers,
  body: Buffer,
  { queries, userContext, deadline, stop, isPinning, hidesDetails }: Personalized,
): Promise<Buffer> {
  const started = performance.now()
  const pacer = new Pacer(stop)
  const parts = await partsOf(body, pacer)
  const { hits } = parts
  const fixed = isPinning ? await pinnedHits(hits, pacer) : new Set<number>()
  const sent = hits.flatMap((_, at) => (fixed.has(at) ? [] : [at]))
  const documents = await pacer.map(sent, (at) => textOf(hits[at]!))
  const words = [...new Set(queries.map((q) => q?.trim() ?? ''))].filter((q) => q !== '')
  const ranked = await stop.waitFor(() =>
    rerankers.personalize({
      query: [userContext, ...words].join('\n'),
      ...{ documents, deadline, signal: stop.signal },
    }),
  )
  const order = ranked?.map(({ index }) => sent[index]!) ?? []
  const page = await pacer.map(arranged(hits.length, order, fixed), (at) => {
    const hit = hits[at]!
    return hidesDetails(queryPositionOf(hit)) ? withoutDetails(hit) : hit
  })
  const stage = { name: 'search > personalize', ms: performance.now() - started } as const
  return changedAnswer(parts, {
    hits: page,
    numbers: { processingTimeMs: (before) => before + Math.round(stage.ms) },
    stage,
    added: null,
  })
}

const textOf = (hit: Buffer): string => documentBytes(hit).subarray(0, PERSONALIZED_HIT_BYTES_MAX).toString()
