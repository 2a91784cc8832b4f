/** Finds documents similar to a given document. */
import {
  type Answer,
  encodeRequest,
  foreignIndexes,
  type SimilarRequest,
  withStages,
} from '../../engine/index.js'
import { requestFeatures } from '../../instance/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import {
  ANSWER_BYTES_MAX,
  atMost,
  boolean,
  bothFilters,
  defaulted,
  documentId,
  filter,
  followedKeys,
  integer,
  NAMES_MAX,
  optional,
  required,
  string,
  strings,
  unitInterval,
  type Values,
} from '../requests/index.js'
import type { Reading } from './reading.js'
import type { SearchServices } from './services.js'

/** The fields of the body of POST /similar. */
export const similarFields = {
  id: required(documentId, 'invalid_similar_id'),
  offset: defaulted(integer(), 0, 'invalid_similar_offset'),
  limit: defaulted(integer(), 20, 'invalid_similar_limit'),
  filter: optional(filter, 'invalid_similar_filter'),
  embedder: required(string, 'invalid_similar_embedder'),
  attributesToRetrieve: optional(atMost(strings, NAMES_MAX), 'invalid_similar_attributes_to_retrieve'),
  retrieveVectors: defaulted(boolean, false, 'invalid_similar_retrieve_vectors'),
  showRankingScore: defaulted(boolean, false, 'invalid_similar_show_ranking_score'),
  showRankingScoreDetails: defaulted(boolean, false, 'invalid_similar_show_ranking_score_details'),
  showPerformanceDetails: defaulted(boolean, false, 'invalid_similar_show_performance_details'),
  rankingScoreThreshold: optional(unitInterval, 'invalid_similar_ranking_score_threshold'),
}

/** Returns the engine's answer to a search for similar documents. */
export async function similar(
  services: SearchServices,
  entry: IndexEntry,
  wanted: Values<typeof similarFields>,
  { access, stop, alsoRead }: Reading,
): Promise<Answer> {
  const { engine, features, queries } = services
  const { entries, ...followed } = await followedKeys(services, entry, access)
  alsoRead(entries)
  const complete: SimilarRequest = {
    indexUid: entry.uid,
    id: wanted.id,
    embedder: wanted.embedder,
    offset: wanted.offset,
    limit: wanted.limit,
    filter: bothFilters(wanted.filter, access.forcedFilter(entry.uid)),
    visible: bothFilters(null, access.forcedFilter(entry.uid)),
    attributesToRetrieve: wanted.attributesToRetrieve?.includes('*') ? null : wanted.attributesToRetrieve,
    retrieveVectors: wanted.retrieveVectors,
    showRankingScore: wanted.showRankingScore,
    showRankingScoreDetails: wanted.showRankingScoreDetails,
    showPerformanceDetails: wanted.showPerformanceDetails || queries.timesStages,
    rankingScoreThreshold: wanted.rankingScoreThreshold,
    features: requestFeatures(features),
    ...followed,
    answerBytesMax: ANSWER_BYTES_MAX,
  }
  const answer = await engine.similar(entry.id, encodeRequest(complete), stop, foreignIndexes(complete))
  return queries.timesStages ? withStages(answer, wanted.showPerformanceDetails) : answer
}
