/**
 * Requests vectors from a provider.
 *
 * A failure that may be temporary is retried with backoff. Any other failure is reported at once, with the beginning of
 * the provider's answer but without secrets. Source: vectors §5.2, §5.3.
 */
import { ApiError } from '../../errors/index.js'
import {
  isTransientStatus,
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  readAnswer,
  retryAfterMs,
  retrying,
  type Wait,
} from '../../outbound/index.js'
import { cutText, toValue } from '../../parse/index.js'
import { HIDDEN_SECRET } from '../../settings/index.js'
import { ANSWER_BYTES_MAX, ANSWER_JSON, ATTEMPTS_MAX, DIMENSIONS_MAX, PROVIDER_TEXT_MAX } from '../limits.js'
import { ModelError, type Models } from '../models/index.js'
import {
  embeddingError,
  type LocalModel,
  type Provider,
  type ProviderDefaults,
  type Service,
} from './providers.js'
import type { RequestRate } from './request-rate.js'

/** Requests made so far. Each attempt counts. */
export interface CallCounts {
  total: number
  failed: number
  /** The message of the last failure, even if a retry succeeded. */
  lastError: string | null
}

export interface EmbedOptions {
  readonly signal?: AbortSignal | undefined
  readonly counts?: CallCounts | undefined
}

/** Failures that leave a document without vectors, instead of failing its batch. */
export interface FailureModes {
  readonly ignoreTemplates: boolean
  readonly ignoreProviders: boolean
}

/** Settings of calls to all providers. */
export interface CallSetup {
  readonly outbound: Outbound
  readonly models: Models
  readonly defaults: ProviderDefaults
  readonly failureModes: FailureModes
  /** Timeout of one request, in milliseconds. */
  readonly timeoutMs: number
  /** Longest pause between attempts, in milliseconds. */
  readonly pauseMsMax: number
  /** Waits between attempts. Default: a timer. */
  readonly wait?: Wait | undefined
  /** Limits the requests per minute. */
  readonly rate: RequestRate
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Time of `performance.now()` after which the vector is no longer needed; absent: no deadline. */
  readonly deadline?: number | undefined
  readonly counts?: CallCounts | undefined
  /** Called with each answer, whatever its status. */
  readonly note?: (answer: OutboundAnswer) => void
  /** Number of components of each vector; null: any number, but the same for all vectors of a request. */
  readonly dimensions: number | null
}

class FailedRequest extends Error {
  override readonly name = 'FailedRequest'

  constructor(
    message: string,
    readonly mayPass: boolean,
    readonly answer: OutboundAnswer | null = null,
  ) {
    super(message)
  }
}

/**
 * Returns the vectors of one request, in the order of `inputs`.
 * @throws ApiError `vector_embedding_error`, or the reason of `signal`
 */
export const callProvider = (
  setup: CallSetup,
  provider: Provider,
  inputs: readonly unknown[],
  options: CallOptions,
): Promise<readonly Float32Array[]> =>
  'model' in provider
    ? callModel(setup, provider, inputs, options)
    : callService(setup, provider, inputs, options)

/** Runs a local model. This does not count as a request. */
async function callModel(
  { models }: CallSetup,
  { model }: LocalModel,
  inputs: readonly unknown[],
  { deadline, dimensions, signal }: CallOptions,
): Promise<readonly Float32Array[]> {
  try {
    const vectors = await models.vectors(model, inputs.map(String), { deadline, signal })
    const found = vectors[0]?.length ?? 0
    if (dimensions === null || dimensions === found) return vectors
    throw new ModelError(
      `the model \`${model.model}\` returns vectors of ${found} dimensions, but returned ${dimensions} dimensions before`,
    )
  } catch (error) {
    throw error instanceof ModelError ? embeddingError(error.message) : error
  }
}

async function callService(
  setup: CallSetup,
  provider: Service,
  inputs: readonly unknown[],
  options: CallOptions,
): Promise<readonly Float32Array[]> {
  const { counts, deadline, signal } = options
  try {
    return await retrying(() => attempt(setup, provider, inputs, options, counts), {
      firstMs: 1,
      factor: 10,
      lastMs: setup.pauseMsMax,
      attemptsMax: ATTEMPTS_MAX,
      worthRetrying: (error) =>
        error instanceof FailedRequest && error.mayPass && !isPast(deadline) && signal?.aborted !== true,
      askedPauseMs: (error, usualMs) => {
        const answer = error instanceof FailedRequest ? error.answer : null
        const asked = answer === null ? null : retryAfterMs(answer.headers)
        const pause = asked ?? (answer?.status === 429 ? usualMs + 100 : usualMs)
        return deadline === undefined ? pause : Math.min(pause, Math.max(0, deadline - performance.now()))
      },
      wait: setup.wait,
      signal,
    })
  } catch (error) {
    if (!(error instanceof FailedRequest)) throw error
    throw Object.assign(embeddingError(error.message), { status400: error.answer?.status === 400 })
  }
}

/** True if a provider answered 400, so that the input itself may be invalid. */
export const wasRefused = (error: unknown): boolean =>
  error instanceof ApiError && (error as { status400?: boolean }).status400 === true

