/** May the task store of a data directory be opened? Decided from what lies there, without changing any of it. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { claim } from './lock.js'
import { type FoundMark, isBehind, readMark } from './mark.js'
import { PageChecksums } from './page-checksums.js'
import { checksumsPath, indexesPath, linkedLogPath, markPath, storePath } from './paths.js'
import { SCHEMA_VERSION } from './schema.js'
import { readLogAt, readStoreHeader, type StoreHeader } from './store-header.js'

/** The task store cannot be used as it is: damaged, incomplete, or written by another version. Nothing was changed. */
export class StoreUnusableError extends Error {
  override readonly name = 'StoreUnusableError'
}

/** What lies in a data directory, as far as it tells whether its task store is complete. */
export interface StoreFindings {
  readonly header: StoreHeader | 'none' | 'damaged'
  readonly mark: FoundMark
  /** null: there is no store with tables, or one of a later version. */
  readonly pages: PageFindings | null
  /** Directories of indexes. */
  readonly indexes: number
}

export interface PageFindings {
  /** Of all pages, those in the log included. */
  readonly checksums: PageChecksums
  /** Whether they were there before; if not they are those of the file as it was found. */
  readonly areKnown: boolean
  /** Numbers of pages that are not what was written. */
  readonly damaged: readonly number[]
}

/** @param isCompared whether a survey has just compared the pages of the store, so that this one need not */
export function inspectStore(directory: string, isCompared = false): StoreFindings {
  const mark = readMark(markPath(directory))
  const path = storePath(directory)
  const header = readStoreHeader(path)
  return {
    header,
    mark,
    pages:
      typeof header === 'object' && header.version > 0 && header.version <= SCHEMA_VERSION
        ? comparedPages(path, header, typeof mark === 'object', isCompared)
        : null,
    indexes: directoriesIn(indexesPath(directory)),
  }
}

/** @param isMarked false: the store is taken as it is, as after an intended change of it past the server */
function comparedPages(
  path: string,
  { log, pageBytes }: StoreHeader,
  isMarked: boolean,
  isCompared: boolean,
): PageFindings {
  const stored = isMarked ? PageChecksums.read(checksumsPath(path)) : null
  const checksums = stored ?? PageChecksums.none()
  if (log.frames > 0) checksums.take(log)
  else if (stored !== null) checksums.take(readLogAt(linkedLogPath(path)))
  const areKnown = stored !== null && checksums.pages >= Math.floor(statSync(path).size / pageBytes)
  return { checksums, areKnown, damaged: checksums.compare(path, pageBytes, log, isCompared) }
}

/** Why the store must not be opened, without the way out; null if it may be. */
export function objection({ header, mark, pages, indexes }: StoreFindings): string | null {
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
  if (pages === null || pages.damaged.length === 0) return null
  return `is damaged: ${namesOf(pages.damaged)} not what was written (if it was edited on purpose, delete the file \`tasks.mark\`)`
}

/** As the subject of a sentence, with its verb. */
function namesOf(pages: readonly number[]): string {
  const [first, ...others] = pages
  return others.length === 0
    ? `page ${first} of its file is`
    : `page ${first} of its file and ${others.length} others are`
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
  if (objection(inspectStore(directory)) === null) return
  // A store that is being written to may look incomplete.
  const release = existsSync(join(directory, 'tasks', 'lock'))
    ? await claim(join(directory, 'tasks', 'lock'))
    : () => undefined
  try {
    const reason = objection(inspectStore(directory))
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
