/** Rerankers of an index: services, or models here, that score documents against a query. */
import { ApiError, type ErrorCode } from '../errors/index.js'
import {
  type At,
  badValue,
  httpUrl,
  integer,
  mapOf,
  named,
  nullable,
  oneOf,
  ownValue,
  refined,
  string,
  type Type,
} from '../parse/index.js'
import { byName, partial, sortedKeys } from './common-types.js'
import { template } from './embedder-types.js'
import {
  defaultDocumentTemplate,
  isSecretHeader,
  maskHeaders,
  maskSecret,
  maskUserInfo,
  withSecretsOf,
} from './embedders.js'
import { HEADERS_MAX, RERANK_DOCUMENT_BYTES_MAX, RERANK_TIMEOUT_MS_MAX, RERANKERS_MAX } from './limits.js'

const code: ErrorCode = 'invalid_settings_rerankers'

const sources = ['cohere', 'jina', 'voyage', 'tei', 'rest', 'huggingFace'] as const
/**
 * `tei`: Text Embeddings Inference. `rest`: any service with the interface of Cohere and Jina. `huggingFace`: a model
 * that runs in this process.
 */
type RerankerSource = (typeof sources)[number]

/** A reranker as stored. */
export interface RerankerFields {
  readonly source: RerankerSource
  readonly url?: string
  readonly apiKey?: string
  /** The name of the model at the service; for `huggingFace`, a repository of the hub or a folder. */
  readonly model?: string
  /** For `huggingFace`: a commit, branch or tag of the repository. */
  readonly revision?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly documentTemplate?: string
  readonly documentTemplateMaxBytes?: number
  readonly timeoutMs?: number
}

/** Address and model by source. null: the settings must have an address, except for a model here. */
export const rerankerDefaults: Readonly<
  Record<RerankerSource, { readonly url: string | null; readonly model: string | null }>
> = {
  cohere: { url: 'https://api.cohere.com/v2/rerank', model: 'rerank-v3.5' },
  jina: { url: 'https://api.jina.ai/v1/rerank', model: 'jina-reranker-v2-base-multilingual' },
  voyage: { url: 'https://api.voyageai.com/v1/rerank', model: 'rerank-2.5' },
  tei: { url: null, model: null },
  rest: { url: null, model: null },
  huggingFace: { url: null, model: 'cross-encoder/ms-marco-MiniLM-L6-v2' },
}

/** Fields of all sources. */
const commonFields = ['source', 'documentTemplate', 'documentTemplateMaxBytes', 'timeoutMs']

/** Returns true for a model that runs in this process. */
const isLocal = (source: unknown): boolean => source === 'huggingFace'

/** Returns the fields that rerankers of a source can have. */
const fieldsOf = (source: unknown): readonly string[] =>
  isLocal(source)
    ? [...commonFields, 'model', 'revision']
    : [...commonFields, 'model', 'url', 'apiKey', 'headers']

/** Defaults that depend on where the model runs. Cross-encoders read about 512 tokens, slowly on a processor. */
export const rerankerDefaultsOf = (source: RerankerSource) => ({
  documentTemplate: defaultDocumentTemplate,
  documentTemplateMaxBytes: isLocal(source) ? 400 : 2000,
  timeoutMs: 2000,
})

/** A number from 1 to `max`. */
const upTo = (max: number): Type<number> =>
  refined(
    integer(),
    (value, at) => {
      if (value < 1 || value > max) throw badValue(`\`${value}\` is not between 1 and ${max}`, at)
      return value
    },
    { minimum: 1, maximum: max },
  )

const reranker: Type<RerankerPatch> = refined(
  named(
    'Reranker',
    partial(code, {
      source: oneOf(sources),
      url: httpUrl,
      apiKey: string,
      model: string,
      revision: string,
      headers: byName(string, { max: HEADERS_MAX, what: 'headers' }),
      documentTemplate: template,
      documentTemplateMaxBytes: upTo(RERANK_DOCUMENT_BYTES_MAX),
      timeoutMs: upTo(RERANK_TIMEOUT_MS_MAX),
    }),
  ),
  (fields, at) => {
    // Without a source it may change a stored reranker. Then it is checked after merging.
    if (typeof fields.source === 'string') requireFitting(fields, at)
    return fields
  },
)

type RerankerPatch = Readonly<Record<string, unknown>>

/** Rerankers by name; null removes a reranker. */
export const rerankers = refined(mapOf(nullable(reranker)), (map, at) => {
  if (map.has('')) throw badValue('a reranker needs a name', at)
  return sortedKeys(map)
})

/**
 * Returns the rerankers after a patch, merged by name and then by field.
 * @throws ApiError `invalid_settings_rerankers` for a reranker without source or address, or too many rerankers
 */
