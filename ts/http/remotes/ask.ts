import { ApiError, type ErrorBody, type ErrorCode, errorBody } from '../../errors/index.js'
import { ANSWER_BYTES_MAX, type JsonLimits, type JsonNode, withoutTrailing } from '../../operations/index.js'
import { type Outbound, OutboundError, readAnswer, retrying } from '../../outbound/index.js'
import { cutText } from '../../parse/index.js'
import { VALUE_BYTES } from '../limits.js'
import type { MemoryReservation } from '../memory-budget.js'
import { type FederatedPart, readPart } from './answer.js'
import {
  ANSWER_RETRIED_BYTES_MAX,
  QUOTED_CHARS_MAX,
  REMOTE_ANSWER,
  REMOTE_ATTEMPTS_MAX,
  REMOTE_PAUSE_MS_MAX,
  SHARE_BYTES_MIN,
  SHARE_VALUES_MIN,
  UNREACHABLE_RETRIED_MS_MAX,
} from './limits.js'
import type { Remote } from './network-book.js'
import { RIGHTS_ENFORCED, RIGHTS_HEADER } from './rights.js'

/** A federated search to be sent to a remote. */
interface RemoteSearch {
  readonly remote: Remote
  /** Body of POST /multi-search. */
  readonly body: object
  readonly includeMetadata: boolean
  /** The rights of the client; null: all rights. */
  readonly rights: string | null
  /** True if an answer without these rights enforced may hold data that the client must not read. */
  readonly mustEnforceRights: boolean
  /** Time limit for all attempts together. */
  readonly timeoutMs: number
  readonly answerBytesMax: number
  readonly answerJson: JsonLimits
  /** Holds the memory of long answers, until the search releases it. */
  readonly memory: MemoryReservation
  /** Aborted when the client disconnects or the search fails elsewhere. */
  readonly signal: AbortSignal
}

/** Request header of a search whose hits another instance merges with its own. */
export const PROXY_HEADER = 'meili-proxy-search'

/** Bounds the answer of each of several remotes, so that all together take about as much as one remote alone may. */
export function shareOf(remotes: number): Pick<RemoteSearch, 'answerBytesMax' | 'answerJson'> {
  const share = (most: number, least: number): number => Math.max(least, Math.ceil(most / remotes))
  return {
    answerBytesMax: share(ANSWER_BYTES_MAX, SHARE_BYTES_MIN),
    answerJson: { ...REMOTE_ANSWER, valuesMax: share(REMOTE_ANSWER.valuesMax, SHARE_VALUES_MIN) },
  }
}

class RemoteFailure extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly isWorthRetrying: boolean,
  ) {
    super(message)
  }
}

/**
 * Returns the answer of a remote, or the error that `remoteErrors` shows for it. Never rejects for a fault of the
 * remote.
 *
 * @throws ApiError `too_many_requests` for a long answer if others leave too little memory
 */
export async function askRemote(
  outbound: Outbound,
  search: RemoteSearch,
): Promise<FederatedPart | ErrorBody> {
  const deadline = performance.now() + search.timeoutMs
  try {
    return await retrying(() => attempt(outbound, search, deadline - performance.now()), {
      attemptsMax: REMOTE_ATTEMPTS_MAX,
      firstMs: REMOTE_PAUSE_MS_MAX / 4,
      lastMs: REMOTE_PAUSE_MS_MAX,
      worthRetrying: (error) =>
        error instanceof RemoteFailure && error.isWorthRetrying && performance.now() < deadline,
      signal: search.signal,
    })
  } catch (error) {
    if (error instanceof RemoteFailure) return errorBody(error.code, error.message)
    if (search.signal.aborted) return errorBody('remote_could_not_send_request', 'the search was cancelled')
    throw error
  }
}

