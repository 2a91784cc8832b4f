/** Paths of the queue's files in a data directory. */
import { join } from 'node:path'
import { type IndexId, requireIndexId } from '../../engine/index.js'

export const storePath = (directory: string): string => join(directory, 'tasks', 'tasks.db')
/** See `DiskReserve`. */
export const reservePath = (directory: string): string => join(directory, 'tasks', 'reserve')
/** Outside of `tasks/`: restoring an older copy of that directory must not restore an older mark. */
export const markPath = (directory: string): string => join(directory, 'tasks.mark')
export const indexesPath = (directory: string): string => join(directory, 'indexes')
/** Returns the directory of an index. @throws Error for an id that could leave the parent directory */
export const indexPath = (directory: string, id: IndexId): string =>
  join(indexesPath(directory), requireIndexId(id))
/** Bodies of requests that are stored in their own files. */
export const uploadsPath = (directory: string): string => join(directory, 'update_files')
export const lostPath = (directory: string): string => join(directory, 'lost')
