/** Calls a service that scores documents against a query. */
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
import { ANSWER_BYTES_MAX, ANSWER_JSON, ATTEMPTS_MAX, PAUSE_MS_FIRST, PAUSE_MS_MAX } from './limits.js'
import { abandoned, RerankError, type RerankFault } from './rerank-error.js'

/** A service, and the shape of its requests. */
export interface RerankService {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Returns the body of a request. */
  body(query: string, documents: readonly string[]): object
}

/** A document that the service scored. */
export interface RankedDocument {
  /** Position in the request. */
  readonly index: number
  /** null: the service ranks without scores. */
  readonly score: number | null
}

interface RerankCall {
  readonly service: RerankService
  readonly query: string
  readonly documents: readonly string[]
  /** Time of `performance.now()` after which the ranking is no longer needed. */
  readonly deadline: number
  /** Milliseconds of one attempt. */
  readonly attemptMsMax: number
  readonly signal: AbortSignal
}

/**
 * Returns the documents in the order of the service, each at most once. It may leave some out.
 * @throws RerankError
 */
export async function callReranker(
  { outbound, wait }: { readonly outbound: Outbound; readonly wait?: Wait | undefined },
  call: RerankCall,
): Promise<readonly RankedDocument[]> {
  const { deadline, signal } = call
  const left = (): number => deadline - performance.now()
  try {
    return await retrying(() => attempt(outbound, call), {
      firstMs: PAUSE_MS_FIRST,
      lastMs: PAUSE_MS_MAX,
      attemptsMax: ATTEMPTS_MAX,
      worthRetrying: (error) => error instanceof RerankError && mayPass(error) && left() > 0,
      askedPauseMs: (error, usualMs) => {
        const asked = error instanceof RerankError && error.answer ? retryAfterMs(error.answer.headers) : null
        return Math.min(asked ?? usualMs, Math.max(0, left()))
      },
      wait,
      signal,
    })
  } catch (error) {
    if (signal.aborted) throw abandoned()
    throw error
  }
}

const mayPass = ({ fault, answer }: RerankError): boolean =>
  fault === 'unreachable' || (answer !== null && isTransientStatus(answer.status))

async function attempt(
  outbound: Outbound,
  { service, query, documents, deadline, attemptMsMax, signal }: RerankCall,
): Promise<readonly RankedDocument[]> {
  const left = Math.ceil(deadline - performance.now())
  const host = hostOf(service.url)
  if (left <= 0) throw new RerankError('timeout', `${host} did not answer in time`)
  let answer: OutboundAnswer
  try {
    answer = await outbound.call({
      method: 'POST',
      url: service.url,
      headers: service.headers,
      body: JSON.stringify(service.body(query, documents)),
      // The request has a key and documents.
      redirects: 'refused',
      timeoutMs: Math.min(left, attemptMsMax),
      answerBytesMax: ANSWER_BYTES_MAX,
      signal,
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw new RerankError(faultOf(error, left <= attemptMsMax), error.message)
  }
  const { status, headers } = answer
  if (status < 200 || status > 299)
    throw new RerankError('status', `${host} answered with status ${status}`, { status, headers })
  try {
    return rankingIn(toValue(await readAnswer(answer.body, ANSWER_JSON)), documents.length)
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof TypeError)) throw error
    const reason = error instanceof TypeError ? error.message : 'it is not JSON'
    throw new RerankError('unreadable', `${host} answered with an unknown body: ${reason}`)
  }
}

/** @param wasLast true if the request had all the time that was left */
function faultOf({ fault }: OutboundError, wasLast: boolean): RerankFault {
  if (fault === 'timeout') return wasLast ? 'timeout' : 'unreachable'
  if (fault === 'too_large') return 'unreadable'
  return fault === 'unreachable' ? 'unreachable' : 'refused'
}

/**
 * Reads `{"results":[…]}` (Cohere, Jina), `{"data":[…]}` (Voyage) or `[…]` (Text Embeddings Inference).
 * @throws TypeError
 */
function rankingIn(answer: unknown, documents: number): readonly RankedDocument[] {
  const { results, data } = (answer ?? {}) as { readonly results?: unknown; readonly data?: unknown }
  const list = Array.isArray(answer) ? answer : (results ?? data)
  if (!Array.isArray(list)) throw new TypeError('it has no list `results` or `data`')
  const seen = new Set<number>()
  return list.map((one): RankedDocument => {
    const {
      index,
      relevance_score: relevance,
      score = relevance,
    } = (one ?? {}) as Readonly<Record<string, unknown>>
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= documents)
      throw new TypeError(`\`index\` must be below ${documents}, found \`${JSON.stringify(index)}\``)
    if (seen.has(index)) throw new TypeError(`\`index\` ${index} occurs twice`)
    seen.add(index)
    if (score === undefined || score === null) return { index, score: null }
    if (typeof score !== 'number' || !Number.isFinite(score))
      throw new TypeError(`a score is not a number: \`${JSON.stringify(score)}\``)
    return { index, score }
  })
}

function hostOf(url: string): string {
  return URL.canParse(url) ? `\`${new URL(url).host}\`` : 'the reranker'
}
