/** Embeds the query of a search when it needs a vector. */
import { performance } from 'node:perf_hooks'
import { embeddingError } from '../../embedding/index.js'
import type { Answer, SearchRequest } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { type IndexSettings, parsedSettings } from '../../settings/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { ownValue } from '../requests/index.js'
import type { DisconnectSignal } from './disconnect-signal.js'
import type { SearchServices } from './services.js'

/** Milliseconds a search may take if its index has no `searchCutoffMs`. Source: settings §8. */
export const SEARCH_MS = 1500

/** A search whose query may need a vector. */
export interface Embeddable {
  readonly entry: IndexEntry
  readonly request: SearchRequest
  readonly media: unknown
}

type Embedding = Pick<SearchServices, 'engine' | 'embedders'>
type Searching = Pick<SearchServices, 'engine' | 'embedders' | 'answers' | 'queries'>

/**
 * Searches by words first if that may suffice. Embeds the query if the engine reports that it needs a vector.
 * @throws ApiError `vector_embedding_error` if no vector can be made and words alone cannot answer the search
 */
export async function searchEmbedded(
  services: Searching,
  search: Embeddable,
  stop: DisconnectSignal,
): Promise<Answer> {
  const { answers, queries } = services
  const { entry, request, media } = search
  const ask = (complete: SearchRequest) => answers.search(entry.id, complete, stop, queries.timesStages)
  if (!lacksVector(search)) return ask(request)
  if (isPureSemantic(search)) return ask(await withVector(services, search, stop))
  const started = performance.now()
  const byWords = await ask(request)
  if (byWords.facts.lacksVector !== true && media === null) return byWords
  const complete = await withVector(services, search, stop, started)
  return complete.vector === null ? byWords : ask(complete)
}

/**
 * Returns the search with a vector for its query. Returns it without a vector if it needs none, its embedder makes
 * none, or embedding failed and words alone can answer the search.
 * @param started start of the search's time budget, by `performance.now()`
 * @throws ApiError `vector_embedding_error` if embedding failed and words alone cannot answer the search
 */
export async function withVector(
  { engine, embedders }: Embedding,
  search: Embeddable,
  stop: DisconnectSignal,
  started = performance.now(),
): Promise<SearchRequest> {
  const { entry, request, media } = search
  if (!lacksVector(search) || request.hybrid === null) return request
  const settings = parsedSettings(await engine.settings(entry.id))
  const fields = ownValue(settings.embedders, request.hybrid.embedder)
  // The engine reports an unknown embedder, and handles a search without a vector.
  if (fields === undefined || (fields.source === 'userProvided' && media === null)) return request
  const deadline = started + searchBudgetMs(settings)
  const began = performance.now()
  try {
    const embedding = { deadline, signal: stop.signal }
    const vector = await stop.waitFor(() => embedders.search(fields, { q: request.q, media }, embedding))
    return { ...request, vector: Array.from(vector), embeddingMs: performance.now() - began }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (!isPureSemantic(search)) return request
    throw embeddingError(`index \`${entry.uid}\`: embedder \`${request.hybrid.embedder}\`: ${error.message}`)
  }
}

/** Milliseconds that a search of the index may take. */
export const searchBudgetMs = ({ searchCutoffMs }: IndexSettings): number => searchCutoffMs ?? SEARCH_MS

const isBlank = ({ q }: SearchRequest): boolean => q === null || q.trim() === ''

/** Returns true if the search needs a vector that the request lacks. Source: vectors §6.2. */
function lacksVector({ request, media }: Embeddable): boolean {
  const { hybrid, vector } = request
  return (
    hybrid !== null && hybrid.semanticRatio > 0 && vector === null && (!isBlank(request) || media !== null)
  )
}

const isPureSemantic = ({ request }: Embeddable): boolean =>
  request.hybrid?.semanticRatio === 1 || isBlank(request)
