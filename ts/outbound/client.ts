import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { isHttpUrl } from '../parse/index.js'
import {
  type AddressPolicy,
  AddressRefusedError,
  type AllowedNetworks,
  addressPolicy,
  guardedLookup,
  type Resolve,
} from './addresses.js'
import {
  CONNECT_TIMEOUT_MS,
  CONNECTIONS_PER_ORIGIN_MAX,
  IDLE_CONNECTION_MS,
  REDIRECTS_MAX,
} from './limits.js'

/** One call to a place that a user named. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute, http or https. A user name in it becomes basic authorisation. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** A function streams its chunks, and is called anew if a redirect asks for the body again. */
  readonly body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>)
  /** For the whole call: resolving, connecting, redirects, the answer's last byte. */
  readonly timeoutMs: number
  /** Bytes of the answer's body that are taken; more fails the call. null: it is not read at all. */
  readonly answerBytesMax: number | null
  readonly signal?: AbortSignal
}

/** Any answer, whatever its status. */
export interface OutboundAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Empty if it was not to be read. */
  readonly body: Buffer
}

/** Why there is no answer. */
export type OutboundFault =
  /** The URL cannot be called. */
  | 'url'
  /** The address policy forbids it. */
  | 'refused'
  | 'unreachable'
  | 'timeout'
  | 'too_large'
  | 'redirects'
  /** The caller's signal. */
  | 'aborted'

/** A call that got no answer. Its message names the host, never a header or the rest of the URL. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'

  constructor(
    readonly fault: OutboundFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** The one way out of this process. */
export interface Outbound {
  /** @throws OutboundError if there is no answer */
  call(request: OutboundRequest): Promise<OutboundAnswer>
  /** Ends idle connections and breaks off calls under way. */
  close(): Promise<void>
}

export interface OutboundSetup {
  readonly allowedNetworks: AllowedNetworks
  /** Default: the system's resolver. */
  readonly resolve?: Resolve
}

/** @throws Error if an allowed network is not one */
export function openOutbound({ allowedNetworks, resolve }: OutboundSetup): Outbound {
  const policy = addressPolicy(allowedNetworks)
  const agent = new Agent({
    connections: CONNECTIONS_PER_ORIGIN_MAX,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    // The caller's time holds for all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(policy, resolve) },
  })
  return {
    async call(request) {
      const timeout = AbortSignal.timeout(request.timeoutMs)
      const signal = request.signal === undefined ? timeout : AbortSignal.any([timeout, request.signal])
      const url = parsedUrl(request.url)
      try {
        return await follow(agent, policy, request, url, signal)
      } catch (error) {
        throw outboundError(error, url, timeout.aborted, request)
      }
    },
    close: () => agent.destroy(),
  }
}

async function follow(
  agent: Agent,
  policy: AddressPolicy,
  request: OutboundRequest,
  first: URL,
  signal: AbortSignal,
): Promise<OutboundAnswer> {
  let hop: Hop = {
    url: first,
    method: request.method,
    headers: headersOf(request, first),
    body: request.body,
  }
  for (let redirects = 0; ; redirects++) {
    const answer = await send(agent, policy, hop, signal)
    const location = answer.headers.location
    if (!isRedirect(answer.statusCode) || typeof location !== 'string') {
      return taken(answer, request.answerBytesMax, hop.url)
    }
    await answer.body.dump()
    if (redirects === REDIRECTS_MAX) {
      throw new OutboundError('redirects', `\`${first.host}\` redirects more than ${REDIRECTS_MAX} times`)
    }
    hop = redirected(hop, answer.statusCode, parsedUrl(location, hop.url))
  }
}

/** One request of a chain of redirects. */
interface Hop {
  readonly url: URL
  readonly method: OutboundRequest['method']
  readonly headers: Readonly<Record<string, string>>
  readonly body: OutboundRequest['body']
}

function send(agent: Agent, policy: AddressPolicy, { url, method, headers, body }: Hop, signal: AbortSignal) {
  // A literal address is never looked up, so it is judged here.
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !policy.allows(literal)) throw new AddressRefusedError(literal)
  return agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers,
    body: typeof body === 'function' ? Readable.from(body(), { objectMode: false }) : (body ?? null),
    signal,
  })
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status)

/** The next request of a chain, as the Fetch standard has it; secrets stay with the place they were for. */
function redirected({ url, method, headers, body }: Hop, status: number, next: URL): Hop {
  const becomesGet = status === 303 || ((status === 301 || status === 302) && method === 'POST')
  const kept = Object.entries(headers).filter(([name]) => {
    const lower = name.toLowerCase()
    if (lower.startsWith('content-')) return !becomesGet
    // Which of the caller's own headers holds a secret cannot be told by its name.
    return next.origin === url.origin || ['accept', 'accept-encoding', 'user-agent'].includes(lower)
  })
  return {
    url: next,
    method: becomesGet ? 'GET' : method,
    headers: Object.fromEntries(kept),
    body: becomesGet ? undefined : body,
  }
}

async function taken(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  bytesMax: number | null,
  url: URL,
): Promise<OutboundAnswer> {
  if (bytesMax === null) {
    await body.dump()
    return { status, headers, body: Buffer.alloc(0) }
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) {
      throw new OutboundError('too_large', `\`${url.host}\` answered with more than ${bytesMax} bytes`)
    }
    chunks.push(chunk)
  }
  return { status, headers, body: Buffer.concat(chunks) }
}

function parsedUrl(text: string, base?: URL): URL {
  let url: URL
  try {
    url = new URL(text, base)
  } catch {
    throw new OutboundError('url', 'not an absolute URL')
  }
  if (!isHttpUrl(url.href)) {
    throw new OutboundError('url', `\`${url.protocol}\` cannot be called; http: and https: can`)
  }
  return url
}

/** Headers that belong to the connection; users may name them, only the client may set them. */
const connectionHeaders = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'upgrade',
  'expect',
]

function headersOf({ headers: given = {} }: OutboundRequest, url: URL): Readonly<Record<string, string>> {
  const headers = Object.fromEntries(
    Object.entries(given).filter(([name]) => !connectionHeaders.includes(name.toLowerCase())),
  )
  const named = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  if (url.username === '' || named) return headers
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return { ...headers, authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function outboundError(error: unknown, { host }: URL, timedOut: boolean, request: OutboundRequest): Error {
  if (error instanceof OutboundError) return error
  const cause = { cause: error }
  if (request.signal?.aborted)
    return new OutboundError('aborted', `the call to \`${host}\` was given up`, cause)
  if (timedOut) {
    return new OutboundError('timeout', `\`${host}\` did not answer within ${request.timeoutMs} ms`, cause)
  }
  if (error instanceof AddressRefusedError) return new OutboundError('refused', error.message, cause)
  const { code, message } = error as { code?: unknown; message?: unknown }
  const reason = typeof code === 'string' ? code : String(message)
  return new OutboundError('unreachable', `\`${host}\` cannot be reached: ${reason}`, cause)
}
