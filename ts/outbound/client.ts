import { setMaxListeners } from 'node:events'
import { isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import { ApiError } from '../errors/index.js'
import { isHttpUrl } from '../parse/index.js'
import {
  type AddressPolicy,
  AddressRefusedError,
  type AllowedNetworks,
  addressPolicy,
  guardedLookup,
  type Resolve,
} from './addresses.js'
import { certificateFault, shownCertificate, trusting } from './certificate.js'
import {
  CONNECT_TIMEOUT_MS,
  CONNECTIONS_PER_ORIGIN_MAX,
  IDLE_CONNECTION_MS,
  PASSED_SILENCE_MS,
  REDIRECTS_MAX,
  SHORT_ANSWER_BYTES_MAX,
} from './limits.js'
import { linkedSignal } from './linked-signal.js'
import { OutboundError } from './outbound-error.js'
import { Silence } from './silence.js'

/** A call to a URL that a user or operator configured. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** An absolute URL, http or https. A user name in it is sent as basic authorisation. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** A function returns the chunks of the body. It is called again if a redirect needs the body again. */
  readonly body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>) | undefined
  /** `refused` for bodies with secrets, and for answers trusted because of their origin. Absent: followed. */
  readonly redirects?: 'refused'
  /** Milliseconds of the complete call: resolving, connecting, redirects, and reading the answer. */
  readonly timeoutMs: number
  /** Largest accepted body of the answer, in bytes. A larger body fails the call. null: the body is not read. */
  readonly answerBytesMax: number | null
  /**
   * Called for the bytes of a long answer before they are kept. The call fails with the ApiError that it throws. Absent:
   * `answerBytesMax` alone bounds the answer.
   */
  readonly holdMemory?: (bytes: number) => void
  readonly signal?: AbortSignal | undefined
}

/** An answer of any status. */
export interface OutboundAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Empty if the request did not ask for it. */
  readonly body: Buffer
}

/** A call whose answer may be long. */
interface StreamRequest {
  /** Default: GET. */
  readonly method?: OutboundRequest['method']
  /** An absolute URL, http or https. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** See `OutboundRequest`. */
  readonly body?: OutboundRequest['body']
  /** See `OutboundRequest`. */
  readonly redirects?: 'refused'
  /** Milliseconds until the answer begins, including redirects. Default: `idleMs`. */
  readonly beginMs?: number
  /** Milliseconds between two chunks of the answer. */
  readonly idleMs: number
  readonly signal?: AbortSignal | undefined
}

/** An answer of any status with a streamed body. */
export interface OutboundStream {
  readonly status: number
  readonly headers: OutboundAnswer['headers']
  /** The headers of the redirects before the answer, in order. */
  readonly redirects: readonly OutboundAnswer['headers'][]
  /** Rejects with OutboundError. */
  readonly body: AsyncIterable<Buffer>
  /** Ends an answer without reading its body. */
  discard(): void
}

/** A request of a client that is passed on. */
export interface PassedRequest {
  readonly method: string
  /** An absolute URL, http or https. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** null: none. */
  readonly body: Readable | null
  readonly signal: AbortSignal
}

/** The answer to a request that was passed on. */
export interface PassedAnswer {
  readonly status: number
  readonly headers: OutboundAnswer['headers']
  readonly body: Readable
}

/** Makes the HTTP calls of this process. No other module opens connections to other hosts. */
export interface Outbound {
  /** Sends a request and follows redirects, unless it refuses them. @throws OutboundError without an answer */
  call(request: OutboundRequest): Promise<OutboundAnswer>
  /** Sends a request and follows redirects, unless it refuses them. @throws OutboundError if no answer begins */
  stream(request: StreamRequest): Promise<OutboundStream>
  /**
   * Passes a request on and streams its body and its answer. Follows no redirect, and sends nothing twice. Fails with
   * `timeout` if the other server makes no progress for `passedSilenceMs`.
   * @throws OutboundError without an answer; `unreachable` only if nothing was sent
   */
  pass(request: PassedRequest): Promise<PassedAnswer>
  /** Closes idle connections and aborts running calls. */
  close(): Promise<void>
}

export interface OutboundSetup {
  readonly allowedNetworks: AllowedNetworks
  /** Default: the resolver of the system. */
  readonly resolve?: Resolve
  /** PEM certificates of authorities to trust in addition to those of Node.js. */
  readonly authorities?: string
  /** Milliseconds without a byte after which a request that was passed on fails. Default: `PASSED_SILENCE_MS`. */
  readonly passedSilenceMs?: number
}

