import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  type Backoff,
  isTransientStatus,
  type Outbound,
  OutboundError,
  type OutboundRequest,
  retryAfterMs,
  retrying,
} from '../../outbound/index.js'
import { withoutTrailing } from '../../parse/index.js'
import { MESSAGE_CHARS_MAX } from './limits.js'
import { RefusedError } from './refused-error.js'

const compressed = promisify(gzip)

/** Another instance, and options for calls to it. */
export interface CallTarget {
  /** Base URL. */
  readonly url: string
  /** Sent as bearer token; null: no token is sent. */
  readonly key: string | null
  /** Retries of calls that may be repeated. */
  readonly retries: Backoff & { readonly attemptsMax: number }
  /** Aborts calls and the pauses between them. */
  readonly signal?: AbortSignal | undefined
}

export interface PeerCall {
  /** Objects are sent as JSON, texts and bytes as NDJSON unless `contentType` is set. */
  readonly body?: object | string | Uint8Array | undefined
  readonly contentType?: string
  /** True to compress the body with gzip. */
  readonly isCompressed?: boolean
  /** True if the call may be repeated. Default: true for GET and PATCH. */
  readonly isRepeatable?: boolean
  readonly timeoutMs?: number
  readonly answerBytesMax?: number
  /** See `OutboundRequest`. */
  readonly redirects?: 'refused'
}

/** A call with its limits. */
type BoundedCall = PeerCall & Required<Pick<PeerCall, 'timeoutMs' | 'answerBytesMax'>>

/**
 * Calls an instance, with retries if they may help. Resolves to the body of a successful answer.
 * @throws RefusedError for an error status, OutboundError without an answer
 */
export type SendCall = (method: OutboundRequest['method'], path: string, call: BoundedCall) => Promise<Buffer>

export function caller(
  outbound: Pick<Outbound, 'call'>,
  { url, key, retries, signal }: CallTarget,
): SendCall {
  const attempt = async (request: OutboundRequest): Promise<Buffer> => {
    const { status, headers, body } = await outbound.call(request)
    if (status >= 200 && status <= 299) return body
    const { code, message } = errorIn(body, key)
    throw new RefusedError(status, code, message, retryAfterMs(headers))
  }
  return async (method, path, call) => {
    const { isRepeatable = method === 'GET' || method === 'PATCH', timeoutMs, answerBytesMax } = call
    const { headers, body } = await payloadOf(call)
    const request: OutboundRequest = {
      method,
      url: `${withoutTrailing(url, '/')}${path}`,
      headers: { ...headers, ...(key !== null && { authorization: `Bearer ${key}` }) },
      body,
      timeoutMs,
      answerBytesMax,
      ...(call.redirects && { redirects: call.redirects }),
      signal,
    }
    return retrying(() => attempt(request), {
      ...retries,
      attemptsMax: isRepeatable ? retries.attemptsMax : 1,
      worthRetrying,
      askedPauseMs: (error) => (error instanceof RefusedError ? error.retryAfter : null),
      signal,
    })
  }
}

interface Payload {
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

async function payloadOf({ body, contentType, isCompressed = false }: PeerCall): Promise<Payload> {
  if (body === undefined) return { headers: {} }
  const isLines = typeof body === 'string' || body instanceof Uint8Array
  const bytes = isLines ? body : JSON.stringify(body)
  return {
    headers: {
      'content-type': contentType ?? (isLines ? 'application/x-ndjson' : 'application/json'),
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    },
    body: isCompressed ? await compressed(bytes) : bytes,
  }
}

function worthRetrying(error: unknown): boolean {
  if (error instanceof RefusedError) return isTransientStatus(error.status)
  return error instanceof OutboundError && (error.fault === 'unreachable' || error.fault === 'timeout')
}

/** Reads code and message from the body of an error answer, which may repeat the key of the call. */
function errorIn(
  body: Buffer,
  key: string | null,
): { readonly code: string | null; readonly message: string } {
  // A key that is cut would no longer be found.
  const shown = (text: string): string => (key ? text.replaceAll(key, '…') : text).slice(0, MESSAGE_CHARS_MAX)
  const text = body.toString()
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    return { code: null, message: shown(text) }
  }
  const { code, message } = (found ?? {}) as { code?: unknown; message?: unknown }
  return {
    code: typeof code === 'string' ? shown(code) : null,
    message: typeof message === 'string' ? shown(message) : '',
  }
}
