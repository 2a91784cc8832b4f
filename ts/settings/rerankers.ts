/** Rerankers of an index: services that score documents against a query. */
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
  refined,
  string,
  type Type,
} from '../parse/index.js'
import { byName, partial, sortedKeys } from './common-types.js'
import { template } from './embedder-types.js'
import { defaultDocumentTemplate, isSecretHeader, maskHeaders, maskSecret } from './embedders.js'
import { HEADERS_MAX, RERANK_DOCUMENT_BYTES_MAX, RERANK_TIMEOUT_MS_MAX, RERANKERS_MAX } from './limits.js'

const code: ErrorCode = 'invalid_settings_rerankers'

const sources = ['cohere', 'jina', 'voyage', 'tei', 'rest'] as const
/** `tei`: Text Embeddings Inference. `rest`: any service with the interface of Cohere and Jina. */
type RerankerSource = (typeof sources)[number]

/** A reranker as stored. */
export interface RerankerFields {
  readonly source: RerankerSource
  readonly url?: string
  readonly apiKey?: string
  /** The name of the model at the service. */
  readonly model?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly documentTemplate?: string
  readonly documentTemplateMaxBytes?: number
  readonly timeoutMs?: number
}

/** Address and model by source; null: the settings must have an address. */
export const rerankerDefaults: Readonly<
  Record<RerankerSource, { readonly url: string | null; readonly model: string | null }>
> = {
  cohere: { url: 'https://api.cohere.com/v2/rerank', model: 'rerank-v3.5' },
  jina: { url: 'https://api.jina.ai/v1/rerank', model: 'jina-reranker-v2-base-multilingual' },
  voyage: { url: 'https://api.voyageai.com/v1/rerank', model: 'rerank-2.5' },
  tei: { url: null, model: null },
  rest: { url: null, model: null },
}

/** Defaults of all sources. A template of the embedders writes 400 bytes; cross-encoders read about 512 tokens. */
export const rerankerCommonDefaults = {
  documentTemplate: defaultDocumentTemplate,
  documentTemplateMaxBytes: 2000,
  timeoutMs: 2000,
} as const

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

const reranker: Type<RerankerPatch> = named(
  'Reranker',
  partial(code, {
    source: oneOf(sources),
    url: httpUrl,
    apiKey: string,
    model: string,
    headers: byName(string, { max: HEADERS_MAX, what: 'headers' }),
    documentTemplate: template,
    documentTemplateMaxBytes: upTo(RERANK_DOCUMENT_BYTES_MAX),
    timeoutMs: upTo(RERANK_TIMEOUT_MS_MAX),
  }),
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
  const fields: Record<string, unknown> = { ...current }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete fields[name]
    // A form that shows the masked key sends it back unchanged.
    else if (name === 'apiKey' && value === maskSecret(String(fields[name] ?? ''))) continue
    else fields[name] = value
  }
  requireComplete(fields, at)
  return inOrder(fields)
}

function requireComplete({ source, url }: RerankerPatch, at: At): void {
  if (typeof source !== 'string') throw badValue(`missing field \`source\`, one of ${sources.join(', ')}`, at)
  if (typeof url !== 'string' && rerankerDefaults[source as RerankerSource].url === null)
    throw badValue(`source \`${source}\` needs the field \`url\``, at)
}

const order = [
  ...['source', 'url', 'apiKey', 'model', 'headers', 'documentTemplate', 'documentTemplateMaxBytes'],
  'timeoutMs',
]

const inOrder = (fields: RerankerPatch): RerankerFields =>
  Object.fromEntries(
    order.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]),
  ) as unknown as RerankerFields

/** Returns rerankers for `GET /settings`: with defaults, and masked secrets. */
export const renderRerankers = (
  rerankers: Readonly<Record<string, RerankerFields>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(rerankers).map(([name, fields]) => {
      const { url, model } = rerankerDefaults[fields.source]
      const own = { ...(url !== null && { url }), ...(model !== null && { model }) }
      return [name, masked(inOrder({ ...rerankerCommonDefaults, ...own, ...fields }))]
    }),
  )

/** Masks the secrets of sent rerankers. */
export const maskRerankers = (
  sent: Readonly<Record<string, RerankerPatch | null>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(sent).map(([name, fields]) => [name, fields && masked(fields)]))

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
