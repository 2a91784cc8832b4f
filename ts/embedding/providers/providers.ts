/** Translates the settings of an embedder to a local model, or to the requests and answers of a service. */
import { ApiError } from '../../errors/index.js'
import {
  defaultModel,
  defaultRevision,
  type EmbedderFields,
  filledRequest,
  isSecretHeader,
  parseRequestTemplate,
  RequestTemplateError,
  sourceOf,
  valuesFromAnswer,
} from '../../settings/index.js'
import { TEXTS_PER_MODEL_CALL, TEXTS_PER_REQUEST } from '../limits.js'
import type { ModelUse, Pooling } from '../models/index.js'
import { fittingTokens } from '../tokens.js'

/** The source of an embedder's vectors. */
export type Provider = Service | LocalModel

interface AnyProvider {
  /** Equal for embedders that return the same vectors for the same input. Contains no secret. */
  readonly identity: string
  /** Texts or fragments per request. */
  readonly inputsPerRequest: number
}

/** A model that runs in this process. */
export interface LocalModel extends AnyProvider {
  readonly model: ModelUse
}

/** A service that returns an embedder's vectors, and how to call it. */
export interface Service extends AnyProvider {
  /** An absolute URL, http or https. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Texts that error messages must not contain. */
  readonly secrets: readonly string[]
  /** Builds the body of a request. */
  request(inputs: readonly unknown[]): unknown
  /** Extracts the vectors from an answer. @throws Error that names the missing part */
  vectors(answer: unknown): readonly unknown[]
  /** Shortens a text that the provider refused as too long. Absent: texts cannot be shortened. */
  shortened?(text: string): Promise<unknown>
}

/** Values from the environment for fields missing in the settings. */
export interface ProviderDefaults {
  readonly openAiKey: string | null
  readonly ollamaUrl: string
}

/** The error for input that cannot be embedded. */
export const embeddingError = (message: string): ApiError => new ApiError('vector_embedding_error', message)

/** Returns the provider of an embedder. @throws ApiError `vector_embedding_error` if its settings name none */
export function providerOf(fields: EmbedderFields, defaults: ProviderDefaults): Provider {
  if (sourceOf(fields) === 'huggingFace') return localModel(fields)
  const found = findService(fields, defaults)
  return { ...found, identity: identityOf(fields, found.url) }
}

function localModel(fields: EmbedderFields): LocalModel {
  const named = textOf(fields.model)
  const model = {
    model: named ?? defaultModel.huggingFace,
    revision: textOf(fields.revision) ?? (named === null ? defaultRevision : null),
    pooling: (fields.pooling ?? 'useModel') as Pooling,
  }
  const identity = JSON.stringify(['huggingFace', model.model, model.revision, model.pooling])
  return { model, identity, inputsPerRequest: TEXTS_PER_MODEL_CALL }
}

const identifying = ['source', 'model', 'revision', 'pooling', 'dimensions', 'request', 'response']

function identityOf(fields: EmbedderFields, url: string): string {
  const headers = Object.entries((fields.headers ?? {}) as Readonly<Record<string, string>>)
  const shown = headers.filter(([name]) => !isSecretHeader(name))
  return JSON.stringify([url, shown, ...identifying.map((name) => fields[name] ?? null)])
}

type FoundService = Omit<Service, 'identity'>

function findService(fields: EmbedderFields, defaults: ProviderDefaults): FoundService {
  const source = sourceOf(fields)
  switch (source) {
    case 'openAi':
      return openAi(fields, defaults)
    case 'ollama':
      return ollama(fields, defaults)
    case 'rest':
      return rest(fields)
    case 'userProvided':
      throw embeddingError('an embedder of source `userProvided` makes no vectors: give one in `vector`')
    case 'huggingFace':
      throw new TypeError('a local model is not a service')
    case 'composite':
      throw new TypeError('a composite embedder is called through its halves')
  }
}

const bearer = (apiKey: unknown): Record<string, string> =>
  typeof apiKey === 'string' && apiKey !== '' ? { authorization: `Bearer ${apiKey}` } : {}

const json = { 'content-type': 'application/json' }

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** A model that accepts no `dimensions` in requests. */
const fixedModel = 'text-embedding-ada-002'