/** @throws Error if an entry of `allowedNetworks` is not a network */
export function openOutbound({
  allowedNetworks,
  resolve,
  authorities,
  passedSilenceMs = PASSED_SILENCE_MS,
}: OutboundSetup): Outbound {
  const policy = addressPolicy(allowedNetworks)
  const lookup = guardedLookup(policy, resolve)
  let opened: Promise<Agent> | null = null
  // Loaded on demand: many servers never call out, and loading the library takes a tenth of a start.
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  const agentOnce = (): Promise<Agent> => {
    opened ??= openAgent(lookup, authorities, closing.signal).catch((error: unknown) => {
      // The next call tries again, such as when descriptors are free again.
      opened = null
      throw error
    })
    return opened
  }
  return {
    async call(request) {
      const url = parsedUrl(request.url)
      const limit = linkedSignal([request.signal], request.timeoutMs)
      try {
        const { answer, url: last } = await follow(await agentOnce(), policy, request, url, limit.signal)
        return await taken(answer, request, last)
      } catch (error) {
        if (error instanceof ApiError) throw error
        const failure = outboundError(error, url, limit.isLate, request)
        throw failure.fault === 'certificate' ? await withCertificate(failure, url, lookup) : failure
      } finally {
        limit.unlink()
      }
    },
    pass: async (request) => passed(await agentOnce(), policy, request, passedSilenceMs),
    stream: async (request) => stream(await agentOnce(), policy, request),
    async close() {
      const agent = await opened
      // The library does not end connections that are being established.
      closing.abort()
      await agent?.destroy()
    },
  }
}

/** @param closing ends all sockets */
async function openAgent(
  lookup: LookupFunction,
  authorities: string | undefined,
  closing: AbortSignal,
): Promise<Agent> {
  const { Agent } = await import('undici')
  return new Agent({
    connections: CONNECTIONS_PER_ORIGIN_MAX,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    // `timeoutMs` of the request limits the complete call.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      ...{ timeout: CONNECT_TIMEOUT_MS, lookup, signal: closing },
      ...(authorities !== undefined && { ca: trusting(authorities) }),
    },
  })
}

/** Errors before a connection is open, when nothing was sent. */
const unconnected: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
])

async function passed(
  agent: Agent,
  policy: AddressPolicy,
  request: PassedRequest,
  silenceMs: number,
): Promise<PassedAnswer> {
  const url = parsedUrl(request.url)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    const isKept = name === 'content-length' || !connectionHeaders.includes(name)
    if (isKept && name !== 'host' && value !== undefined)
      headers[name] = typeof value === 'string' ? value : value.join(', ')
  }
  requireAllowed(policy, url)
  const silence = new Silence(silenceMs)
  const { signal } = linkedSignal([silence.signal, request.signal])
  try {
    const answer = await agent.request({
      ...{ origin: url.origin, path: `${url.pathname}${url.search}`, method: request.method as 'GET' },
      ...{ headers, body: silence.sent(request.body), signal },
    })
    return { status: answer.statusCode, headers: answer.headers, body: silence.received(answer.body) }
  } catch (error) {
    silence.end()
    const timeout = { timeoutMs: silenceMs, signal: request.signal }
    const failure = outboundError(error, url, silence.signal.aborted, timeout)
    if (failure.fault !== 'unreachable' || unconnected.has((error as { code?: unknown }).code)) throw failure
    throw new OutboundError('timeout', `\`${url.host}\` did not answer a request that was sent`, {
      cause: error,
    })
  }
}

/** Sends a request and streams the answer. */
async function stream(agent: Agent, policy: AddressPolicy, request: StreamRequest): Promise<OutboundStream> {
  const url = parsedUrl(request.url)
  const idle = new AbortController()
  const { signal, unlink } = linkedSignal([idle.signal, request.signal])
  let timeoutMs = request.beginMs ?? request.idleMs
  let timer = setTimeout(() => idle.abort(), timeoutMs)
  const failed = (error: unknown): Error => {
    clearTimeout(timer)
    unlink()
    return outboundError(error, url, idle.signal.aborted, { ...request, timeoutMs })
  }
  try {
    const { method = 'GET' } = request
    const { answer, redirects } = await follow(agent, policy, { ...request, method }, url, signal)
    const { statusCode: status, headers, body } = answer
    clearTimeout(timer)
    timeoutMs = request.idleMs
    const awaitChunk = (): void => {
      timer = setTimeout(() => idle.abort(), timeoutMs)
    }
    awaitChunk()
    // An error before the body is read is reported to its reader.
    body.on('error', () => undefined)
    const discard = (): void => {
      clearTimeout(timer)
      unlink()
      body.destroy()
    }
    async function* chunks(): AsyncGenerator<Buffer> {
      try {
        for await (const chunk of body as AsyncIterable<Buffer>) {
          // Excludes the time of the reader, which may be longer.
          clearTimeout(timer)
          yield chunk
          awaitChunk()
        }
      } catch (error) {
        throw failed(error)
      } finally {
        discard()
      }
    }
    return { status, headers, redirects, body: chunks(), discard }
  } catch (error) {
    throw failed(error)
  }
}

/** The parts of a request that `follow` needs. */
type Followed = Pick<OutboundRequest, 'method' | 'headers' | 'body' | 'redirects'>

/** A final answer, and how it was reached. */
interface Reached {
  readonly answer: Dispatcher.ResponseData
  readonly url: URL
  readonly redirects: readonly OutboundAnswer['headers'][]
}

