/** Reorders the hits of an answer by a service: `rerank` and `personalize`. */
import type { SearchRequest } from '../../../engine/index.js'
import type { IndexEntry } from '../../../tasks/index.js'
import type { SearchServices } from '../services.js'
import { personalizationOf, type WantedPersonalization } from './personalize.js'
import type { WantedRerank } from './ranked-hits.js'
import { type Reordering, rerankingOf } from './rerank.js'

export { changedResults, documentOf, indexUidOf, queryPositionOf } from './hit-list.js'
export type { Pacer } from './pacer.js'
export { type Personalized, personalized, requirePersonalization } from './personalize.js'
export {
  bufferOf,
  documentsOnly,
  documentText,
  notRanked,
  type Ranking,
  rankedAnswer,
  requireReranker,
  sameHits,
  type WantedRerank,
} from './ranked-hits.js'
export { beyondTopK, type Reordering } from './rerank.js'
export { windowOf } from './window.js'

/** The parameters of a search that reorder its hits. */
interface WantedOrder {
  readonly rerank: WantedRerank | null
  readonly personalize: WantedPersonalization | null
}

/**
 * Returns the reordering of a search; null if it has none.
 * @param request complete, with its vector
 * @param started of the search, by `performance.now()`
 */
export async function reorderingOf(
  services: Pick<SearchServices, 'engine' | 'answers' | 'rerankers'>,
  entry: IndexEntry,
  request: SearchRequest,
  { rerank, personalize }: WantedOrder,
  started: number,
): Promise<Reordering | null> {
  if (rerank !== null) return rerankingOf(services, entry, request, rerank)
  if (personalize !== null) return personalizationOf(services, entry, request, personalize, started)
  return null
}
