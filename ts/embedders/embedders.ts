import { setImmediate as turn } from 'node:timers/promises'
import {
  type EmbedderFields,
  type IndexSettings,
  indexingFields,
  type Known,
  searchingFields,
  sourceOf,
} from '../settings/index.js'
import { type CallCounts, type CallOptions, type CallSetup, callProvider, wasRefused } from './calls.js'
import { type Shown, type Slot, type Subject, searchInput, slotsOf } from './inputs.js'
import { CACHED_QUERY_BYTES_MAX, RENDERING_TURN_MS, REQUESTS_AT_ONCE } from './limits.js'
import { embeddingError, type Provider, type ProviderDefaults, providerOf } from './providers.js'
import { Remembered } from './remembered.js'

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

export interface EmbedOptions {
  readonly signal?: AbortSignal
  readonly counts?: CallCounts
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
    after: Shown,
    before: Shown,
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

export interface EmbeddersSetup extends CallSetup {
  readonly defaults: ProviderDefaults
  /** Vectors of queries that are remembered. */
  readonly remembered: number
}

export function openEmbedders(setup: EmbeddersSetup): Embedders {
  const remembered = new Remembered<Float32Array>(setup.remembered)
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
      const input = inputOf(searching, fields, search)
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

function inputOf(searching: EmbedderFields, fields: EmbedderFields, { q, media }: EmbeddedSearch): unknown {
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
  after: Shown,
  before: Shown,
): Promise<readonly (readonly Slot[] | null)[]> {
  const slots: (readonly Slot[] | null)[] = []
  let since = performance.now()
  for (const subject of subjects) {
    slots.push(slotsOf(subject, after, before))
    if (performance.now() - since < RENDERING_TURN_MS) continue
    await turn()
    since = performance.now()
  }
  return slots
}

/** Vectors of `inputs`, in requests of the provider's size, several at a time; equal ones are asked for once. */
async function embedded(
  setup: CallSetup,
  provider: Provider,
  inputs: readonly unknown[],
  options: CallOptions,
): Promise<readonly Float32Array[]> {
  const distinct = new Map<string, { readonly input: unknown; vector: Float32Array | null }>()
  const keys = inputs.map((input) => JSON.stringify(input))
  for (const [at, key] of keys.entries()) {
    if (!distinct.has(key)) distinct.set(key, { input: inputs[at], vector: null })
  }
  const wanted = [...distinct.values()]
  const failure = new AbortController()
  const signal =
    options.signal === undefined ? failure.signal : AbortSignal.any([options.signal, failure.signal])
  let next = 0
  const work = async (): Promise<void> => {
    while (next < wanted.length) {
      const some = wanted.slice(next, next + provider.inputsPerRequest)
      next += some.length
      const texts = some.map(({ input }) => input)
      const vectors = await request(setup, provider, texts, { ...options, signal })
      for (const [at, one] of some.entries()) one.vector = vectors[at] ?? null
    }
  }
  const requests = Math.ceil(wanted.length / provider.inputsPerRequest)
  try {
    await Promise.all(Array.from({ length: Math.min(REQUESTS_AT_ONCE, requests) }, work))
  } finally {
    // After the first failure the others are of no use.
    failure.abort()
  }
  return keys.map((key) => {
    const vector = distinct.get(key)?.vector
    if (!vector) throw new TypeError('a text was left without a vector')
    return vector
  })
}

/** One request; where one text of several may be too long, each goes alone. Source: spec/vectors.md §5.4. */
async function request(
  setup: CallSetup,
  provider: Provider,
  inputs: readonly unknown[],
  options: CallOptions,
): Promise<readonly Float32Array[]> {
  try {
    return await callProvider(setup, provider, inputs, options)
  } catch (error) {
    const { shortened } = provider
    if (shortened === undefined || !wasRefused(error)) throw error
    const vectors: Float32Array[] = []
    for (const input of inputs) {
      vectors.push(...(await callProvider(setup, provider, [await shortened(String(input))], options)))
    }
    return vectors
  }
}

// ——— settings ———

/** Embedded to learn how long vectors are. */
const PROBE = 'test'

/** Embedded by both halves of a composite embedder: are they the same model? */
const COMPARED = [
  'the quick brown fox jumps over the lazy dog',
  'a list of three items: apples, pears, plums',
  'In 1969 people walked on the Moon for the first time.',
]

/** The most that both halves may differ by. Source: spec/vectors.md §2.4. */
const DISTANCE_MAX = 0.01

/** Fields that do not decide how long vectors are. */
const idle = ['known', 'distribution', 'binaryQuantized', 'documentTemplate', 'documentTemplateMaxBytes']

async function settled(
  setup: EmbeddersSetup,
  before: IndexSettings,
  after: IndexSettings,
  options: EmbedOptions,
): Promise<IndexSettings> {
  const embedders: Record<string, EmbedderFields> = {}
  for (const [name, fields] of Object.entries(after.embedders)) {
    const old = before.embedders[name]
    const isSame = old !== undefined && relevant(old) === relevant(fields)
    embedders[name] = isSame ? fields : await learned(setup, name, fields, options)
  }
  return { ...after, embedders }
}

const relevant = (fields: EmbedderFields): string =>
  JSON.stringify(Object.entries(fields).filter(([name]) => !idle.includes(name)))

async function learned(
  setup: EmbeddersSetup,
  name: string,
  fields: EmbedderFields,
  options: EmbedOptions,
): Promise<EmbedderFields> {
  const { dimensions: _forgotten, ...known } = (fields.known ?? {}) as Known
  const dimensions = await inferred(setup, name, fields, options)
  const all = { ...known, ...(dimensions !== null && { dimensions }) }
  const { known: _replaced, ...rest } = fields
  return Object.keys(all).length === 0 ? rest : { ...rest, known: all }
}

/** Components of an embedder's vectors where its settings do not say; null if they do, or need not. */
async function inferred(
  setup: EmbeddersSetup,
  name: string,
  fields: EmbedderFields,
  options: EmbedOptions,
): Promise<number | null> {
  if (fields.source === 'userProvided') return null
  const [indexing, searching] = [indexingFields(fields), searchingFields(fields)]
  requireFragments(name, indexing, searching)
  const made = await probed(setup, name, indexing, options)
  if (fields.source !== 'composite') return made
  const asked = await probed(setup, name, searching, options)
  const [a, b] = [made ?? dimensionsSet(indexing), asked ?? dimensionsSet(searching)]
  if (a !== b) {
    const reason = `its indexing half makes vectors of ${a} dimensions, its searching half of ${b}`
    throw embeddingError(`the embedder \`${name}\` cannot work: ${reason}`)
  }
  if (!usesFragments(indexing) && !usesFragments(searching))
    await compare(setup, name, indexing, searching, options)
  return made
}

const dimensionsSet = (fields: EmbedderFields): number | null =>
  (fields.dimensions as number | undefined) ?? openAiDimensions(fields)

/** Source: spec/vectors.md §2.3. */
const openAiDimensions = (fields: EmbedderFields): number | null =>
  sourceOf(fields) !== 'openAi' ? null : fields.model === 'text-embedding-3-large' ? 3072 : 1536

const usesFragments = (fields: EmbedderFields): boolean =>
  fields.indexingFragments !== undefined || fields.searchFragments !== undefined

/** Documents and queries must both be shown by fragments, or none. */
function requireFragments(name: string, indexing: EmbedderFields, searching: EmbedderFields): void {
  const count = (fragments: unknown): number => Object.keys((fragments ?? {}) as object).length
  const lacks = (what: string) =>
    embeddingError(`the embedder \`${name}\` uses fragments, but has no \`${what}\``)
  const [indexed, searched] = [count(indexing.indexingFragments), count(searching.searchFragments)]
  if (indexing !== searching) return
  if (indexed > 0 && searched === 0) throw lacks('searchFragments')
  if (searched > 0 && indexed === 0) throw lacks('indexingFragments')
}

async function probed(
  setup: EmbeddersSetup,
  name: string,
  fields: EmbedderFields,
  options: EmbedOptions,
): Promise<number | null> {
  const provider = providerOf(fields, setup.defaults)
  if (dimensionsSet(fields) !== null) return null
  if (usesFragments(fields)) {
    throw embeddingError(`the embedder \`${name}\` uses fragments, so its \`dimensions\` must be set`)
  }
  const [vector] = await callProvider(setup, provider, [PROBE], { ...options, dimensions: null })
  return vector?.length ?? null
}

async function compare(
  setup: EmbeddersSetup,
  name: string,
  indexing: EmbedderFields,
  searching: EmbedderFields,
  options: EmbedOptions,
): Promise<void> {
  const [made, asked] = await Promise.all(
    [indexing, searching].map((fields) => {
      const dimensions = dimensionsSet(fields)
      return embedded(setup, providerOf(fields, setup.defaults), COMPARED, { ...options, dimensions })
    }),
  )
  for (const [at, vector] of (made ?? []).entries()) {
    const other = asked?.[at]
    if (other !== undefined && distance(vector, other) <= DISTANCE_MAX) continue
    throw embeddingError(
      `the halves of the embedder \`${name}\` do not make the same vectors, so they are different models`,
    )
  }
}

function distance(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) =>
    x.reduce((sum, component, at) => sum + component * (y[at] ?? 0), 0)
  const norms = Math.sqrt(dot(a, a) * dot(b, b))
  return norms === 0 ? 0 : (1 - dot(a, b) / norms) / 2
}
