import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'

/** How far a server is that is kept in a bucket. */
export interface ReplicationFigures {
  readonly role: 'writer' | 'follower'
  /** The last entry of the log that is sent or served; null: not known yet. */
  readonly position: number | null
  /** Transactions that the bucket does not have; 0 for a follower. */
  readonly unsentTransactions: number
  /** Seconds since calls to the bucket began to fail; 0: they do not. */
  readonly awaySeconds: number
  /** Seconds since the start of the last look at the log that met its end; null: none has. */
  readonly staleSeconds: number | null
  /** Whether the server that writes knows that no other one has taken over, but for the last seconds; null: it follows. */
  readonly leadConfirmed: boolean | null
  /** Where the writer is reached; null: not known. */
  readonly writer: string | null
}

/** The bucket as routes see it. */
export interface Replicated {
  figures(): Promise<ReplicationFigures>
  /** Whether clients should ask another server, since this one lags too far behind the writer. */
  isTooStale(): boolean
  /** Up to where this server has written; null: it follows. */
  position(): Promise<string | null>
  /** Whether this server has what was written up to a position, after a wait; null: the text is none. */
  reaches(position: string): Promise<boolean | null>
}

/** The header that tells and asks for positions. */
const POSITION = 'x-siftd-position'

/**
 * Waits until this server has the position that the request names. For requests whose key has been accepted: a position
 * that was not reached yet makes a follower read the log at once.
 * @throws ApiError `follower_behind`, or `bad_request` if the header holds no position
 */
export async function awaitPosition(request: FastifyRequest, replicated: Replicated): Promise<void> {
  const asked = request.headers[POSITION]
  if (typeof asked !== 'string') return
  const isReached = await replicated.reaches(asked)
  if (isReached === null)
    throw new ApiError('bad_request', `the header \`X-Siftd-Position\` holds no position: \`${asked}\``)
  if (!isReached)
    throw new ApiError(
      'follower_behind',
      'this server does not have yet what was written up to that position; ask again, or ask the one that writes',
    )
}

/** Answers to writes, and to reads of tasks, carry the position of this server. */
export function showPositions(app: FastifyInstance, replicated: Replicated): void {
  app.addHook('onSend', async (request, reply) => {
    const isTask = request.method === 'GET' && /^\/tasks\/\d+/.test(request.url)
    const isWrite = request.method !== 'GET' && request.method !== 'HEAD' && reply.statusCode < 300
    if (!isTask && !(isWrite && !isSearch(request.url))) return
    const position = await replicated.position()
    if (position !== null) void reply.header(POSITION, position)
  })
}

/** Whether a request that is not a GET reads only. */
const isSearch = (url: string): boolean =>
  /\/(search|multi-search|facet-search|similar|fetch|explain)(\?|$)/.test(url)
