import { setImmediate as turn } from 'node:timers/promises'
import {
  type EmbedderFields,
  type IndexSettings,
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

/** What a search is about, as far as embedders see it. */
export interface EmbeddedSearch {
  readonly q: string | null
  readonly media: unknown
}

/** Vectors for documents, in the order they were given. */
export interface EmbeddedDocument {
  readonly slots: readonly Slot[]
  /** One per slot that is not kept. */
  readonly vectors: readonly Float32Array[]
}

/** Makes vectors of documents and searches, by whoever the settings name. */
export interface Embedders {
  /**
   * What is to be kept of embedders that changed from `before` to `after`: how long their vectors are.
   * @throws ApiError `vector_embedding_error` if they cannot be reached, or do not suit
   */
  settled(before: IndexSettings, after: IndexSettings, options: EmbedOptions): Promise<IndexSettings>
  /**
   * Vectors of documents; null for one whose vectors stay as they are.
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
   * @param deadline as `performance.now()` counts
   * @throws ApiError `vector_embedding_error`
   */
  search(
    fields: EmbedderFields,
    search: EmbeddedSearch,
    options: { readonly deadline: number; readonly signal?: AbortSignal },
  ): Promise<Float32Array>
}

export interface EmbeddersSetup extends LearningSetup {
  /** Vectors of queries that are remembered. */
  readonly remembered: number
}

export function openEmbedders(setup: EmbeddersSetup): Embedders {
  const remembered = new EmbeddingCache<Float32Array>(setup.remembered)
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
      const known = key === null ? undefined : remembered.get(key)
      if (known !== undefined) return known
      const [vector] = await callProvider(setup, providerOf(searching, setup.defaults), [input], call)
      if (vector === undefined) throw new TypeError('a call for one vector gave none')
      if (key !== null) remembered.put(key, vector)
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
  // The searching half of a composite embedder is shown the words as they are: so it was recorded.
  return fragments === undefined || fields !== searching ? (q ?? '') : searchInput(fragments, { q, media })
}

/** Components of an embedder's vectors; null: nobody has told. */
function dimensionsOf(fields: EmbedderFields): number | null {
  const known = (fields.known ?? {}) as Known
  return dimensionsSet(indexingFields(fields)) ?? known.dimensions ?? null
}

/** Renders in turns, so that a long template does not keep everybody waiting. */
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
