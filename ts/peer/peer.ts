import {
  isTransientStatus,
  type Outbound,
  OutboundError,
  type OutboundRequest,
  retryAfterMs,
  retrying,
} from '../outbound/index.js'
import { withoutTrailing } from '../parse/index.js'
import {
  ANSWER_BYTES_MAX,
  ATTEMPTS_MAX,
  CALL_MS_MAX,
  MESSAGE_CHARS_MAX,
  PAUSE_FIRST_MS,
  PAUSE_LAST_MS,
} from './limits.js'
import { PeerError } from './peer-error.js'
import type { PeerFlag, PeerFlags } from './peer-flags.js'

export interface PeerCall {
  /** A value goes as JSON, text as NDJSON. */
  readonly body?: object | string
  /** Whether repeating the call does no harm. Default: for GET and PATCH. */
  readonly isRepeatable?: boolean
  readonly timeoutMs?: number
  readonly answerBytesMax?: number
}

/** Another running instance. Every method throws a PeerError if the instance cannot be reached or refuses the call. */
export interface Peer {
  readonly flag: PeerFlag
  /** The URL without user name, password and path. */
  readonly origin: string
  /** The body of an answer with a status of success. */
  bytes(method: OutboundRequest['method'], path: string, call?: PeerCall): Promise<Buffer>
  /** The same as a value of JSON. @typeParam T what the API answers there; it is not checked */
  json<T>(method: OutboundRequest['method'], path: string, call?: PeerCall): Promise<T>
  /** Checks that the instance is there, in one attempt. */
  greet(): Promise<void>
}

/** The answer had an error status. */
class RefusedError extends Error {
  constructor(
    readonly status: number,
    readonly code: string | null,
    readonly reason: string,
    readonly retryAfter: number | null,
  ) {
    super(reason)
  }
}

export function openPeer(outbound: Outbound, { flag, url, key }: PeerFlags): Peer {
  const { origin } = new URL(url)
  const shown = `--${flag} ${origin}`

  const attempt = async (request: OutboundRequest): Promise<Buffer> => {
    const { status, headers, body } = await outbound.call(request)
    if (status >= 200 && status <= 299) return body
    const { code, message } = errorIn(body)
    throw new RefusedError(status, code, message, retryAfterMs(headers))
  }

  const failure = (error: unknown, call: string): unknown => {
    if (error instanceof OutboundError) {
      const advice = error.fault === 'unreachable' ? '; is it running, and is the address right?' : ''
      return new PeerError(`${shown}: ${call} failed: ${error.message}${advice}`, null, null, {
        cause: error,
      })
    }
    if (!(error instanceof RefusedError)) return error
    const { status, code } = error
    const isAboutKey = status === 401 || status === 403
    const advice = isAboutKey && code !== 'missing_master_key' ? adviceOnKey(flag, key) : ''
    const reason = key === null ? error.reason : error.reason.replaceAll(key, '…')
    const words = [String(status), code, reason].filter((word) => word !== null && word !== '').join(' ')
    return new PeerError(`${shown}: ${call} was refused: ${words}${advice}`, status, code)
  }

  const bytes: Peer['bytes'] = async (method, path, call = {}) => {
    const { body, isRepeatable = method === 'GET' || method === 'PATCH' } = call
    try {
      return await retrying(
        () =>
          attempt({
            method,
            url: `${withoutTrailing(url, '/')}${path}`,
            headers: {
              ...(key !== null && { authorization: `Bearer ${key}` }),
              ...(body !== undefined && {
                'content-type': typeof body === 'string' ? 'application/x-ndjson' : 'application/json',
              }),
            },
            ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
            timeoutMs: call.timeoutMs ?? CALL_MS_MAX,
            answerBytesMax: call.answerBytesMax ?? ANSWER_BYTES_MAX,
          }),
        {
          attemptsMax: isRepeatable ? ATTEMPTS_MAX : 1,
          firstMs: PAUSE_FIRST_MS,
          lastMs: PAUSE_LAST_MS,
          worthRetrying,
          askedPauseMs: (error) => (error instanceof RefusedError ? error.retryAfter : null),
        },
      )
    } catch (error) {
      throw failure(error, `${method} ${path.split('?', 1)[0]}`)
    }
  }

  const json = async <T>(method: OutboundRequest['method'], path: string, call?: PeerCall): Promise<T> => {
    const body = await bytes(method, path, call)
    try {
      return JSON.parse(body.toString()) as T
    } catch {
      throw new PeerError(
        `${shown}: ${method} ${path.split('?', 1)[0]} is not answered with JSON: is it a search instance?`,
      )
    }
  }

  return {
    flag,
    origin,
    bytes,
    json,
    async greet() {
      await json('GET', '/health', { isRepeatable: false })
    },
  }
}

function worthRetrying(error: unknown): boolean {
  if (error instanceof RefusedError) return isTransientStatus(error.status)
  return error instanceof OutboundError && (error.fault === 'unreachable' || error.fault === 'timeout')
}

const adviceOnKey = (flag: PeerFlag, key: string | null): string =>
  key === null
    ? `; give its master key or an admin key by --${flag}-key-file or --${flag}-key`
    : `; the key of --${flag} is wrong, has expired or may not do this: give the master key or an admin key`

/** What the body of an error status says. */
function errorIn(body: Buffer): { readonly code: string | null; readonly message: string } {
  const text = body.toString()
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    return { code: null, message: text.slice(0, MESSAGE_CHARS_MAX) }
  }
  const { code, message } = (found ?? {}) as { code?: unknown; message?: unknown }
  return {
    code: typeof code === 'string' ? code : null,
    message: typeof message === 'string' ? message.slice(0, MESSAGE_CHARS_MAX) : '',
  }
}
