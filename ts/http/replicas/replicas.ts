import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'
import type { Replicated } from '../../replication/index.js'

/** Request header: the position to wait for. Answer header: the position after the write. */
const POSITION = 'x-siftd-position'

/** Request header: `strong` waits until this server has everything written before the request. */
const CONSISTENCY = 'x-siftd-read-consistency'

/**
 * Checks the key of a read, and waits until this server has what the client has seen. A strong read first waits for the
 * end of the log, because another server may have created or deleted its key. All strong reads share one call to the
 * bucket. A position in the request is awaited last, only with an accepted key: it makes a follower read the log at once.
 * @throws ApiError `follower_behind`, or `bad_request` if the header holds no position; errors of `requireAccess`
 */
export async function accessToRead<A>(
  request: FastifyRequest,
  replicated: Replicated,
  requireAccess: () => Promise<A>,
): Promise<A> {
  await awaitEnd(request, replicated)
  const access = await requireAccess()
  await awaitPosition(request, replicated)
  return access
}

async function awaitPosition(request: FastifyRequest, replicated: Replicated): Promise<void> {
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

/** Waits until this server has all earlier writes, if the client or the operator wants strong reads. */
async function awaitEnd(request: FastifyRequest, replicated: Replicated): Promise<void> {
  const asked = request.headers[CONSISTENCY] ?? (replicated.isStrong ? 'strong' : 'eventual')
  if (asked !== 'strong' && asked !== 'eventual')
    throw new ApiError(
      'bad_request',
      `the header \`X-Siftd-Read-Consistency\` is \`${asked}\`; use \`strong\` or \`eventual\``,
    )
  if (asked !== 'strong') return
  request.isStrongRead = true
  if (!(await replicated.catchesUp())) throw notConfirmed()
}

const notConfirmed = (): ApiError =>
  new ApiError(
    'follower_behind',
    'this server cannot confirm in time that it has all writes; retry, or read without strong consistency',
  )

declare module 'fastify' {
  interface FastifyRequest {
    /** True if the answer may be shown only once the log has all of it. */
    isStrongRead?: boolean
  }
}

/**
 * Adds the position of this server to answers to writes and to reads of tasks. Holds answers to strong reads until the
 * log has what they show, so that no later strong read on another server lacks it.
 */
export function showPositions(app: FastifyInstance, replicated: Replicated): void {
  app.addHook('onRequest', async (request) => {
    if (request.headers[replicated.pollHeader] !== undefined && request.url === '/health') replicated.nudge()
  })
  app.decorateRequest('isStrongRead', false)
  app.addHook('onSend', async (request, reply) => {
    if (request.isStrongRead === true && reply.statusCode < 300 && !(await replicated.settles())) {
      request.isStrongRead = false
      throw notConfirmed()
    }
    const isTask = request.method === 'GET' && /^\/tasks\/\d+/.test(request.url)
    const isWrite = request.method !== 'GET' && request.method !== 'HEAD' && reply.statusCode < 300
    if (!isTask && !(isWrite && !isSearch(request.url))) return
    const position = await replicated.position()
    if (position !== null) void reply.header(POSITION, position)
  })
}

/** Returns true if a request with a method other than GET only reads. */
const isSearch = (url: string): boolean =>
  /\/(search|multi-search|facet-search|similar|fetch|explain|completions)(\?|$)/.test(url)