async function attempt(outbound: Outbound, search: RemoteSearch, leftMs: number): Promise<FederatedPart> {
  const began = performance.now()
  const { remote, body, includeMetadata, rights, signal, answerBytesMax, memory } = search
  try {
    const {
      status,
      headers,
      body: bytes,
    } = await outbound.call({
      method: 'POST',
      url: `${withoutTrailing(remote.url, '/')}/multi-search`,
      headers: {
        'content-type': 'application/json',
        [PROXY_HEADER]: 'true',
        ...(remote.searchApiKey !== null && { authorization: `Bearer ${remote.searchApiKey}` }),
        ...(rights !== null && { [RIGHTS_HEADER]: rights }),
        ...(includeMetadata && { 'meili-include-metadata': 'true' }),
      },
      body: JSON.stringify(body),
      timeoutMs: Math.max(1, Math.ceil(leftMs)),
      answerBytesMax,
      holdMemory: (bytes) => memory.take(bytes),
      signal,
    })
    if (status < 200 || status > 299) throw refusal(status, bytes)
    if (search.mustEnforceRights && headers[RIGHTS_HEADER] !== RIGHTS_ENFORCED) throw unenforced()
    const part = readPart(await parsed(bytes, search))
    if (part === null) throw badResponse(bytes)
    return part
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw unsent(error, search.timeoutMs, performance.now() - began)
  }
}

async function parsed(
  bytes: Buffer,
  { answerJson, memory }: Pick<RemoteSearch, 'answerJson' | 'memory'>,
): Promise<JsonNode> {
  try {
    return await readAnswer(bytes, answerJson, (valuesRead) => memory.take(valuesRead * VALUE_BYTES))
  } catch (error) {
    if (error instanceof ApiError && error.code === 'too_many_requests') throw error
    throw badResponse(bytes)
  }
}

const quoted = (bytes: Buffer): string =>
  cutText(bytes.subarray(0, 4 * QUOTED_CHARS_MAX).toString(), QUOTED_CHARS_MAX)

const badResponse = (bytes: Buffer): RemoteFailure =>
  new RemoteFailure(
    'remote_bad_response',
    `the answer of the remote is not a federated search: ${quoted(bytes)}`,
    bytes.length <= ANSWER_RETRIED_BYTES_MAX,
  )

const unenforced = (): RemoteFailure =>
  new RemoteFailure(
    'remote_bad_request',
    'the remote does not apply the rights of this key to `_foreign(…)`; leave it out of the filter, use a key for ' +
      'all indexes, or upgrade the remote',
    false,
  )

function refusal(status: number, bytes: Buffer): RemoteFailure {
  const said = `the remote answered ${status}: ${quoted(bytes)}`
  if (status === 401 || status === 403) return new RemoteFailure('remote_invalid_api_key', said, false)
  if (status >= 400 && status < 500) return new RemoteFailure('remote_bad_request', said, false)
  return status >= 500
    ? new RemoteFailure('remote_remote_error', said, true)
    : new RemoteFailure('remote_bad_response', said, true)
}

/**
 * Returns the failure of a call without an answer. Messages hide the URL of the remote, which searchers need not know.
 */
function unsent(error: OutboundError, timeoutMs: number, tookMs: number): RemoteFailure {
  switch (error.fault) {
    case 'timeout':
      return new RemoteFailure('remote_timeout', `the remote did not answer within ${timeoutMs} ms`, false)
    case 'too_large':
      return new RemoteFailure('remote_bad_response', 'the answer of the remote is too large', false)
    case 'refused':
      return new RemoteFailure(
        'remote_could_not_send_request',
        'the remote has an address that is not public; --experimental-allowed-ip-networks can allow its network',
        false,
      )
    case 'url':
    case 'redirects':
    case 'aborted':
      return new RemoteFailure('remote_could_not_send_request', `no call is possible (${error.fault})`, false)
    case 'certificate':
      return new RemoteFailure(
        'remote_could_not_send_request',
        'the certificate of the remote is not trusted',
        false,
      )
    case 'unreachable':
      return new RemoteFailure(
        'remote_could_not_send_request',
        'the remote cannot be reached',
        tookMs <= UNREACHABLE_RETRIED_MS_MAX,
      )
  }
}
