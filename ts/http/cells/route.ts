/** Passes requests for one index, or for one task, on to the cell that has it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, type ErrorCode } from '../../errors/index.js'
import { isIndexUid } from '../../operations/index.js'
import { OutboundError, type PassedAnswer } from '../../outbound/index.js'
import { shortBody } from '../body/index.js'
import { SHORT_BYTES_MAX } from '../limits.js'
import { param } from '../operations/index.js'
import { hasBody, isWrite, passed, sendPassed } from '../replicas/index.js'
import { CELL_HEADER, type Cells, MOVED_HEADER, unavailable } from './cells.js'
import { NEXT_MS } from './limits.js'

/** Paths whose `uid` is that of a task or batch. */
const ofTask: ReadonlySet<string> = new Set(['/tasks/:uid', '/tasks/:uid/documents', '/batches/:uid'])

/** Adds the hook that passes requests on. It runs before the key is checked: the other cell checks it. */
export function routeCells(app: FastifyInstance, cells: Cells): void {
  app.addHook('preHandler', async (request, reply) => {
    const owner = ownerOf(request, cells)
    if (owner === null) return
    if (isSentKey(request, cells)) return
    if (request.headers[CELL_HEADER] !== undefined) return requireOwn(request, reply, cells, owner)
    const cell = owner()
    if (cell !== cells.name) await passToCell(request, reply, cells, { cell, owner })
  })
}

/** Paths that the home cell answers. */
const ofHome: ReadonlySet<string> = new Set(['/keys', '/keys/:key'])

/** Returns true for a change of a key that the home cell sends to this one. */
const isSentKey = (request: FastifyRequest, cells: Cells): boolean =>
  ofHome.has(request.routeOptions.config.operation?.url ?? '') &&
  ['POST', 'DELETE'].includes(request.method) &&
  cells.hasSent(request)

/** Returns a function that returns the cell of a request by the newest placement; null: any cell answers it. */
function ownerOf(request: FastifyRequest, cells: Cells): (() => string) | null {
  const url = request.routeOptions.config.operation?.url
  if (url === undefined) return null
  if (ofHome.has(url)) return () => cells.home
  if (ofTask.has(url)) {
    const uid = param(request, 'uid')
    return /^\d{1,10}$/.test(uid) ? () => cells.ofUid(Number(uid)) : null
  }
  if (!url.includes('/:indexUid')) return null
  const uid = param(request, 'indexUid')
  // The mistake is reported here.
  return isIndexUid(uid) ? () => cells.ofIndex(uid) : null
}

/** Refuses a request that another cell has passed on to the wrong cell. It is never passed on again. */
async function requireOwn(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  cells: Cells,
  owner: () => string,
): Promise<void> {
  if (owner() !== cells.name && Number(headers[CELL_HEADER]) > cells.placement.version) await cells.refresh()
  if (owner() === cells.name) return
  void reply.header(MOVED_HEADER, String(cells.placement.version))
  throw new ApiError(
    'follower_behind',
    `by version ${cells.placement.version} of the placement this is in the cell \`${owner()}\`: nothing was written; retry`,
  )
}

/** Refuses a search that another cell has sent, if this cell does not have all its indexes. @throws ApiError */
export async function requireOwnIndexes(
  request: FastifyRequest,
  reply: FastifyReply,
  cells: Cells,
  indexUids: readonly string[],
): Promise<void> {
  const owner = (): string =>
    indexUids.map((uid) => cells.ofIndex(uid)).find((name) => name !== cells.name) ?? cells.name
  await requireOwn(request, reply, cells, owner)
}

interface CellTarget {
  readonly cell: string
  /** Returns the cell by the newest placement. */
  readonly owner: () => string
  /** A body that was read already. */
  readonly body?: Buffer
}

/**
 * Passes a request on to another cell. One that only reads is tried at the next address, and again if the placement has
 * changed. A write is sent once.
 * @returns true: the client is answered; false: this server handles the request after all
 * @throws ApiError `bucket_unavailable`
 */
export async function passToCell(
  request: FastifyRequest,
  reply: FastifyReply,
  cells: Cells,
  { cell, owner, body: given }: CellTarget,
): Promise<boolean> {
  const body = given ?? (await repeatableBody(request))
  const answer = await answerOf(request, reply, cells, { cell, body })
  const version = answer.headers[MOVED_HEADER]
  if (version === undefined || body === null) {
    await sendPassed(reply, answer)
    return true
  }
  // Nothing reads this body, so its failure changes nothing.
  answer.body.on('error', () => undefined).resume()
  if (Number(version) > cells.placement.version) await cells.refresh()
  const next = owner()
  if (next !== cells.name) {
    await sendPassed(reply, await answerOf(request, reply, cells, { cell: next, body }))
    return true
  }
  // A body that was read cannot be read again by the route.
  if (body.length === 0) return false
  throw new ApiError('follower_behind', 'the placement has just changed: nothing was written; retry')
}

/** A write whose body names its indexes. */
interface NamedWrite {
  readonly uids: readonly string[]
  /** Code of the error for indexes in several cells. */
  readonly code: ErrorCode
  /** The body, as it was read. */
  readonly body: object
}

/**
 * Passes a write whose body names its indexes on to their cell.
 * @returns true: the client is answered; false: this server handles the request
 * @throws ApiError if the indexes are in several cells
 */
export async function passNamed(
  request: FastifyRequest,
  reply: FastifyReply,
  cells: Cells | null,
  { uids, code, body }: NamedWrite,
): Promise<boolean> {
  if (cells === null) return false
  const owner = (): string => cells.requireOne(uids, code)
  if (request.headers[CELL_HEADER] !== undefined) {
    await requireOwn(request, reply, cells, owner)
    return false
  }
  const cell = owner()
  if (cell === cells.name) return false
  const sent = Buffer.from(JSON.stringify(body))
  return passToCell(request, reply, cells, { cell, owner, body: sent })
}

/** Returns the body of a request that may be sent again, empty if it has none; null: it is a stream. */
async function repeatableBody(request: FastifyRequest): Promise<Buffer | null> {
  if (!hasBody(request)) return Buffer.alloc(0)
  const { operation } = request.routeOptions.config
  return operation === undefined || isWrite(operation) ? null : shortBody(request, SHORT_BYTES_MAX)
}

async function answerOf(
  request: FastifyRequest,
  reply: FastifyReply,
  cells: Cells,
  { cell, body }: { readonly cell: string; readonly body: Buffer | null },
): Promise<PassedAnswer> {
  const { headers, peers } = cells
  const urls = cells.urlsOf(cell)
  for (const [at, address] of urls.entries()) {
    try {
      const isRepeatable = body !== null && isRead(request) && at < urls.length - 1
      const sent = {
        ...{ address, headers },
        ...(body !== null && { body }),
        ...(isRepeatable && { beginMs: NEXT_MS }),
      }
      return await passed(request, reply, peers, sent)
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      request.log.warn({ err: error }, `a request could not be passed on to the cell ${cell}`)
      // A client that is gone says nothing about the server.
      if (error.fault !== 'aborted') cells.noteFailure(address)
      if (error.fault !== 'unreachable' && !isRead(request))
        throw new ApiError(
          'bucket_unavailable',
          `the cell \`${cell}\` did not answer: the write may have happened; check GET /tasks before you send it again`,
        )
      if (body === null || error.fault === 'aborted') break
    }
  }
  throw unavailable(cell, isRead(request))
}

const isRead = (request: FastifyRequest): boolean => {
  const { operation } = request.routeOptions.config
  return request.method === 'GET' || (operation !== undefined && !isWrite(operation))
}
