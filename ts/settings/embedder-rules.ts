import { ApiError } from '../errors/index.js'
import { type At, badValue } from '../parse/index.js'
import { parseRequestTemplate, type RequestTemplate, RequestTemplateError } from './request-template.js'

/** The fields of an embedder, in the order of answers. In a patch, null resets a field. */
export type EmbedderFields = Readonly<Record<string, unknown>>

export const sources = ['openAi', 'huggingFace', 'ollama', 'userProvided', 'rest', 'composite'] as const
type Source = (typeof sources)[number]

export const fragmentFields: readonly string[] = ['indexingFragments', 'searchFragments']
export const templateFields: readonly string[] = ['documentTemplate', 'documentTemplateMaxBytes']
const anywhere = ['source', 'distribution', 'binaryQuantized']

/** The fields that an embedder may have, by source. */
export const allowed: Readonly<Record<Source, readonly string[]>> = {
  openAi: [...anywhere, 'model', 'apiKey', 'url', 'dimensions', ...templateFields],
  huggingFace: [...anywhere, 'model', 'revision', 'pooling', ...templateFields],
  ollama: [...anywhere, 'model', 'url', 'apiKey', 'dimensions', ...templateFields],
  userProvided: [...anywhere, 'dimensions'],
  rest: [
    ...anywhere,
    'url',
    'request',
    'response',
    'apiKey',
    'headers',
    'dimensions',
    ...templateFields,
    ...fragmentFields,
  ],
  composite: [...anywhere, 'searchEmbedder', 'indexingEmbedder'],
}

const mandatory: Readonly<Record<Source, readonly string[]>> = {
  openAi: [],
  huggingFace: [],
  ollama: ['model'],
  userProvided: ['dimensions'],
  rest: ['url', 'request', 'response'],
  composite: ['searchEmbedder', 'indexingEmbedder'],
}

const openAiModels: Readonly<Record<string, { dimensions: number; mayShrink: boolean }>> = {
  'text-embedding-ada-002': { dimensions: 1536, mayShrink: false },
  'text-embedding-3-small': { dimensions: 1536, mayShrink: true },
  'text-embedding-3-large': { dimensions: 3072, mayShrink: true },
}

export const defaultModel = {
  openAi: 'text-embedding-3-small',
  huggingFace: 'BAAI/bge-base-en-v1.5',
} as const

/** The revision of the default model of source `huggingFace`. */
export const defaultRevision = '617ca489d9e86b49b8167676d8220688b99db36e'

/** `nested`: inside a composite embedder. */
export type EmbedderRole = 'top' | 'nested'

/** The fields that determine vectors of documents: for a composite embedder, the fields of its indexing embedder. */
export const indexingFields = (fields: EmbedderFields): EmbedderFields =>
  fields.source === 'composite' ? (fields.indexingEmbedder as EmbedderFields) : fields

/** The fields that determine vectors of queries: for a composite embedder, the fields of its search embedder. */
export const searchingFields = (fields: EmbedderFields): EmbedderFields =>
  fields.source === 'composite' ? (fields.searchEmbedder as EmbedderFields) : fields

export const sourceOf = (fields: EmbedderFields): Source => (fields.source ?? 'openAi') as Source

/**
 * Checks an embedder as sent.
 * @throws ApiError `invalid_settings_embedders`; `vector_embedding_error` for an invalid request template
 */
export function checkSent(fields: EmbedderFields, at: At, role: EmbedderRole): void {
  // Invalid placeholders are reported before missing and forbidden fields. Source: recorded answers of the API.
  checkPlaceholders(fields, at)
  if (role === 'nested') checkNested(fields, at)
  // Without a source it may change a stored embedder. Then it is checked after merging.
  else if (Object.hasOwn(fields, 'source')) checkComplete(fields, at)
}

/**
 * Checks an embedder with a known source: required fields, forbidden fields and the model. @throws ApiError
 */
export function checkComplete(fields: EmbedderFields, at: At): void {
  const source = sourceOf(fields)
  const forbidden = Object.keys(fields).find((name) => !allowed[source].includes(name))
  if (forbidden !== undefined) throw notForSource(at, forbidden, source)
  const lacking = mandatory[source].find((name) => isUnset(fields[name]))
  if (lacking !== undefined) throw missingField(at, lacking)
  if (source === 'openAi') checkOpenAi(fields, at)
}

/** Returns the error for a field that embedders of `source` cannot have. */
export function notForSource(at: At, name: string, source: Source): ApiError {
  const fitting = sources.filter((candidate) => allowed[candidate].includes(name))
  return new ApiError(
    at.code,
    `\`${at.path.slice(1)}\`: field \`${name}\` is not available for source \`${source}\` ` +
      `(only for ${fitting.join(', ')}); available fields: ${allowed[source].join(', ')}`,
  )
}

const isUnset = (value: unknown): boolean => value === undefined || value === null
const below = (at: At, name: string): At => ({ path: `${at.path}.${name}`, code: at.code })

function missingField(at: At, name: string): ApiError {
  const inside = at.path === '' ? '' : ` inside \`${at.path}\``
  return new ApiError(at.code, `missing field \`${name}\`${inside}`)
}

function checkOpenAi(fields: EmbedderFields, at: At): void {
  const name = (fields.model ?? defaultModel.openAi) as string
  const model = Object.hasOwn(openAiModels, name) ? openAiModels[name] : undefined
  if (model === undefined) {
    const known = Object.keys(openAiModels).join(', ')
    throw badValue(`unknown OpenAI model \`${name}\`, known models: ${known}`, below(at, 'model'))
  }
  const dimensions = (fields.dimensions ?? model.dimensions) as number
  if (dimensions > model.dimensions || (!model.mayShrink && dimensions !== model.dimensions)) {
    const wanted = model.mayShrink ? `at most ${model.dimensions}` : `exactly ${model.dimensions}`
    const reason = `model \`${name}\` has ${wanted} dimensions, found ${dimensions}`
    throw badValue(reason, below(at, 'dimensions'))
  }
}

function checkNested(fields: EmbedderFields, at: At): void {
  if (isUnset(fields.source)) throw missingField(at, 'source')
  if (fields.source === 'composite' || fields.source === 'userProvided') {
    throw badValue(`a nested embedder cannot have source \`${fields.source}\``, below(at, 'source'))
  }
  checkComplete(fields, at)
}

/** Checks the placeholders of a `rest` embedder. Without them its request has no text or its answer no vector. */
function checkPlaceholders(fields: EmbedderFields, at: At): void {
  const usesFragments = fragmentFields.some((name) =>
    Object.values((fields[name] ?? {}) as object).some((fragment) => fragment !== null),
  )
  if (usesFragments && !isUnset(fields.documentTemplate)) {
    throw placeholderError(at, 'fragments and `documentTemplate` exclude each other')
  }
  const parsed = (name: string, placeholder: string): RequestTemplate | null => {
    if (isUnset(fields[name])) return null
    try {
      return parseRequestTemplate(fields[name], placeholder)
    } catch (error) {
      if (!(error instanceof RequestTemplateError)) throw error
      throw placeholderError(below(at, name), error.message)
    }
  }
  const request = parsed('request', usesFragments ? '{{fragment}}' : '{{text}}')
  const response = parsed('response', '{{embedding}}')
  if (request === null || response === null) return
  if ((request.repeated === null) !== (response.repeated === null)) {
    throw placeholderError(at, '`request` and `response` must both have a `"{{..}}"`, or none of them')
  }
}

const placeholderError = (at: At, reason: string): ApiError =>
  badValue(reason, { path: at.path, code: 'vector_embedding_error' })