export function mergeRerankers(
  current: Readonly<Record<string, RerankerFields>>,
  patch: Readonly<Record<string, RerankerPatch | null>>,
): Readonly<Record<string, RerankerFields>> {
  const merged = new Map(Object.entries(current))
  for (const [name, fields] of Object.entries(patch)) {
    if (fields === null) merged.delete(name)
    else merged.set(name, mergeReranker(merged.get(name), fields, { path: `.rerankers.${name}`, code }))
  }
  if (merged.size > RERANKERS_MAX)
    throw new ApiError(code, `too many rerankers: found ${merged.size}, an index can have ${RERANKERS_MAX}`)
  return sortedKeys(merged)
}

function mergeReranker(current: RerankerFields | undefined, patch: RerankerPatch, at: At): RerankerFields {
  const { source = current?.source } = patch
  // The address and the model of a service mean nothing to a model here.
  const isOther = current !== undefined && isLocal(current.source) !== isLocal(source)
  const before = Object.entries(current ?? {}).filter(([name]) => !isOther || commonFields.includes(name))
  const fields: Record<string, unknown> = Object.fromEntries(before)
  for (const [name, value] of Object.entries(withSecretsOf(fields, patch))) {
    if (value === null) delete fields[name]
    else fields[name] = value
  }
  requireComplete(fields, at)
  requireFitting(fields, at)
  return inOrder(fields)
}

function requireComplete({ source, url }: RerankerPatch, at: At): void {
  if (typeof source !== 'string') throw badValue(`missing field \`source\`, one of ${sources.join(', ')}`, at)
  if (isLocal(source)) return
  if (typeof url !== 'string' && rerankerDefaults[source as RerankerSource].url === null)
    throw badValue(`source \`${source}\` needs the field \`url\``, at)
}

function requireFitting(fields: RerankerPatch, at: At): void {
  const fitting = fieldsOf(fields.source)
  const other = Object.keys(fields).find((name) => fields[name] !== null && !fitting.includes(name))
  if (other === undefined) return
  throw badValue(
    `field \`${other}\` is not available for source \`${fields.source}\`; available fields: ${fitting.join(', ')}`,
    at,
  )
}

const order = [
  ...['source', 'url', 'apiKey', 'model', 'revision', 'headers', 'documentTemplate'],
  ...['documentTemplateMaxBytes', 'timeoutMs'],
]

const inOrder = (fields: RerankerPatch): RerankerFields =>
  Object.fromEntries(
    order.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]),
  ) as unknown as RerankerFields

/** Returns the rerankers with a model here that a change adds or gives another model. */
export const changedLocalRerankers = (
  before: Readonly<Record<string, RerankerFields>>,
  after: Readonly<Record<string, RerankerFields>>,
): Readonly<Record<string, RerankerFields>> =>
  Object.fromEntries(
    Object.entries(after).filter(([name, fields]) => {
      const old = ownValue(before, name)
      return isLocal(fields.source) && (old === undefined || modelOf(old) !== modelOf(fields))
    }),
  )

/** Returns a text that is equal for rerankers whose scores can be compared. */
export function modelOf({ source, url, model, revision }: RerankerFields): string {
  const defaults = rerankerDefaults[source]
  return JSON.stringify([source, url ?? defaults.url, model ?? defaults.model, revision ?? null])
}

/** Returns rerankers for `GET /settings`: with defaults, and masked secrets. */
export const renderRerankers = (
  rerankers: Readonly<Record<string, RerankerFields>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(rerankers).map(([name, fields]) => {
      const { url, model } = rerankerDefaults[fields.source]
      const own = { ...(url !== null && { url }), ...(model !== null && { model }) }
      return [name, masked(inOrder({ ...rerankerDefaultsOf(fields.source), ...own, ...fields }))]
    }),
  )

/** Masks the secrets of sent rerankers, also in their URLs. */
export const maskRerankers = (
  sent: Readonly<Record<string, RerankerPatch | null>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(sent).map(([name, fields]) => [name, fields && maskedWithUrl(fields)]))

const maskedWithUrl = (fields: RerankerPatch): RerankerPatch => ({
  ...masked(fields),
  ...(typeof fields.url === 'string' && { url: maskUserInfo(fields.url) }),
})

/** Removes API keys and secret headers. */
export const rerankersWithoutSecrets = (
  rerankers: Readonly<Record<string, RerankerFields>>,
): Readonly<Record<string, RerankerFields>> =>
  Object.fromEntries(
    Object.entries(rerankers).map(([name, { apiKey: _, headers, ...fields }]) => [
      name,
      {
        ...fields,
        ...(headers !== undefined && {
          headers: Object.fromEntries(Object.entries(headers).filter(([one]) => !isSecretHeader(one))),
        }),
      },
    ]),
  )

function masked(fields: RerankerPatch | RerankerFields): RerankerPatch {
  const { apiKey, headers } = fields as RerankerFields
  return {
    ...fields,
    ...(typeof apiKey === 'string' && { apiKey: maskSecret(apiKey) }),
    ...(headers && { headers: maskHeaders(headers) }),
  }
}