const isPast = (deadline: number | undefined): boolean =>
  deadline !== undefined && performance.now() >= deadline

async function attempt(
  setup: CallSetup,
  provider: Service,
  inputs: readonly unknown[],
  options: CallOptions,
  counts: CallCounts | undefined,
): Promise<readonly Float32Array[]> {
  const { deadline, signal } = options
  const isInTime = await setup.rate.turn(accountOf(provider), { deadline, signal })
  if (!isInTime) {
    const reason = 'the requests of this minute are used up; see `--embedder-requests-per-minute`'
    throw new FailedRequest(`${endpointOf(provider.url)} was not called: ${reason}`, false)
  }
  if (counts !== undefined) counts.total++
  try {
    return vectorsIn(
      await answerOf(setup, provider, inputs, options),
      provider,
      inputs.length,
      options.dimensions,
    )
  } catch (error) {
    const { message } = error as Error
    if (counts !== undefined) {
      counts.failed++
      counts.lastError = message
    }
    throw error
  }
}

async function answerOf(
  { outbound, timeoutMs }: CallSetup,
  provider: Service,
  inputs: readonly unknown[],
  { deadline, note, signal }: CallOptions,
): Promise<unknown> {
  const left = deadline === undefined ? timeoutMs : Math.min(timeoutMs, deadline - performance.now())
  if (left <= 0) throw new FailedRequest('no time was left to request a vector', false)
  const endpoint = endpointOf(provider.url)
  let answer: OutboundAnswer
  try {
    answer = await outbound.call({
      method: 'POST',
      url: provider.url,
      headers: provider.headers,
      body: JSON.stringify(provider.request(inputs)),
      timeoutMs: Math.ceil(left),
      answerBytesMax: ANSWER_BYTES_MAX,
      signal,
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw new FailedRequest(
      `${endpoint}: ${error.message}`,
      error.fault === 'unreachable' || error.fault === 'timeout',
    )
  }
  note?.(answer)
  const { status, body } = answer
  if (status < 200 || status > 299) {
    const mayPass = isTransientStatus(status) || status < 400
    throw new FailedRequest(`${endpoint} answered ${status}: ${excerptOf(body, provider)}`, mayPass, answer)
  }
  try {
    return toValue(await readAnswer(body, ANSWER_JSON))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const isLarge = error.code === 'payload_too_large'
    const found = isLarge ? `more than ${ANSWER_JSON.valuesMax} values` : 'something that is not JSON'
    throw new FailedRequest(`${endpoint} answered with ${found}: ${excerptOf(body, provider)}`, !isLarge)
  }
}

function vectorsIn(
  answer: unknown,
  provider: Service,
  count: number,
  dimensions: number | null,
): readonly Float32Array[] {
  const endpoint = endpointOf(provider.url)
  const wrong = (reason: string) =>
    new FailedRequest(`${endpoint} answered with wrong vectors: ${reason}`, false)
  let values: readonly unknown[]
  try {
    values = provider.vectors(answer)
  } catch (error) {
    throw wrong((error as Error).message)
  }
  if (values.length !== count) throw wrong(`expected ${count}, found ${values.length}`)
  const vectors = values.map((value) => vectorOf(value, wrong))
  const expected = dimensions ?? vectors[0]?.length ?? 0
  const other = vectors.find(({ length }) => length !== expected)
  if (other !== undefined) throw wrong(`expected ${expected} dimensions, found ${other.length}`)
  return vectors
}

function vectorOf(value: unknown, wrong: (reason: string) => Error): Float32Array {
  if (!Array.isArray(value)) throw wrong('a vector must be an array of numbers')
  if (value.length === 0 || value.length > DIMENSIONS_MAX) throw wrong(`found ${value.length} dimensions`)
  const vector = new Float32Array(value.length)
  for (const [at, component] of value.entries()) {
    if (typeof component !== 'number') throw wrong('a vector has a component that is not a number')
    vector[at] = component
    if (!Number.isFinite(vector[at])) throw wrong(`\`${component}\` does not fit into a 32-bit float`)
  }
  return vector
}

/** Identifies the provider and API key whose requests are counted together. */
function accountOf({ url, headers }: Service): string {
  return JSON.stringify([URL.canParse(url) ? new URL(url).origin : url, headers])
}

/** Returns the URL without user name, password and query string, which may contain secrets. */
function endpointOf(url: string): string {
  try {
    const { origin, pathname } = new URL(url)
    return `\`${origin}${pathname}\``
  } catch {
    return 'the embedder'
  }
}

/** Returns the beginning of a provider's answer. Masks secrets, as the answer may repeat them. */
function excerptOf(body: Buffer, { secrets }: Service): string {
  let text = body.subarray(0, 4 * PROVIDER_TEXT_MAX).toString()
  for (const secret of secrets) {
    const inner = secret.replace(/^Bearer /i, '')
    for (const hidden of [secret, inner]) if (hidden.length > 3) text = text.replaceAll(hidden, HIDDEN_SECRET)
  }
  return text.length <= PROVIDER_TEXT_MAX ? text : `${cutText(text, PROVIDER_TEXT_MAX)}…`
}
