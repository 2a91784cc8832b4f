/** Learns the number of vector components from providers, and checks that the providers answer. */
import { ownValue } from '../parse/index.js'
import {
  dimensionsSet,
  type EmbedderFields,
  type EmbeddersByName,
  indexingFields,
  type Known,
  searchingFields,
} from '../settings/index.js'
import { type CallSetup, callProvider, type EmbedOptions } from './providers/calls.js'
import { embeddingError, providerOf } from './providers/providers.js'

/** The text to embed for learning the number of components. */
const PROBE = 'test'

/** Texts for comparing the two halves of a composite embedder, which must use the same model. */
const COMPARED = [
  'the quick brown fox jumps over the lazy dog',
  'a list of three items: apples, pears, plums',
  'In 1969 people walked on the Moon for the first time.',
]

/** Largest distance between the two vectors of one text. Source: vectors §2.4. */
const DISTANCE_MAX = 0.01

/** Fields that do not influence the number of components. */
const irrelevant = [
  'known',
  'distribution',
  'binaryQuantized',
  'documentTemplate',
  'documentTemplateMaxBytes',
]

/** Implements `Embedders.settled`. */
export async function settled(
  setup: CallSetup,
  before: EmbeddersByName,
  after: EmbeddersByName,
  options: EmbedOptions,
): Promise<EmbeddersByName> {
  const embedders: [string, EmbedderFields][] = []
  for (const [name, fields] of Object.entries(after)) {
    const old = ownValue(before, name)
    const isSame = old !== undefined && relevant(old) === relevant(fields)
    embedders.push([name, isSame ? fields : await learned(setup, name, fields, options)])
  }
  return Object.fromEntries(embedders)
}

const relevant = (fields: EmbedderFields): string =>
  JSON.stringify(Object.entries(fields).filter(([name]) => !irrelevant.includes(name)))

async function learned(
  setup: CallSetup,
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

/**
 * Requests the number of components from the provider. Returns null if the settings have it, or the user provides the
 * vectors.
 * @throws ApiError `vector_embedding_error`
 */
async function inferred(
  setup: CallSetup,
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
    const reason = `its indexing half returns vectors of ${a} dimensions, its searching half of ${b}`
    throw embeddingError(`the embedder \`${name}\` cannot work: ${reason}`)
  }
  if (!usesFragments(indexing) && !usesFragments(searching))
    await compare(setup, name, indexing, searching, options)
  return made
}

const usesFragments = (fields: EmbedderFields): boolean =>
  fields.indexingFragments !== undefined || fields.searchFragments !== undefined

/** Checks that documents and queries both use fragments, or neither does. */
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
  setup: CallSetup,
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
  setup: CallSetup,
  name: string,
  indexing: EmbedderFields,
  searching: EmbedderFields,
  options: EmbedOptions,
): Promise<void> {
  const [made, asked] = await Promise.all(
    [indexing, searching].map((fields) => comparedVectors(setup, fields, options)),
  )
  for (const [at, vector] of (made ?? []).entries()) {
    const other = asked?.[at]
    if (other !== undefined && distance(vector, other) <= DISTANCE_MAX) continue
    throw embeddingError(
      `the halves of the embedder \`${name}\` do not return the same vectors, so they are different models`,
    )
  }
}

async function comparedVectors(
  setup: CallSetup,
  fields: EmbedderFields,
  options: EmbedOptions,
): Promise<readonly Float32Array[]> {
  const provider = providerOf(fields, setup.defaults)
  const vectors: Float32Array[] = []
  for (let from = 0; from < COMPARED.length; from += provider.inputsPerRequest) {
    const texts = COMPARED.slice(from, from + provider.inputsPerRequest)
    const dimensions = dimensionsSet(fields)
    vectors.push(...(await callProvider(setup, provider, texts, { ...options, dimensions })))
  }
  return vectors
}

function distance(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) =>
    x.reduce((sum, component, at) => sum + component * (y[at] ?? 0), 0)
  const norms = Math.sqrt(dot(a, a) * dot(b, b))
  return norms === 0 ? 0 : (1 - dot(a, b) / norms) / 2
}
