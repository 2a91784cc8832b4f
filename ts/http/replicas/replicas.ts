import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'

/** Replication state of a server with a bucket. */
export interface ReplicationFigures {
  readonly role: 'writer' | 'follower'
  /** The last log record that was sent or served; null: not known yet. */
  readonly position: number | null
  /** Transactions that the bucket does not have yet; 0 for a follower. */
  readonly unsentTransactions: number
  /** Seconds since calls to the bucket began to fail; 0: they succeed. */
  readonly awaySeconds: number
  /** Seconds since the start of the last read that reached the end of the log; null: there was none. */
  readonly staleSeconds: number | null
  /** True if the leader knows that no other server took over, except in the last seconds; null: this is a follower. */
  readonly leadConfirmed: boolean | null
  /** URL of the leader; null: unknown. */
  readonly writer: string | null
}

/** Replication services for the routes. */
export interface Replicated {
  figures(): Promise<ReplicationFigures>
  /** Returns true if clients should use another server, because this one lags too far behind the leader. */
  isTooStale(): boolean
  /** Position of the last write of this server; null: it is a follower. */
  position(): Promise<string | null>
  /** Waits for a position. Returns true if this server reached it in time; null: the text is not a position. */
  reaches(position: string): Promise<boolean | null>
}

/** Request header: the position to wait for. Answer header: the position after the write. */
const POSITION = 'x-siftd-position'

/**
 * Waits until this server reaches the position in the request, if any. Call it only after the key was accepted: an
 * unreached position makes a follower read the log at once.
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
      'this server has not reached that position of the log yet; retry, or send the request to the leader',
    )
}

/** Adds the position of this server to answers to writes and to reads of tasks. */
export function showPositions(app: FastifyInstance, replicated: Replicated): void {
  app.addHook('onSend', async (request, reply) => {
    const isTask = request.method === 'GET' && /^\/tasks\/\d+/.test(request.url)
    const isWrite = request.method !== 'GET' && request.method !== 'HEAD' && reply.statusCode < 300
    if (!isTask && !(isWrite && !isSearch(request.url))) return
    const position = await replicated.position()
    if (position !== null) void reply.header(POSITION, position)
  })
}

/** Returns true if a request with a method other than GET only reads. */
const isSearch = (url: string): boolean =>
  /\/(search|multi-search|facet-search|similar|fetch|explain)(\?|$)/.test(url)
