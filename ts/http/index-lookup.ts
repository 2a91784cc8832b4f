/** Here is the uid of an index in a request: which index is it, and is it still the same after a while? */
import { ApiError } from '../errors/index.js'
import { indexUidRule, isIndexUid } from '../requests/index.js'
import type { IndexEntry, Tasks } from '../tasks/index.js'

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
