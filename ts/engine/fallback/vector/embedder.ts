/** What of an embedder's settings decides about its vectors? Source: vectors §2. */
import {
  type EmbedderFields,
  type IndexSettings,
  indexingFields,
  type Known,
  searchingFields,
  sourceOf,
} from '../../../settings/index.js'

/** How likenesses are spread before they are shown. */
export interface Shift {
  readonly mean: number
  readonly sigma: number
}

export interface Embedder {
  readonly name: string
  readonly source: string
  /** Null until the model has been asked for the first time. */
  readonly dimensions: number | null
  /** One bit per component is kept. */
  readonly binary: boolean
  readonly shift: Shift | null
  /** Its indexing fragments and their numbers, null if it renders documents by a template. */
  readonly fragments: ReadonlyMap<string, number> | null
}

/** What is known of models without asking them. Source: vectors §2.3. */
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

/** All embedders of an index, by name, names ascending. */
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
