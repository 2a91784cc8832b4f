import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../errors/index.js'
import { indexUidRule, isIndexUid } from '../requests/index.js'
import type { IndexEntry, TaskSummary, Tasks } from '../tasks/index.js'
import type { OnGone } from './search-queue.js'

/** The query string as sent, without its `?`. */
export function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? ''
  const mark = url.indexOf('?')
  return mark === -1 ? '' : url.slice(mark + 1)
}

/** A path parameter, percent-decoded. */
export function param(request: FastifyRequest, name: string): string {
  return (request.params as Readonly<Record<string, string>>)[name] ?? ''
}

/** @throws ApiError `invalid_index_uid` */
export function requireIndexUid(uid: string): string {
  if (!isIndexUid(uid))
    throw new ApiError('invalid_index_uid', `\`${uid}\` is not a valid index uid; ${indexUidRule}`)
  return uid
}

/** The error of naming an index that does not exist. Multi-search answers it with 400. */
export function indexNotFound(uid: string, status?: number): ApiError {
  return new ApiError('index_not_found', `index \`${uid}\` not found`, status)
}

/** @throws ApiError `index_not_found` */
export function requireIndex(tasks: Tasks, uid: string): IndexEntry {
  const entry = tasks.index(uid)
  if (entry === null) throw indexNotFound(uid)
  return entry
}

/**
 * Reads an index that exists. If it is deleted or swapped away meanwhile, whatever came of it is dropped
 * and the question asked again of what has the name now.
 * @throws ApiError `index_not_found`
 */
export async function reading<T>(
  tasks: Tasks,
  uid: string,
  read: (entry: IndexEntry) => Promise<T>,
): Promise<T> {
  const entry = requireIndex(tasks, uid)
  try {
    const result = await read(entry)
    if (!hasMoved(tasks, entry)) return result
  } catch (error) {
    if (!hasMoved(tasks, entry)) throw error
  }
  return reading(tasks, uid, read)
}

/** Whether the name of `entry` stands for another index by now, or for none. */
export function hasMoved(tasks: Tasks, entry: IndexEntry): boolean {
  return tasks.index(entry.uid)?.id !== entry.id
}

/** Answers with JSON. */
export function sendJson(reply: FastifyReply, value: unknown, status = 200): FastifyReply {
  return sendJsonBytes(reply, JSON.stringify(value), status)
}

/** Answers with JSON that is already text or bytes. */
export function sendJsonBytes(reply: FastifyReply, body: string | Uint8Array, status = 200): FastifyReply {
  // As bytes: to text, fastify would add a charset, which JSON does not have.
  const payload =
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return reply.code(status).type('application/json').send(payload)
}

/** Answers with an accepted task. */
export function sendSummary(reply: FastifyReply, summary: TaskSummary, status = 202): FastifyReply {
  return sendJson(reply, summary, status)
}

/** Tells when the client of `reply` is gone before it got its answer. */
export function disconnection(reply: FastifyReply): OnGone {
  return (callback) => {
    const closed = (): void => {
      if (!reply.raw.writableFinished) callback()
    }
    reply.raw.once('close', closed)
    return () => reply.raw.off('close', closed)
  }
}
