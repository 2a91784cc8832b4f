/** Ranks the hits of a search with a service or a model here, and counts the outcomes. */
import type { Models } from '../embedding/index.js'
import { ApiError } from '../errors/index.js'
import type { Outbound, Wait } from '../outbound/index.js'
import { type RerankerFields, rerankerDefaults, rerankerDefaultsOf } from '../settings/index.js'
import { callReranker, type RankedDocument, type RerankService } from './call.js'
import { PERSONALIZATION_MS_MAX } from './limits.js'
import { requireModels, scoreLocally } from './local-model.js'
import { RerankError } from './rerank-error.js'

/** Input of a ranking. */
interface Ranked {
  readonly query: string
  readonly documents: readonly string[]
  readonly signal: AbortSignal
}

/** The outcomes of reranked searches. */
const rerankOutcomes = ['applied', 'timeout', 'failed'] as const
type RerankOutcome = (typeof rerankOutcomes)[number]

interface RerankFigures {
  /** Searches with `personalize`. */
  readonly personalized: number
  /** Searches with `rerank` that called a reranker. */
  readonly reranked: Readonly<Record<RerankOutcome, number>>
}

export interface Rerankers {
  /** True if a service for `personalize` is configured. */
  readonly personalizes: boolean
  readonly figures: RerankFigures
  /**
   * Ranks documents with a reranker of an index, best first. Documents that it leaves out are missing.
   * @throws RerankError if it fails or exceeds its time limit
   */
  rank(fields: RerankerFields, ranked: Ranked): Promise<readonly RankedDocument[]>
  /**
   * Checks that the models of rerankers of source `huggingFace` can be used. Downloads missing models.
   * @throws ApiError `invalid_settings_rerankers`, or the reason of `signal`
   */
  requireModels(rerankers: Readonly<Record<string, RerankerFields>>, signal: AbortSignal): Promise<void>
  /**
   * Ranks hits for a user.
   * @returns null: the deadline passed
   * @throws ApiError in the form of the API
   */
  personalize(ranked: Ranked & { readonly deadline: number }): Promise<readonly RankedDocument[] | null>
}

/** The service of `personalize`, from the launch options. */
export interface PersonalizationOptions {
  readonly apiKey: string | null
  readonly url: string | null
  readonly model: string
}

export interface RerankersSetup {
  readonly outbound: Outbound
  readonly models: Models
  readonly personalization: PersonalizationOptions
  /** Waits between attempts. Default: a timer. */
  readonly wait?: Wait
}

export function openRerankers({ outbound, models, personalization, wait }: RerankersSetup): Rerankers {
  const calls = { outbound, wait }
  const { apiKey, url, model } = personalization
  const personal =
    apiKey === null && url === null
      ? null
      : serviceOf({
          ...{ source: 'rest', url: url ?? PERSONALIZATION_URL, model },
          ...(apiKey !== null && { apiKey }),
        })
  const reranked = { applied: 0, timeout: 0, failed: 0 }
  let personalized = 0
  return {
    personalizes: personal !== null,
    get figures() {
      return { personalized, reranked: { ...reranked } }
    },
    async rank(fields, ranked) {
      const timeoutMs = fields.timeoutMs ?? rerankerDefaultsOf(fields.source).timeoutMs
      try {
        const found =
          fields.source === 'huggingFace'
            ? await scoreLocally(models, { fields, ...ranked, timeoutMs })
            : await callReranker(calls, {
                service: serviceOf(fields),
                ...ranked,
                deadline: performance.now() + timeoutMs,
                attemptMsMax: timeoutMs,
              })
        reranked.applied += 1
        // Some services keep the order of the request.
        return found.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0))
      } catch (error) {
        reranked[error instanceof RerankError && error.fault === 'timeout' ? 'timeout' : 'failed'] += 1
        throw error
      }
    },
    requireModels: (rerankers, signal) => requireModels(models, rerankers, signal),
    async personalize(ranked) {
      if (personal === null) throw notConfigured()
      personalized += 1
      if (ranked.documents.length === 0) return []
      try {
        return await callReranker(calls, {
          ...ranked,
          service: personal,
          attemptMsMax: PERSONALIZATION_MS_MAX,
        })
      } catch (error) {
        if (!(error instanceof RerankError)) throw error
        if (error.fault === 'timeout') return null
        throw apiError(error)
      }
    },
  }
}

/** Source: the API. */
const PERSONALIZATION_URL = 'https://api.cohere.ai/v1/rerank'

/** Returns the error of `personalize` without a service. */
export const notConfigured = (): ApiError =>
  new ApiError(
    'feature_not_enabled',
    'passing `personalize` requires a service that ranks hits: start the server with ' +
      '--experimental-personalization-api-key or --experimental-personalization-url',
  )

function serviceOf(fields: RerankerFields): RerankService {
  const defaults = rerankerDefaults[fields.source]
  const model = fields.model ?? defaults.model
  const named = { ...(model !== null && { model }) }
  const isTei = fields.source === 'tei'
  return {
    url: fields.url ?? defaults.url ?? '',
    headers: {
      'content-type': 'application/json',
      ...(fields.apiKey !== undefined && { authorization: `Bearer ${fields.apiKey}` }),
      ...fields.headers,
    },
    body: (query, documents) =>
      isTei ? { query, texts: documents, truncate: true } : { ...named, query, documents },
  }
}

/** Source: the API's codes of personalized searches. */
function apiError({ fault, message, answer }: RerankError): ApiError {
  const said = `the personalization service failed: ${message}`
  if (fault === 'unreadable') return new ApiError('remote_bad_response', said)
  if (answer === null) return new ApiError('remote_could_not_send_request', said)
  const { status } = answer
  if (status === 400) return new ApiError('remote_bad_request', said)
  if (status === 401) return new ApiError('remote_invalid_api_key', said)
  if (status === 429) return new ApiError('too_many_search_requests', said)
  return new ApiError(status >= 500 ? 'remote_remote_error' : 'remote_bad_response', said)
}
