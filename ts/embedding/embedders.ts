/** Embeds documents and searches; see also `pages.ts` and `inferred-dimensions.ts`. */
import { waitOnTimer } from '../outbound/index.js'
import {
  dimensionsOf,
  type EmbedderFields,
  type EmbeddersByName,
  searchingFields,
} from '../settings/index.js'
import { EmbeddingCache } from './embedding-cache.js'
import { settled } from './inferred-dimensions.js'
import { searchInput } from './inputs.js'
import { CACHED_QUERY_BYTES_MAX } from './limits.js'
import { type DocumentsOptions, type DocumentsPage, type EmbeddedPage, embeddedPages } from './pages.js'
import { type CallSetup, callProvider, type EmbedOptions } from './providers/calls.js'
import { embeddingError, providerOf } from './providers/providers.js'
import { RequestRate } from './providers/request-rate.js'

/** The input for the vector of a search. */
interface EmbeddedSearch {
  readonly q: string | null
  readonly media: unknown
}

/** Embeds documents and searches with the providers in the settings. */
export interface Embedders {
  /**
   * Completes the settings `after`: adds the number of components that each embedder's provider returns, unless the
   * settings have it. Only calls embedders that differ from `before`.
   * @throws ApiError `vector_embedding_error` if a provider cannot be reached or does not fit the settings
   */
  settled(before: EmbeddersByName, after: EmbeddersByName, options: EmbedOptions): Promise<EmbeddersByName>
  /**
   * Returns the vectors of documents, one result per page, in order. Fetches pages as fast as requests can be sent.
   * @throws ApiError `vector_embedding_error`, `invalid_document_fields`
   */
  documents(pages: AsyncIterable<DocumentsPage>, options: DocumentsOptions): AsyncIterable<EmbeddedPage>
  /**
   * Returns the vector of a search.
   * @param options `deadline`: by `performance.now()`
   * @throws ApiError `vector_embedding_error`
   */
  search(
    fields: EmbedderFields,
    search: EmbeddedSearch,
    options: { readonly deadline: number; readonly signal?: AbortSignal },
  ): Promise<Float32Array>
}

export interface EmbeddersSetup extends Omit<CallSetup, 'rate'> {
  /** Number of cached query vectors; 0 disables the cache. */
  readonly cachedQueries: number
  /** Requests per minute that this process sends to a provider with one API key; null: no limit. */
  readonly requestsPerMinute: number | null
  /** Milliseconds of a monotonic clock. Default: that of the process. */
  readonly now?: () => number
}

export function openEmbedders(given: EmbeddersSetup): Embedders {
  const { requestsPerMinute, wait = waitOnTimer, now = () => performance.now() } = given
  const setup = { ...given, rate: new RequestRate(requestsPerMinute, wait, now) }
  const cache = new EmbeddingCache<Float32Array>(setup.cachedQueries)
  return {
    settled: (before, after, options) => settled(setup, before, after, options),
    documents: (pages, options) => embeddedPages(setup, pages, options),
    async search(fields, search, options) {
      const searching = searchingFields(fields)
      const input = await inputOf(searching, fields, search)
      const call = { ...options, dimensions: dimensionsOf(fields) }
      const isShort = typeof input === 'string' && Buffer.byteLength(input) <= CACHED_QUERY_BYTES_MAX
      const key = isShort && search.media === null ? JSON.stringify([fields, input]) : null
      const known = key === null ? undefined : cache.get(key)
      if (known !== undefined) return known
      const [vector] = await callProvider(setup, providerOf(searching, setup.defaults), [input], call)
      if (vector === undefined) throw new TypeError('a request for one vector returned none')
      if (key !== null) cache.put(key, vector)
      return vector
    },
  }
}

async function inputOf(
  searching: EmbedderFields,
  fields: EmbedderFields,
  { q, media }: EmbeddedSearch,
): Promise<unknown> {
  const fragments = searching.searchFragments as Readonly<Record<string, { value: unknown }>> | undefined
  if (media !== null && (fragments === undefined || fields !== searching)) {
    throw embeddingError('`media` needs an embedder of source `rest` with `searchFragments`')
  }
  // The search embedder of a composite embedder gets the query unchanged, without fragments. Source: recorded answers.
  return fragments === undefined || fields !== searching ? (q ?? '') : searchInput(fragments, { q, media })
}
