/** Passes writes on to the leader. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Action } from '../../auth/index.js'
import { ApiError } from '../../errors/index.js'
import { OutboundError } from '../../outbound/index.js'
import type { Replicated } from '../../replication/index.js'
import { passed, sendPassed } from './pass.js'

/** Request header: how often a request was passed on. */
const HOP = 'x-siftd-hop'

/** Request header: see `accessToRead`. */
const CONSISTENCY = 'x-siftd-read-consistency'

/** A write may reach a former leader, then its successor as follower, then the same server as leader. */
const HOPS_MAX = 3

/** Actions of routes that change nothing but this server. */
const local: ReadonlySet<Action> = new Set<Action>([
  ...(['search', 'documents.get', 'settings.get', 'metrics.get', 'fields.post', 'tasks.get'] as const),
  ...(['dynamicSearchRules.get', 'tasks.compact', 'chatCompletions'] as const),
])

/** Returns true if an operation changes the data that all servers share. */
export const isWrite = ({
  method,
  actions,
}: {
  readonly method: string
  readonly actions: readonly Action[]
}): boolean => method !== 'GET' && actions.some((action) => !local.has(action))

/**
 * Passes a write on to the leader, with the key of the client.
 * @returns null: this server handles the request
 * @throws ApiError `bucket_unavailable` if no leader can be reached, or did not answer
 */
export async function passOn(
  request: FastifyRequest,
  reply: FastifyReply,
  replicated: Replicated,
): Promise<FastifyReply | null> {
  const leader = await replicated.leader()
  if (leader === 'self') return null
  const hops = Number(request.headers[HOP] ?? 0)
  // Also refuses a malformed header.
  if (leader === null || !(hops < HOPS_MAX))
    throw new ApiError('bucket_unavailable', 'no server accepts writes at the moment; retry')
  try {
    const headers = { [HOP]: String(hops + 1) }
    return sendPassed(
      reply,
      await passed(request, reply, replicated.peers, { address: leader.address, headers }),
    )
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    request.log.warn({ err: error }, 'a write could not be passed on to the leader')
    throw new ApiError(
      'bucket_unavailable',
      error.fault === 'unreachable'
        ? 'the leader cannot be reached: nothing was written; retry'
        : 'the leader did not answer: the write may have happened; check GET /tasks before you send it again',
    )
  }
}

/** Answer of the leader to a read of a task. */
interface LeadersTask {
  readonly status: number
  readonly position: string | null
  readonly body: Buffer
}

/** Longest task that is read from the leader. */
const TASK_BYTES_MAX = 16 * 2 ** 20

const TASK_MS = 5_000

/**
 * Waits until this server knows a task that it does not know yet: reads the end of the log, then asks the leader.
 * @returns null: this server may know it now; else the answer of the leader
 */
export async function learnTask(
  request: FastifyRequest,
  replicated: Replicated,
  isKnown: () => Promise<boolean>,
): Promise<Buffer | null> {
  const leader = await replicated.leader()
  if (leader === 'self' || request.headers[HOP] !== undefined) return null
  await replicated.catchesUp()
  if (leader === null || (await isKnown())) return null
  const found = await taskOf(request, replicated, leader.address)
  if (found?.status !== 200) return null
  // The task is shown as ended only where its documents are found.
  if (found.position !== null && (await replicated.reaches(found.position)) === true) return null
  return found.body
}

async function taskOf(
  request: FastifyRequest,
  { peers }: Replicated,
  address: string,
): Promise<LeadersTask | null> {
  const { authorization } = request.headers
  try {
    const { status, headers, body } = await peers.call({
      method: 'GET',
      url: `${address.replace(/\/$/, '')}${request.url}`,
      headers: {
        [HOP]: '1',
        ...(authorization !== undefined && { authorization }),
        // The leader must not show what it may lose.
        ...(request.isStrongRead === true && { [CONSISTENCY]: 'strong' }),
      },
      redirects: 'refused',
      timeoutMs: TASK_MS,
      answerBytesMax: TASK_BYTES_MAX,
    })
    const position = headers['x-siftd-position']
    return { status, body, position: typeof position === 'string' ? position : null }
  } catch {
    return null
  }
}
