/** Reorders the first hits of a search by the scores of a reranker of its index. */
import type { Answer, SearchRequest } from '../../../engine/index.js'
import { parsedSettings } from '../../../settings/index.js'
import type { IndexEntry } from '../../../tasks/index.js'
import type { DisconnectSignal } from '../disconnect-signal.js'
import type { SearchServices } from '../services.js'
import { documentOf } from './hit-list.js'
import type { Pacer } from './pacer.js'
import {
  documentsOnly,
  documentText,
  notRanked,
  rankedAnswer,
  requireReranker,
  sameHits,
  type WantedRerank,
} from './ranked-hits.js'
import { windowOf } from './window.js'

/** Asks the engine for more than the page, and makes the page from its answer. */
export interface Reordering {
  /** The request for the engine. */
  readonly request: SearchRequest
  /** Returns the answer for the client. @param answer to `request` */
  apply(answer: Answer, stop: DisconnectSignal): Promise<Answer>
}

/**
 * Returns the reordering of a search with `rerank`.
 * @throws ApiError `invalid_search_rerank_model` for a name that is no reranker of the index
 */
export async function rerankingOf(
  { engine, answers, rerankers }: Pick<SearchServices, 'engine' | 'answers' | 'rerankers'>,
  entry: IndexEntry,
  request: SearchRequest,
  wanted: WantedRerank,
): Promise<Reordering> {
  const revision = engine.revision(entry.id)
  const settings = parsedSettings(await engine.settings(entry.id))
  const fields = requireReranker(settings, entry, wanted.model, '.rerank.model')
  const query = request.q?.trim() ?? ''
  const window = query === '' ? null : windowOf(request.paging, wanted.topK)
  if (window === null) {
    const reason = query === '' ? 'the search has no query' : beyondTopK(wanted)
    return { request, apply: async (answer) => notRanked(answer, wanted, reason) }
  }
  const isPinning = request.pins.length > 0
  const widened = {
    ...request,
    paging: window.paging,
    // The details say which hits are pinned.
    showRankingScoreDetails: request.showRankingScoreDetails || isPinning,
  }
  const ranking = {
    ...{ rerankers, fields, wanted, query, window, isPinning },
    hidesDetails: () => !request.showRankingScoreDetails,
    async texts(answer: Answer, hits: readonly Buffer[], pacer: Pacer) {
      const ranked = (await withDocuments(answer, hits, pacer)).slice(0, wanted.topK)
      return pacer.map(ranked, (hit) => documentText(documentOf(hit), fields, settings.searchableAttributes))
    },
  }
  return { request: widened, apply: (answer, stop) => rankedAnswer(ranking, answer, stop) }

  /** Returns the hits with all displayed fields. A second search reads them if the client asked for others. */
  async function withDocuments(
    answer: Answer,
    hits: readonly Buffer[],
    pacer: Pacer,
  ): Promise<readonly Buffer[]> {
    if (request.attributesToRetrieve === null) return hits
    const search = () => answers.search(entry.id, { ...widened, ...documentsOnly }, pacer.stop)
    return sameHits({ answer, hits, pacer }, search, () => engine.revision(entry.id) === revision)
  }
}

/** The reason why a page is not ranked. */
export const beyondTopK = ({ topK }: WantedRerank): string => `the page has none of the first ${topK} hits`
