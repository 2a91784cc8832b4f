/** Where do the files of the queue lie in a data directory? */
import { join } from 'node:path'
import { type IndexId, requireIndexId } from '../../engine/index.js'

export const storePath = (directory: string): string => join(directory, 'tasks', 'tasks.db')
/** The mark lies beside `tasks/`, so that an older copy of that whole directory does not bring its own mark along. */
export const markPath = (directory: string): string => join(directory, 'tasks.mark')
export const indexesPath = (directory: string): string => join(directory, 'indexes')
/** The directory of an index. @throws Error for an id that could lead elsewhere */
export const indexPath = (directory: string, id: IndexId): string =>
  join(indexesPath(directory), requireIndexId(id))
/** Bodies of requests that wait in files of their own. */
export const uploadsPath = (directory: string): string => join(directory, 'update_files')
export const lostPath = (directory: string): string => join(directory, 'lost')

/** @param store path of the store's file */
export const checksumsPath = (store: string): string => `${store}-checksums`

/**
 * A second name of the write-ahead log. SQLite ends the log and removes it when a connection is closed, which native
 * builds do even for a process that exits without closing its store. Under this name its frames can still be read.
 * @param store path of the store's file
 */
export const linkedLogPath = (store: string): string => `${store}-log`
