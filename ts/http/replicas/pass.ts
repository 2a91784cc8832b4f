/** Passes a request on to another server, and its answer to the client. */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Outbound, PassedAnswer } from '../../outbound/index.js'

export interface Passing {
  /** Address of the other server, with or without a path. */
  readonly address: string
  /** Headers in addition to those of the client. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty: the request has none. Absent: the body of the client, streamed. */
  readonly body?: Buffer
}

/**
 * Sends a request with the headers of its client. Nothing is sent twice.
 * @throws OutboundError without an answer; `unreachable` only if nothing was sent
 */
export function passed(
  request: FastifyRequest,
  reply: FastifyReply,
  peers: Pick<Outbound, 'pass'>,
  { address, headers: added, body }: Passing,
): Promise<PassedAnswer> {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const { 'accept-encoding': _, ...headers } = request.headers
  const streamed = hasBody(request) ? request.raw : null
  return peers.pass({
    method: request.method,
    url: `${address.replace(/\/$/, '')}${request.url}`,
    headers: {
      ...headers,
      ...(body !== undefined && { 'content-length': String(body.length), 'content-encoding': undefined }),
      ...added,
    },
    body: body === undefined ? streamed : Readable.from([body], { objectMode: false }),
    signal: gone.signal,
  })
}

/** Answers the client with the answer of the other server. */
export function sendPassed(reply: FastifyReply, { status, headers, body }: PassedAnswer): FastifyReply {
  for (const [name, value] of Object.entries(headers))
    if (!ofConnection.has(name) && value !== undefined) void reply.header(name, value)
  return reply.code(status).send(body)
}

/** Headers that each connection sets itself. */
const ofConnection: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date', 'vary'],
  'access-control-allow-origin',
])

export const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
