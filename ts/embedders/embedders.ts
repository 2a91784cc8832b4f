import { setImmediate as turn } from 'node:timers/promises'
import {
  type EmbedderFields,
  type EmbeddersByName,
  indexingFields,
  type Known,
  searchingFields,
} from '../settings/index.js'
import { callProvider, type EmbedOptions } from './calls.js'
import { EmbeddingCache } from './embedding-cache.js'
import { dimensionsSet, type LearningSetup, settled } from './inferred-dimensions.js'
import { type EmbedderView, type Slot, type Subject, searchInput, slotsOf } from './inputs.js'
import { CACHED_QUERY_BYTES_MAX, RENDERING_TURN_MS } from './limits.js'
import { embeddingError, providerOf } from './providers.js'
import { embedded } from './requests.js'

/** The input of a search to be embedded. */
export interface EmbeddedSearch {
  readonly q: string | null
  readonly media: unknown
}

/** The vectors of a document. */
export interface EmbeddedDocument {
  readonly slots: readonly Slot[]
  /** One per slot with an `input`, in their order. */
  readonly vectors: readonly Float32Array[]
}

/** Makes vectors of documents and searches, with the providers that the settings name. */
export interface Embedders {
  /**
   * The settings `after`, with the number of components that each embedder's provider returns where the settings do not
   * say it. Only embedders that differ from `before` are asked.
   * @throws ApiError `vector_embedding_error` if a provider cannot be reached or does not fit the settings
   */
  settled(before: EmbeddersByName, after: EmbeddersByName, options: EmbedOptions): Promise<EmbeddersByName>
  /**
   * Vectors of documents, in the order of `subjects`; null for a document whose vectors do not change.
   * @throws ApiError `vector_embedding_error`, `invalid_document_fields`
   */
  documents(
    subjects: readonly Subject[],
    after: EmbedderView,
    before: EmbedderView,
    options: EmbedOptions,
  ): Promise<readonly (EmbeddedDocument | null)[]>
  /**
   * The vector of a search.
   * @param options `deadline`: by `performance.now()`
   * @throws ApiError `vector_embedding_error`
   */
  search(
    fields: EmbedderFields,
    search: EmbeddedSearch,
    options: { readonly deadline: number; readonly signal?: AbortSignal },
  ): Promise<Float32Array>
}

export interface EmbeddersSetup extends LearningSetup {
  /** How many vectors of queries are cached; 0 caches none. */
  readonly cachedQueries: number
}

export function openEmbedders(setup: EmbeddersSetup): Embedders {
  const cache = new EmbeddingCache<Float32Array>(setup.cachedQueries)
  return {
    settled: (before, after, options) => settled(setup, before, after, options),
    async documents(subjects, after, before, options) {
      const slots = await rendered(subjects, after, before)
      const provider = providerOf(indexingFields(after.fields), setup.defaults)
      const inputs = slots.flatMap((some) =>
        (some ?? []).flatMap(({ input }) => (input === undefined ? [] : [input])),
      )
      const vectors = await embedded(setup, provider, inputs, {
        ...options,
        dimensions: dimensionsOf(after.fields),
      })
      let next = 0
      return slots.map((some) => {
        if (some === null) return null
        const made = some.filter(({ input }) => input !== undefined).length
        next += made
        return { slots: some, vectors: vectors.slice(next - made, next) }
      })
    },
    async search(fields, search, options) {
      const searching = searchingFields(fields)
      const input = await inputOf(searching, fields, search)
      const call = { ...options, dimensions: dimensionsOf(fields) }
      const isShort = typeof input === 'string' && Buffer.byteLength(input) <= CACHED_QUERY_BYTES_MAX
      const key = isShort && search.media === null ? JSON.stringify([fields, input]) : null
      const known = key === null ? undefined : cache.get(key)
      if (known !== undefined) return known
      const [vector] = await callProvider(setup, providerOf(searching, setup.defaults), [input], call)
      if (vector === undefined) throw new TypeError('a call for one vector gave none')
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
  // Source: recorded answers. The search embedder of a composite one gets the query unchanged, without fragments.
  return fragments === undefined || fields !== searching ? (q ?? '') : searchInput(fragments, { q, media })
}

/** The number of components of an embedder's vectors; null: not known. */
function dimensionsOf(fields: EmbedderFields): number | null {
  const known = (fields.known ?? {}) as Known
  return dimensionsSet(indexingFields(fields)) ?? known.dimensions ?? null
}

/** Renders the templates of documents, with pauses in which the event loop serves requests. */
async function rendered(
  subjects: readonly Subject[],
  after: EmbedderView,
  before: EmbedderView,
): Promise<readonly (readonly Slot[] | null)[]> {
  const slots: (readonly Slot[] | null)[] = []
  let since = performance.now()
  for (const subject of subjects) {
    slots.push(await slotsOf(subject, after, before))
    if (performance.now() - since < RENDERING_TURN_MS) continue
    await turn()
    since = performance.now()
  }
  return slots
}
