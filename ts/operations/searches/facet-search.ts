/** Searches the values of a facet. */
import { type Answer, encodeRequest, type FacetSearchRequest, foreignIndexes } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { requestFeatures } from '../../instance/index.js'
import { parsedSettings } from '../../settings/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import {
  ANSWER_BYTES_MAX,
  bothFilters,
  facetSearchFields,
  followedKeys,
  ownValue,
  requireConsistent,
  ruledSearch,
  ruleEffects,
  shape,
  type Values,
} from '../requests/index.js'
import type { Reading } from './reading.js'
import type { SearchServices } from './services.js'

export const facetSearchBody = shape(facetSearchFields, { ignoreUnknown: true, notesSent: true })

type Wanted = Values<typeof facetSearchFields>

/** Returns the engine's answer to a search for facet values. */
export async function facetSearch(
  services: SearchServices,
  entry: IndexEntry,
  wanted: Wanted,
  { access, stop, alsoRead }: Reading,
): Promise<Answer> {
  const { engine, features, tasks } = services
  requireConsistent(wanted, features)
  await requireEmbedder(services, entry, wanted)
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

/**
 * Checks the embedder of a search by vectors. The engine does not need it: such a search selects all documents that
 * pass the filter.
 * @throws ApiError `invalid_search_embedder`, `invalid_vector_dimensions`
 */
async function requireEmbedder(
  { engine }: Pick<SearchServices, 'engine'>,
  entry: IndexEntry,
  { q, hybrid, vector, media }: Pick<Wanted, 'q' | 'hybrid' | 'vector' | 'media'>,
): Promise<void> {
  const isPlaceholder = (q ?? '').trim() === '' && vector === null && media === null
  if (hybrid === null || hybrid.semanticRatio === 0 || isPlaceholder) return
  const { embedders } = parsedSettings(await engine.settings(entry.id))
  const embedder = ownValue(embedders, hybrid.embedder)
  const prefix = `Index \`${entry.uid}\`:`
  if (embedder === undefined) {
    const message = `${prefix} there is no embedder named \`${hybrid.embedder}\``
    throw new ApiError('invalid_search_embedder', message)
  }
  const dimensions = embedder.dimensions ?? null
  if (vector !== null && dimensions !== null && vector.length !== dimensions) {
    const expected = `expected ${dimensions} dimensions for the embedder \`${hybrid.embedder}\``
    throw new ApiError('invalid_vector_dimensions', `${prefix} ${expected}, found ${vector.length}`)
  }
}
