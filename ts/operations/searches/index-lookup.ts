/** Finds indexes by uid, and repeats reads of indexes that were swapped or deleted meanwhile. */
import { ApiError, clientMessages } from '../../errors/index.js'
import type { IndexEntry, Tasks } from '../../tasks/index.js'
import { indexUidRule, isIndexUid } from '../requests/index.js'

/** @throws ApiError `invalid_index_uid` */
export function requireIndexUid(uid: string): string {
  if (!isIndexUid(uid))
    throw new ApiError('invalid_index_uid', `\`${uid}\` is not a valid index uid; ${indexUidRule}`)
  return uid
}

/** Returns the error for an unknown uid. @param status default: the status of the code, 404 */
export function indexNotFound(uid: string, status?: number): ApiError {
  return new ApiError('index_not_found', clientMessages.indexNotFound(uid), status)
}

/** @throws ApiError `index_not_found` */
export function requireIndex(tasks: Tasks, uid: string): IndexEntry {
  const entry = tasks.index(uid)
  if (entry === null) throw indexNotFound(uid)
  return entry
}

/** Reports the additional indexes that a request reads. */
export type AlsoRead = (entries: readonly IndexEntry[]) => void

/**
 * Calls `read` on the index with the uid. If an index it read was deleted or swapped meanwhile, drops the result or
 * error and calls `read` again on the index that has the uid now.
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

/** Returns true if the uid of `entry` now belongs to another index or to none. */
export function hasMoved(tasks: Tasks, entry: IndexEntry): boolean {
  return tasks.index(entry.uid)?.id !== entry.id
}