async function follow(
  agent: Agent,
  policy: AddressPolicy,
  request: Followed,
  first: URL,
  signal: AbortSignal,
): Promise<Reached> {
  const passed: OutboundAnswer['headers'][] = []
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
      return { answer, url: hop.url, redirects: passed }
    }
    await answer.body.dump()
    if (request.redirects === 'refused')
      throw new OutboundError(
        'redirects',
        `\`${hop.url.host}\` redirects to another address, but this request must not be sent elsewhere`,
      )
    passed.push(answer.headers)
    if (redirects === REDIRECTS_MAX) {
      throw new OutboundError('redirects', `\`${first.host}\` redirects more than ${REDIRECTS_MAX} times`)
    }
    hop = redirected(hop, answer.statusCode, parsedUrl(location, hop.url))
  }
}

/** A request in a chain of redirects. */
interface Hop {
  readonly url: URL
  readonly method: OutboundRequest['method']
  readonly headers: Readonly<Record<string, string>>
  readonly body: OutboundRequest['body']
}

function send(
  agent: Agent,
  policy: AddressPolicy,
  { url, method, headers, body }: Hop,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  requireAllowed(policy, url)
  const answer = agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers,
    body: typeof body === 'function' ? Readable.from(body(), { objectMode: false }) : (body ?? null),
    signal,
  })
  return unlessAborted(answer, signal)
}

/** Node.js does not look up a literal address, so it is checked here. @throws AddressRefusedError */
function requireAllowed(policy: AddressPolicy, { hostname }: URL): void {
  const literal = hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !policy.allows(literal)) throw new AddressRefusedError(literal)
}

/** Rejects as soon as `signal` aborts. The library ignores the signal until it is connected. */
function unlessAborted(
  answer: Promise<Dispatcher.ResponseData>,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      reject(signal.reason)
      answer.then(({ body }) => body.destroy()).catch(() => undefined)
    }
    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status)

/**
 * Returns the next request of a chain, by the Fetch standard. Headers that may have secrets are only sent to the same
 * origin.
 */
function redirected({ url, method, headers, body }: Hop, status: number, next: URL): Hop {
  const becomesGet = status === 303 || ((status === 301 || status === 302) && method === 'POST')
  const passedOn = Object.entries(headers).filter(([name]) => {
    const lower = name.toLowerCase()
    if (lower.startsWith('content-')) return !becomesGet
    // Any header of the caller may have a secret, whatever its name.
    return next.origin === url.origin || ['accept', 'accept-encoding', 'range', 'user-agent'].includes(lower)
  })
  return {
    url: next,
    method: becomesGet ? 'GET' : method,
    headers: Object.fromEntries(passedOn),
    body: becomesGet ? undefined : body,
  }
}

async function taken(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  { answerBytesMax: bytesMax, holdMemory }: Pick<OutboundRequest, 'answerBytesMax' | 'holdMemory'>,
  url: URL,
): Promise<OutboundAnswer> {
  if (bytesMax === null) {
    await body.dump()
    return { status, headers, body: Buffer.alloc(0) }
  }
  const chunks: Buffer[] = []
  let [bytes, held] = [0, 0]
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) {
      throw new OutboundError('too_large', `\`${url.host}\` answered with more than ${bytesMax} bytes`)
    }
    if (bytes > SHORT_ANSWER_BYTES_MAX) {
      holdMemory?.(bytes - held)
      held = bytes
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

/** Headers of the connection. Only the client sets them, so they are dropped from requests. */
const connectionHeaders = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'upgrade',
  'expect',
]

function headersOf({ headers: given = {} }: Followed, url: URL): Readonly<Record<string, string>> {
  const headers = Object.fromEntries(
    Object.entries(given).filter(([name]) => !connectionHeaders.includes(name.toLowerCase())),
  )
  const named = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  if (url.username === '' || named) return headers
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return { ...headers, authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function outboundError(
  error: unknown,
  { host }: URL,
  timedOut: boolean,
  request: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): OutboundError {
  if (error instanceof OutboundError) return error
  const cause = { cause: error }
  if (request.signal?.aborted)
    return new OutboundError('aborted', `the call to \`${host}\` was aborted`, cause)
  if (timedOut) {
    return new OutboundError('timeout', `\`${host}\` did not answer within ${request.timeoutMs} ms`, cause)
  }
  if (error instanceof AddressRefusedError) return new OutboundError('refused', error.message, cause)
  const { code, message } = error as { code?: unknown; message?: unknown }
  const certificate = certificateFault(code)
  if (certificate !== undefined)
    return new OutboundError('certificate', `the certificate of \`${host}\` ${certificate.says}`, cause)
  // The library refuses a header with a line break or another illegal character before it sends anything.
  if (code === 'UND_ERR_INVALID_ARG')
    return new OutboundError('url', `the request to \`${host}\` has a header that HTTP does not allow`, cause)
  const reason = typeof code === 'string' ? code : String(message)
  return new OutboundError('unreachable', `\`${host}\` cannot be reached: ${reason}`, cause)
}

/** Adds the certificate that the server shows to the message. */
async function withCertificate(
  failure: OutboundError,
  url: URL,
  lookup: LookupFunction,
): Promise<OutboundError> {
  const shown = await shownCertificate(url, lookup)
  if (shown === null) return failure
  return new OutboundError('certificate', `${failure.message} (${shown})`, { cause: failure.cause })
}
