/** Decides from the files of a data directory if its task store may be opened. Changes no file. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  checksumsPath,
  claim,
  type FoundMark,
  isBehind,
  type Log,
  linkedLogPath,
  PageChecksums,
  readLogAt,
  readMark,
  readStoreHeader,
  type StoreHeader,
} from '../../sqlite/index.js'
import { indexesPath, markPath, storePath } from './paths.js'
import { LAST_WITHOUT_SEALS, SCHEMA_VERSION } from './schema.js'

/** The task store is damaged or incomplete. Nothing was changed. */
export class StoreUnusableError extends Error {
  override readonly name = 'StoreUnusableError'
}

/** Facts that decide if the task store of a data directory is complete. */
export interface StoreFindings {
  readonly header: StoreHeader | 'none' | 'damaged'
  readonly mark: FoundMark
  /** null: the store has no tables, or is of a later version. */
  readonly pages: PageFindings | null
  /** Number of directories of indexes. */
  readonly indexes: number
}

interface PageFindings {
  /** Checksums of all pages. For pages in the log, those of the log. */
  readonly checksums: PageChecksums
  /** True if each page that SQLite reads from the file has a stored checksum. If false, some were computed from the file. */
  readonly areKnown: boolean
  /** Numbers of pages whose checksums do not match. */
  readonly damaged: readonly number[]
}

/** @param isCompared true if the pages have just been compared, so that only unknown pages are read */
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

/** A file that protects the store, but is missing or damaged. */
export interface LostProtection {
  readonly file: string
  readonly problem: string
}

/** Returns the missing or damaged files that protect a store. */
export function lostProtections(
  directory: string,
  { header, mark, pages }: StoreFindings,
): readonly LostProtection[] {
  // Stores of earlier versions have neither file.
  if (typeof header !== 'object' || header.version <= LAST_WITHOUT_SEALS) return []
  const lost: LostProtection[] = []
  if (typeof mark !== 'object')
    lost.push({
      file: markPath(directory),
      problem: mark === 'none' ? 'it is missing' : 'its checksum does not match',
    })
  const checksums = checksumsPath(storePath(directory))
  if (pages?.areKnown !== true && PageChecksums.read(checksums) === null)
    lost.push({ file: checksums, problem: 'it is missing, or its checksums do not match' })
  return lost
}

/** @param isMarked false: pages are not compared. An operator who has edited the store deletes the mark. */
function comparedPages(
  path: string,
  { log, pageBytes }: StoreHeader,
  isMarked: boolean,
  isCompared: boolean,
): PageFindings {
  const stored = isMarked ? PageChecksums.read(checksumsPath(path)) : null
  const checksums = stored ?? PageChecksums.none()
  // A process that exits empties the log, but its link keeps the content.
  const newest = log.frames > 0 || !isMarked ? log : readLogAt(linkedLogPath(path))
  checksums.take(newest)
  const filePages = Math.floor(statSync(path).size / pageBytes)
  // A store has no checksums before its first checkpoint. All its pages are then in the log.
  const areKnown = stored === null ? containsPages(newest, filePages) : checksums.pages >= filePages
  return { checksums, areKnown, damaged: checksums.compare(path, pageBytes, log, isCompared) }
}

/** Returns true if the log contains the first `count` pages. */
function containsPages({ pages }: Log, count: number): boolean {
  for (let page = 1; page <= count; page++) if (!pages.has(page)) return false
  return true
}

/** Returns why the store must not be opened, to follow "the store" in a sentence; null if it may be opened. */
export function objection({ header, mark, pages, indexes }: StoreFindings): string | null {
  if (header === 'damaged') return 'is damaged: its header is not one of SQLite'
  const isNew = header === 'none' || header.version === 0
  if (isNew) {
    const what = header === 'none' ? 'is missing or empty' : 'has no tables'
    if (typeof mark === 'object')
      return `${what}, though ${transactions(mark.sequence)} were acknowledged in it`
    if (mark === 'damaged' || indexes > 0) return `${what}, though ${indexes} index directories exist`
    return null
  }
  if (typeof mark !== 'object') return null
  if (isBehind(header.sequence, mark.sequence))
    return `ends at transaction ${header.sequence}, though ${transactions(mark.sequence)} were acknowledged: its newest part is lost`
  if (pages === null || pages.damaged.length === 0) return null
  return `is damaged: ${namesOf(pages.damaged)} not what was written (if it was edited on purpose, delete the file \`tasks.mark\`)`
}

/** Subject and verb of a sentence about these pages. */
function namesOf(pages: readonly number[]): string {
  const [first, ...others] = pages
  return others.length === 0
    ? `page ${first} of its file is`
    : `page ${first} of its file and ${others.length} others are`
}

const transactions = (count: number) => (count === 1 ? '1 transaction' : `${count} transactions`)

/** The refusal in one line, with the remedies. @param reason follows the path of the store */
export const refusal = (directory: string, reason: string): StoreUnusableError =>
  new StoreUnusableError(
    `the task store ${storePath(directory)} ${reason}. Nothing was changed. Restore a backup of the complete data directory, import a dump into another one (--import-dump FILE --db-path OTHER), or start once with --rebuild-task-store: it keeps every index and loses the history of tasks`,
  )

/**
 * Refuses a data directory whose task store is incomplete, before anything in it is opened or created.
 * @throws StoreUnusableError
 * @throws DirectoryInUseError if another process has the directory open
 */
export async function requireCompleteStore(directory: string): Promise<void> {
  if (objection(inspectStore(directory)) === null) return
  // The store of a running server changes during reading and may look incomplete.
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
