/**
 * Here are texts and a provider: which vectors does it give?
 *
 * Source: vectors §5.2, §5.3. What may pass is tried again, with growing pauses; what will not is told
 * at once, in the provider's own words but without any secret.
 */
import { ApiError } from '../errors/index.js'
import {
  isTransientStatus,
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  readAnswer,
  retryAfterMs,
  retrying,
  type Wait,
} from '../outbound/index.js'
import { toValue } from '../parse/index.js'
import { HIDDEN_SECRET } from '../settings/index.js'
import { ANSWER_BYTES_MAX, ANSWER_JSON, ATTEMPTS_MAX, DIMENSIONS_MAX, PROVIDER_TEXT_MAX } from './limits.js'
import { embeddingError, type Provider } from './providers.js'

/** Requests made so far, each attempt counted. */
export interface CallCounts {
  total: number
  failed: number
  /** The last failure, even if what failed worked later. */
  lastError: string | null
}

export interface EmbedOptions {
  readonly signal?: AbortSignal
  readonly counts?: CallCounts
}

/** How calls are made. */
export interface CallSetup {
  readonly outbound: Outbound
  /** For one request. */
  readonly timeoutMs: number
  /** The longest pause before the next attempt. */
  readonly pauseMsMax: number
  /** Default: a timer. */
  readonly wait?: Wait
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** When nobody waits any more, as `performance.now()` counts; absent: there is no hurry. */
  readonly deadline?: number
  readonly counts?: CallCounts
  /** Components that vectors must have; null: any number, the same for all. */
  readonly dimensions: number | null
}

/** A request that failed. */
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
 * The vectors of one request, in order of `inputs`.
 * @throws ApiError `vector_embedding_error`; whatever aborts `signal` rejects too
 */
export async function callProvider(
  setup: CallSetup,
  provider: Provider,
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
      ...(setup.wait !== undefined && { wait: setup.wait }),
      ...(signal !== undefined && { signal }),
    })
  } catch (error) {
    if (!(error instanceof FailedRequest)) throw error
    throw Object.assign(embeddingError(error.message), { status400: error.answer?.status === 400 })
  }
}

/** Whether a provider said that the request itself is at fault. */
export const wasRefused = (error: unknown): boolean =>
  error instanceof ApiError && (error as { status400?: boolean }).status400 === true

const isPast = (deadline: number | undefined): boolean =>
  deadline !== undefined && performance.now() >= deadline

async function attempt(
  setup: CallSetup,
  provider: Provider,
  inputs: readonly unknown[],
  options: CallOptions,
  counts: CallCounts | undefined,
): Promise<readonly Float32Array[]> {
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
  provider: Provider,
  inputs: readonly unknown[],
  { deadline, signal }: CallOptions,
): Promise<unknown> {
  const left = deadline === undefined ? timeoutMs : Math.min(timeoutMs, deadline - performance.now())
  if (left <= 0) throw new FailedRequest('there was no time left to ask for a vector', false)
  const place = placeOf(provider.url)
  let answer: OutboundAnswer
  try {
    answer = await outbound.call({
      method: 'POST',
      url: provider.url,
      headers: provider.headers,
      body: JSON.stringify(provider.request(inputs)),
      timeoutMs: Math.ceil(left),
      answerBytesMax: ANSWER_BYTES_MAX,
      ...(signal !== undefined && { signal }),
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw new FailedRequest(
      `${place}: ${error.message}`,
      error.fault === 'unreachable' || error.fault === 'timeout',
    )
  }
  const { status, body } = answer
  if (status < 200 || status > 299) {
    const mayPass = isTransientStatus(status) || status < 400
    throw new FailedRequest(`${place} answered ${status}: ${ownWords(body, provider)}`, mayPass, answer)
  }
  try {
    return toValue(await readAnswer(body, ANSWER_JSON))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const isLarge = error.code === 'payload_too_large'
    const found = isLarge ? `more than ${ANSWER_JSON.valuesMax} values` : 'something that is not JSON'
    throw new FailedRequest(`${place} answered with ${found}: ${ownWords(body, provider)}`, !isLarge)
  }
}

function vectorsIn(
  answer: unknown,
  provider: Provider,
  count: number,
  dimensions: number | null,
): readonly Float32Array[] {
  const place = placeOf(provider.url)
  const wrong = (reason: string) =>
    new FailedRequest(`${place} answered with wrong vectors: ${reason}`, false)
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
    if (typeof component !== 'number') throw wrong('a vector holds something that is no number')
    vector[at] = component
    if (!Number.isFinite(vector[at])) throw wrong(`\`${component}\` is beyond what 32-bit floats hold`)
  }
  return vector
}

/** A URL without what may be secret in it. */
function placeOf(url: string): string {
  try {
    const { origin, pathname } = new URL(url)
    return `\`${origin}${pathname}\``
  } catch {
    return 'the embedder'
  }
}

/** The beginning of what a provider said, with everything blackened that it was told in confidence. */
function ownWords(body: Buffer, { secrets }: Provider): string {
  let text = body.subarray(0, 4 * PROVIDER_TEXT_MAX).toString()
  for (const secret of secrets) {
    const inner = secret.replace(/^Bearer /i, '')
    for (const hidden of [secret, inner]) if (hidden.length > 3) text = text.replaceAll(hidden, HIDDEN_SECRET)
  }
  return text.length <= PROVIDER_TEXT_MAX ? text : `${text.slice(0, PROVIDER_TEXT_MAX)}…`
}