function openAi(fields: EmbedderFields, defaults: ProviderDefaults): FoundService {
  const apiKey = textOf(fields.apiKey) ?? defaults.openAiKey
  const model = textOf(fields.model) ?? 'text-embedding-3-small'
  const { dimensions } = fields
  const shrunk = typeof dimensions === 'number' && model !== fixedModel ? { dimensions } : {}
  return {
    url: textOf(fields.url) ?? 'https://api.openai.com/v1/embeddings',
    headers: { ...bearer(apiKey), ...json },
    inputsPerRequest: TEXTS_PER_REQUEST,
    secrets: secretsOf(apiKey, {}),
    // Tokens are sent as one flat array, so a shortened text is sent alone.
    request: (inputs) => ({ model, input: Array.isArray(inputs[0]) ? inputs[0] : inputs, ...shrunk }),
    vectors: (answer) => valuesFromAnswer(openAiAnswer, answer),
    shortened: fittingTokens,
  }
}

const openAiAnswer = parseRequestTemplate(
  { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
  '{{embedding}}',
)

function ollama(fields: EmbedderFields, defaults: ProviderDefaults): FoundService {
  const url = textOf(fields.url) ?? defaults.ollamaUrl
  const { apiKey, model } = fields
  const isBatched = pathOf(url).endsWith('/api/embed')
  if (!isBatched && !pathOf(url).endsWith('/api/embeddings')) {
    throw embeddingError(`the URL of an ollama embedder must end in \`/api/embed\` or \`/api/embeddings\``)
  }
  return {
    url,
    headers: { ...bearer(apiKey), ...json },
    inputsPerRequest: isBatched ? TEXTS_PER_REQUEST : 1,
    secrets: secretsOf(apiKey, {}),
    request: (inputs) => (isBatched ? { model, input: inputs } : { model, prompt: inputs[0] }),
    vectors: (answer) => valuesFromAnswer(isBatched ? ollamaAnswers : ollamaAnswer, answer),
  }
}

const ollamaAnswers = parseRequestTemplate({ embeddings: ['{{embedding}}', '{{..}}'] }, '{{embedding}}')
const ollamaAnswer = parseRequestTemplate({ embedding: '{{embedding}}' }, '{{embedding}}')

function pathOf(url: string): string {
  try {
    return new URL(url).pathname
  } catch {
    throw embeddingError('the URL of the embedder cannot be read')
  }
}

function rest(fields: EmbedderFields): FoundService {
  const { apiKey } = fields
  const usesFragments = fields.indexingFragments !== undefined || fields.searchFragments !== undefined
  const templateOf = (name: string, placeholder: string) => {
    try {
      return parseRequestTemplate(fields[name], placeholder)
    } catch (error) {
      if (!(error instanceof RequestTemplateError)) throw error
      throw embeddingError(`\`${name}\`: ${error.message}`)
    }
  }
  const request = templateOf('request', usesFragments ? '{{fragment}}' : '{{text}}')
  const response = templateOf('response', '{{embedding}}')
  if ((request.repeated === null) !== (response.repeated === null)) {
    throw embeddingError('`request` and `response` must both have a `"{{..}}"`, or neither of them')
  }
  const headers = (fields.headers ?? {}) as Readonly<Record<string, string>>
  return {
    url: String(fields.url),
    headers: overlaid({ ...bearer(apiKey), ...json }, headers),
    inputsPerRequest: request.repeated === null ? 1 : TEXTS_PER_REQUEST,
    secrets: secretsOf(apiKey, headers),
    request: (inputs) => filledRequest(request, inputs),
    vectors: (answer) => valuesFromAnswer(response, answer),
  }
}

/** Merges headers. A header in `given` replaces one in `own` with the same name, in any case. */
function overlaid(
  own: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = Object.keys(given).map((name) => name.toLowerCase())
  const others = Object.entries(own).filter(([name]) => !names.includes(name))
  return { ...Object.fromEntries(others), ...given }
}

/** Returns the secrets of a request. A provider may repeat them in its answer, and so in error messages. */
function secretsOf(apiKey: unknown, headers: Readonly<Record<string, string>>): readonly string[] {
  return [textOf(apiKey) ?? '', ...Object.values(headers)].filter((secret) => secret.length > 3)
}
