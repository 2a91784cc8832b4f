/** May the task store of a data directory be opened? Decided from what lies there, without changing any of it. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKED_STORE_BYTES_MAX } from '../limits.js'
import { claim } from './lock.js'
import { type ClosedFile, closedFile, type FoundMark, isBehind, readMark } from './mark.js'
import { readStoreHeader, type StoreHeader } from './store-header.js'

/** Where things lie in a data directory. */
export const storePath = (directory: string): string => join(directory, 'tasks', 'tasks.db')
/** Not in `tasks/`: an older copy of that whole directory must not bring its own mark along. */
export const markPath = (directory: string): string => join(directory, 'tasks.mark')
export const indexesPath = (directory: string): string => join(directory, 'indexes')
export const lostPath = (directory: string): string => join(directory, 'lost')

/** The task store cannot be used as it is: damaged, incomplete, or written by another version. Nothing was changed. */
export class StoreUnusableError extends Error {
  override readonly name = 'StoreUnusableError'
}

/** What lies in a data directory, as far as it tells whether its task store is complete. */
export interface Survey {
  readonly header: StoreHeader | 'none' | 'damaged'
  readonly mark: FoundMark
  /** The store's file as it is, if it was closed properly and is small enough to be read whole. */
  readonly file: ClosedFile | null
  /** Directories of indexes. */
  readonly indexes: number
}

export function survey(directory: string): Survey {
  const mark = readMark(markPath(directory))
  const header = readStoreHeader(storePath(directory))
  const isClosed = typeof mark === 'object' && mark.closed !== null
  return {
    header,
    mark,
    file: isClosed && typeof header === 'object' && !header.hasLog ? wholeFile(storePath(directory)) : null,
    indexes: directoriesIn(indexesPath(directory)),
  }
}

/** Checksum of a store's file; null if reading all of it would take too long. */
export const wholeFile = (path: string): ClosedFile | null =>
  statSync(path).size <= CHECKED_STORE_BYTES_MAX ? closedFile(path) : null

/** Why the store must not be opened, without the way out; null if it may be. */
export function objection({ header, mark, file, indexes }: Survey): string | null {
  if (header === 'damaged') return 'is damaged: its header is not one of SQLite'
  const isNew = header === 'none' || header.version === 0
  if (isNew) {
    const what = header === 'none' ? 'is missing or empty' : 'has no tables'
    if (typeof mark === 'object')
      return `${what}, though ${transactions(mark.sequence)} were acknowledged in it`
    if (mark === 'damaged' || indexes > 0) return `${what}, though there are ${indexes} index directories`
    return null
  }
  if (typeof mark !== 'object') return null
  if (isBehind(header.sequence, mark.sequence))
    return `ends at transaction ${header.sequence}, though ${transactions(mark.sequence)} were acknowledged: its newest part is lost`
  const isSame =
    file === null ||
    mark.closed === null ||
    (file.bytes === mark.closed.bytes && file.check === mark.closed.check)
  return isSame
    ? null
    : 'is damaged: its content is not what it was when the server stopped (if it was edited on purpose, delete the file `tasks.mark`)'
}

const transactions = (count: number) => (count === 1 ? '1 transaction' : `${count} transactions`)

/** The refusal as one line for humans. @param reason follows the path */
export const refusal = (directory: string, reason: string): StoreUnusableError =>
  new StoreUnusableError(
    `the task store ${storePath(directory)} ${reason}. Nothing was changed. Restore a backup of the whole data directory, import a dump into another one (--import-dump FILE --db-path OTHER), or start once with --rebuild-task-store: it keeps every index and loses the history of tasks`,
  )

/**
 * Refuses a data directory whose task store is not complete before anything in it is opened or made.
 * @throws StoreUnusableError
 * @throws DirectoryInUseError if that is only because another process works on it
 */
export async function requireCompleteStore(directory: string): Promise<void> {
  if (objection(survey(directory)) === null) return
  // A store that is being written to may look incomplete.
  const release = existsSync(join(directory, 'tasks', 'lock'))
    ? await claim(join(directory, 'tasks', 'lock'))
    : () => undefined
  try {
    const reason = objection(survey(directory))
    if (reason !== null) throw refusal(directory, reason)
  } finally {
    release()
  }
}

function directoriesIn(path: string): number {
  try {
    return readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory()).length
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
