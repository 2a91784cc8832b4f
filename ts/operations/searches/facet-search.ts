/** Searches the values of a facet. */
import { type Answer, encodeRequest, type FacetSearchRequest, foreignIndexes } from '../../engine/index.js'
import { requestFeatures } from '../../instance/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import {
  ANSWER_BYTES_MAX,
  bothFilters,
  facetSearchFields,
  followedKeys,
  requireConsistent,
  ruledSearch,
  ruleEffects,
  shape,
  type Values,
} from '../requests/index.js'
import type { Reading } from './reading.js'
import type { SearchServices } from './services.js'

export const facetSearchBody = shape(facetSearchFields, { ignoreUnknown: true, notesSent: true })

/** Returns the engine's answer to a search for facet values. */
export async function facetSearch(
  services: SearchServices,
  entry: IndexEntry,
  wanted: Values<typeof facetSearchFields>,
  { access, stop, alsoRead }: Reading,
): Promise<Answer> {
  const { engine, features, tasks } = services
  requireConsistent(wanted, features)
  const { entries, ...followed } = await followedKeys(services, entry, access)
  alsoRead(entries)
  const filter = bothFilters(wanted.filter, access.forcedFilter(entry.uid))
  const ruled = ruledSearch({ entry, q: wanted.q, filter, inlineRule: null }, features)
  const { pins, scales } = ruleEffects(ruled, { features, rules: tasks.rules() })
  const request: FacetSearchRequest = {
    indexUid: entry.uid,
    facetName: wanted.facetName,
    facetQuery: wanted.facetQuery,
    q: wanted.q,
    filter,
    matchingStrategy: wanted.matchingStrategy,
    attributesToSearchOn: wanted.attributesToSearchOn,
    rankingScoreThreshold: wanted.rankingScoreThreshold,
    locales: wanted.locales,
    exhaustiveFacetCount: wanted.exhaustiveFacetCount ?? false,
    hybrid: wanted.hybrid,
    vector: wanted.vector,
    features: requestFeatures(features),
    ...followed,
    pins,
    ...(scales.length > 0 && { scales }),
    answerBytesMax: ANSWER_BYTES_MAX,
  }
  return engine.facetSearch(entry.id, encodeRequest(request), stop, foreignIndexes(request))
}
