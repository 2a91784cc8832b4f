/** Here is the uid of an index in a request: which index has it, and does it still have it after reading? */
import { ApiError, clientMessages } from '../errors/index.js'
import { indexUidRule, isIndexUid } from '../requests/index.js'
import type { IndexEntry, Tasks } from '../tasks/index.js'

/** @throws ApiError `invalid_index_uid` */
export function requireIndexUid(uid: string): string {
  if (!isIndexUid(uid))
    throw new ApiError('invalid_index_uid', `\`${uid}\` is not a valid index uid; ${indexUidRule}`)
  return uid
}

/** The error for a uid that no index has. @param status default: that of the code, 404 */
export function indexNotFound(uid: string, status?: number): ApiError {
  return new ApiError('index_not_found', clientMessages.indexNotFound(uid), status)
}

/** @throws ApiError `index_not_found` */
export function requireIndex(tasks: Tasks, uid: string): IndexEntry {
  const entry = tasks.index(uid)
  if (entry === null) throw indexNotFound(uid)
  return entry
}

/** Names further indexes that are read. */
export type AlsoRead = (entries: readonly IndexEntry[]) => void

/**
 * Calls `read` on the index with the uid. If one of the indexes it reads was deleted or swapped meanwhile, the result or
 * error is dropped and `read` is called again on the index that has the uid now.
 * @throws ApiError `index_not_found`
 */
export async function readIndex<T>(
  tasks: Tasks,
  uid: string,
  read: (entry: IndexEntry, alsoRead: AlsoRead) => Promise<T>,
): Promise<T> {
  const entry = requireIndex(tasks, uid)
  const entries = [entry]
  const isStale = (): boolean => entries.some((one) => hasMoved(tasks, one))
  try {
    const result = await read(entry, (more) => entries.push(...more))
    if (!isStale()) return result
  } catch (error) {
    if (!isStale()) throw error
  }
  return readIndex(tasks, uid, read)
}

/** Whether the uid of `entry` now belongs to another index or to none. */
export function hasMoved(tasks: Tasks, entry: IndexEntry): boolean {
  return tasks.index(entry.uid)?.id !== entry.id
}
