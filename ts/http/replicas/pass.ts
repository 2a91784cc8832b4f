/** Passes a request on to another server, and its answer to the client. */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Outbound, OutboundError, type PassedAnswer } from '../../outbound/index.js'

export interface Passing {
  /** Address of the other server, with or without a path. */
  readonly address: string
  /** Headers in addition to those of the client. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty: the request has none. Absent: the body of the client, streamed. */
  readonly body?: Buffer
  /** Milliseconds until the answer must begin. Absent: only progress is limited, as in every request. */
  readonly beginMs?: number
}

/**
 * Sends a request with the headers of its client. Nothing is sent twice.
 * @throws OutboundError without an answer; `unreachable` only if nothing was sent
 */
export async function passed(
  request: FastifyRequest,
  reply: FastifyReply,
  peers: Pick<Outbound, 'pass'>,
  { address, headers: added, body, beginMs }: Passing,
): Promise<PassedAnswer> {
  const gone = new AbortController()
  const abort = (): void => gone.abort()
  reply.raw.once('close', abort)
  let isLate = false
  const expire = (): void => {
    isLate = true
    abort()
  }
  const timer = beginMs === undefined ? undefined : setTimeout(expire, beginMs)
  const { 'accept-encoding': _, ...headers } = request.headers
  const streamed = hasBody(request) ? request.raw : null
  try {
    return await peers.pass({
      method: request.method,
      url: `${address.replace(/\/$/, '')}${pathOf(request.url)}`,
      headers: {
        ...headers,
        ...(body !== undefined && { 'content-length': String(body.length), 'content-encoding': undefined }),
        ...added,
      },
      body: body === undefined ? streamed : Readable.from([body], { objectMode: false }),
      signal: gone.signal,
    })
  } catch (error) {
    reply.raw.off('close', abort)
    throw isLate ? new OutboundError('timeout', `\`${address}\` did not answer in time`) : error
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the path and query string of a request target, which may be an absolute URL. */
const pathOf = (target: string): string => target.replace(/^https?:\/\/[^/?#]*/i, '')

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
