/** Paths of the queue's files in a data directory. */
import { join } from 'node:path'
import { type IndexId, requireIndexId } from '../../engine/index.js'

export const storePath = (directory: string): string => join(directory, 'tasks', 'tasks.db')
/** Outside of `tasks/`: restoring an older copy of that directory must not restore an older mark. */
export const markPath = (directory: string): string => join(directory, 'tasks.mark')
export const indexesPath = (directory: string): string => join(directory, 'indexes')
/** Returns the directory of an index. @throws Error for an id that could leave the parent directory */
export const indexPath = (directory: string, id: IndexId): string =>
  join(indexesPath(directory), requireIndexId(id))
/** Bodies of requests that are stored in their own files. */
export const uploadsPath = (directory: string): string => join(directory, 'update_files')
export const lostPath = (directory: string): string => join(directory, 'lost')

/** @param store path of the store's file */
export const checksumsPath = (store: string): string => `${store}-checksums`

/**
 * A second name of the write-ahead log. SQLite ends and removes the log when a connection closes. Native builds do this
 * even for a process that exits without closing its store. Under this name its frames can still be read.
 * @param store path of the store's file
 */
export const linkedLogPath = (store: string): string => `${store}-log`
