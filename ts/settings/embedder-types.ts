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
import { byName, partial, positive, type TypesByName } from './common-types.js'
import { checkSent, type EmbedderFields, type EmbedderRole, sources } from './embedder-rules.js'
import { HEADERS_MAX } from './limits.js'
import { liquid, templatesOf } from './liquid.js'

const code: ErrorCode = 'invalid_settings_embedders'

/** A Liquid template. One that does not parse is refused. */
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

/** JSON in which every string is a template. One that does not parse is refused, since indexing would skip it. */
const fragment: Type<unknown> = refined(anything, (value, at) => {
  requireParsed(() => templatesOf(value), at)
  return value
})

/** Fragments by name, each with the JSON that is embedded for it; null removes one. */
const fragments = byName(nullable(shape({ value: required(fragment, code) })))

const sigma = number((value) => value > 0 && value <= 1, 'above 0 and at most 1', {
  exclusiveMinimum: 0,
  maximum: 1,
})

/** The fields of all embedders, in the order in which answers show them. */
const everywhere = {
  source: oneOf(sources),
  model: string,
  revision: string,
  pooling: oneOf(['useModel', 'forceCls', 'forceMean']),
  apiKey: string,
  dimensions: positive,
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

/** An embedder nested inside a composite one, which has fewer fields than one that stands alone. */
const searchEmbedder = named('SearchEmbedder', judged('nested', { ...inBoth, searchFragments }))
const indexingEmbedder = named('IndexingEmbedder', judged('nested', inIndexing))

/**
 * One embedder of a patch. Its value has the fields that were sent, in the order in which answers show them. Errors
 * have the code `invalid_settings_embedders`, or `vector_embedding_error` for a malformed request template.
 */
export const embedder: Type<EmbedderFields> = named(
  'Embedder',
  judged('top', {
    ...everywhere,
    searchEmbedder,
    indexingEmbedder,
    distribution: shape({ mean: required(unitInterval, code), sigma: required(sigma, code) }),
  }),
)

function judged(role: EmbedderRole, types: TypesByName): Type<EmbedderFields> {
  return refined(partial(code, types), (fields: EmbedderFields, at) => {
    checkSent(fields, at, role)
    return fields
  })
}
