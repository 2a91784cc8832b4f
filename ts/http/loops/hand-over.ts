import {
  Agent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { ApiError, toErrorBody } from '../../errors/index.js'
import { IDLE_CONNECTIONS_MAX } from './limits.js'

/** Thrown where only the main thread can answer. */
export class HandedOver extends Error {
  override readonly name = 'HandedOver'
}

/** Headers between two hops of a request, in lower case. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'expect',
])

/** Error codes of a connection that the other end has closed. */
const CLOSED_BY_PEER: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE'])

/** Passes requests to the main thread over its local socket, and streams the answers back. */
export class HandOver {
  readonly #socketPath: string
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: IDLE_CONNECTIONS_MAX })

  constructor(socketPath: string) {
    this.#socketPath = socketPath
  }

  /** @param body the body if it was read already */
  pass(request: IncomingMessage, response: ServerResponse, body: Uint8Array | null = null): void {
    if (response.destroyed) return
    const options = {
      agent: this.#agent,
      socketPath: this.#socketPath,
      method: request.method,
      path: request.url,
      headers: forwarded(request),
    }
    const upstream = httpRequest(options as unknown as RequestOptions)
    upstream.once('socket', (socket) => {
      // Node.js listens for errors only until an answer ends. An answer may come before the whole body was sent, and then
      // a failing write of the rest would end this thread.
      if (!upstream.reusedSocket) socket.on('error', () => undefined)
    })
    let hasAnswer = false
    upstream.once('response', (answer) => {
      hasAnswer = true
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, returned(answer, response))
      // Streams of events send nothing for a while.
      if (answer.headers['content-length'] === undefined) response.flushHeaders()
      answer.once('error', () => response.destroy())
      answer.pipe(response)
    })
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      if (response.destroyed || response.writableEnded) return
      if (hasAnswer) response.destroy()
      // The main thread closed an idle connection at the moment at which it was used again.
      else if (upstream.reusedSocket && CLOSED_BY_PEER.has(error.code) && isRepeatable(request, body))
        this.pass(request, response, body)
      else refuse(response)
    })
    response.once('close', () => {
      if (!response.writableFinished) upstream.destroy()
    })
    if (body !== null) upstream.end(body)
    else if (hasBody(request)) {
      // Some answers do not depend on the body, which may never arrive.
      upstream.flushHeaders()
      request.pipe(upstream)
      request.once('close', () => {
        if (!request.readableEnded) upstream.destroy()
      })
    } else upstream.end()
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy()
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const isRepeatable = (request: IncomingMessage, body: Uint8Array | null): boolean =>
  body !== null || !hasBody(request)

/** Returns the headers to send on, as a flat list of names and values. */
function forwarded(request: IncomingMessage): string[] {
  const headers = endToEnd(request.rawHeaders)
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked')
  // Without any length Node.js would announce a body in chunks.
  else if (request.headers['content-length'] === undefined) headers.push('Content-Length', '0')
  // HTTP/1.0 has requests without it, HTTP/1.1 has not.
  if (request.headers.host === undefined) headers.push('Host', '')
  return headers
}

function returned(answer: IncomingMessage, response: ServerResponse): string[] {
  const headers = endToEnd(answer.rawHeaders)
  if (answer.headers.connection === 'close') response.shouldKeepAlive = false
  return headers
}

function endToEnd(raw: readonly string[]): string[] {
  const headers: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2)
    if (!HOP_HEADERS.has(raw[at]!.toLowerCase())) headers.push(raw[at]!, raw[at + 1]!)
  return headers
}

/** Answers that the main thread cannot be reached: it is stopping. */
function refuse(response: ServerResponse): void {
  const error = new ApiError('internal', 'the server is stopping', 503)
  const body = JSON.stringify(toErrorBody(error))
  response.writeHead(503, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  response.end(body)
}
