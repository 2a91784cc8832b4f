/** The parts of embedder settings that affect vectors. Source: vectors §2. */
import {
  type EmbedderFields,
  type IndexSettings,
  indexingFields,
  type Known,
  searchingFields,
  sourceOf,
} from '../../../settings/index.js'

/** Distribution shift of similarities before they are displayed. */
export interface Shift {
  readonly mean: number
  readonly sigma: number
}

export interface Embedder {
  readonly name: string
  readonly source: string
  /** Null until the model was called for the first time. */
  readonly dimensions: number | null
  /** True if only one bit per component is stored. */
  readonly binary: boolean
  readonly shift: Shift | null
  /** Numbers of its indexing fragments, by name; null if it renders documents with a template. */
  readonly fragments: ReadonlyMap<string, number> | null
}

/** Known properties of models. Source: vectors §2.3. */
const knownModels: Readonly<Record<string, { dimensions: number | null; shift: Shift }>> = {
  'text-embedding-ada-002': { dimensions: 1536, shift: { mean: 0.9, sigma: 0.08 } },
  'text-embedding-3-small': { dimensions: 1536, shift: { mean: 0.75, sigma: 0.1 } },
  'text-embedding-3-large': { dimensions: 3072, shift: { mean: 0.7, sigma: 0.1 } },
  'BAAI/bge-base-en-v1.5': { dimensions: 768, shift: { mean: 0.85, sigma: 0.1 } },
}
const defaultModels: Readonly<Record<string, string>> = {
  openAi: 'text-embedding-3-small',
  huggingFace: 'BAAI/bge-base-en-v1.5',
}

/** All embedders of an index, sorted by name. */
export function embeddersOf({ embedders }: IndexSettings): ReadonlyMap<string, Embedder> {
  return new Map(
    Object.entries(embedders)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, fields]) => [name, embedderOf(name, fields)]),
  )
}

function embedderOf(name: string, fields: EmbedderFields): Embedder {
  const known = (fields.known ?? {}) as Known
  const making = indexingFields(fields)
  const model = modelOf(making)
  const shift = fields.distribution ?? modelOf(searchingFields(fields))?.shift ?? model?.shift
  return {
    name,
    source: sourceOf(fields),
    dimensions: ((making.dimensions as number | undefined) ?? known.dimensions ?? model?.dimensions) || null,
    binary: fields.binaryQuantized === true,
    shift: (shift as Shift | undefined) ?? null,
    fragments: making.indexingFragments === undefined ? null : new Map(Object.entries(known.fragments ?? {})),
  }
}

function modelOf(fields: EmbedderFields): (typeof knownModels)[string] | undefined {
  const model = (fields.model ?? defaultModels[sourceOf(fields)]) as string | undefined
  return model === undefined || !Object.hasOwn(knownModels, model) ? undefined : knownModels[model]
}
