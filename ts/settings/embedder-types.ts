import type { ErrorCode } from '../errors/index.js'
import {
  type At,
  anything,
  badValue,
  boolean,
  httpUrl,
  named,
  nullable,
  number,
  oneOf,
  refined,
  required,
  shape,
  string,
  type Type,
  unitInterval,
} from '../parse/index.js'
import { byName, partial, positive, positiveUpTo, type TypesByName } from './common-types.js'
import { checkSent, type EmbedderFields, type EmbedderRole, sources } from './embedder-rules.js'
import { DIMENSIONS_MAX, HEADERS_MAX } from './limits.js'
import { liquid, templatesOf } from './liquid.js'

const code: ErrorCode = 'invalid_settings_embedders'

/** A Liquid template. Invalid templates are refused. */
export const template: Type<string> = refined(string, (text, at) => {
  requireParsed(() => [text], at)
  return text
})

function requireParsed(templates: () => readonly string[], at: At): void {
  try {
    for (const template of templates()) liquid().parse(template)
  } catch (error) {
    throw badValue(`the template does not parse: ${error instanceof Error ? error.message : error}`, at)
  }
}

/** JSON in which every string is a template. Invalid templates are refused, because indexing would skip them. */
const fragment: Type<unknown> = refined(anything, (value, at) => {
  requireParsed(() => templatesOf(value), at)
  return value
})

/** Fragments by name, each with the JSON to embed; null removes a fragment. */
const fragments = byName(nullable(shape({ value: required(fragment, code) })))

const sigma = number((value) => value > 0 && value <= 1, 'above 0 and at most 1', {
  exclusiveMinimum: 0,
  maximum: 1,
})

/** The fields of all embedders, in the order of answers. */
const everywhere = {
  source: oneOf(sources),
  model: string,
  revision: string,
  pooling: oneOf(['useModel', 'forceCls', 'forceMean']),
  apiKey: string,
  dimensions: positiveUpTo(DIMENSIONS_MAX),
  binaryQuantized: boolean,
  documentTemplate: template,
  documentTemplateMaxBytes: positive,
  url: httpUrl,
  indexingFragments: fragments,
  searchFragments: fragments,
  request: anything,
  response: anything,
  headers: byName(string, { max: HEADERS_MAX, what: 'headers' }),
} as const

const { binaryQuantized: _, searchFragments, ...inIndexing } = everywhere
const { documentTemplate: _t, documentTemplateMaxBytes: _b, indexingFragments: _f, ...inBoth } = inIndexing

/** An embedder inside a composite embedder. It has fewer fields than a top-level embedder. */
const searchEmbedder = named('SearchEmbedder', checkedEmbedder('nested', { ...inBoth, searchFragments }))
const indexingEmbedder = named('IndexingEmbedder', checkedEmbedder('nested', inIndexing))

/**
 * An embedder in a patch. The value has the sent fields, in the order of answers. Errors have the code
 * `invalid_settings_embedders`, or `vector_embedding_error` for a malformed request template.
 */
export const embedder: Type<EmbedderFields> = named(
  'Embedder',
  checkedEmbedder('top', {
    ...everywhere,
    searchEmbedder,
    indexingEmbedder,
    distribution: shape({ mean: required(unitInterval, code), sigma: required(sigma, code) }),
  }),
)

function checkedEmbedder(role: EmbedderRole, types: TypesByName): Type<EmbedderFields> {
  return refined(partial(code, types), (fields: EmbedderFields, at) => {
    checkSent(fields, at, role)
    return fields
  })
}
