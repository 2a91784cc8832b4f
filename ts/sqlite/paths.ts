/** Paths of the files next to the file of a store. */

/** @param store path of the store's file */
export const checksumsPath = (store: string): string => `${store}-checksums`

/**
 * A second name of the write-ahead log. SQLite ends and removes the log when a connection closes. Native builds do this
 * even for a process that exits without closing its store. Under this name its frames can still be read.
 * @param store path of the store's file
 */
export const linkedLogPath = (store: string): string => `${store}-log`
