/** Copies the write-ahead log of a task store into its file, and keeps the checksums of its pages in step. */
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import { LOG_FRAMES_MAX } from '../limits.js'
import type { Connection } from './driver.js'
import { CheckpointError } from './errors.js'
import { hasGrownBy, LOG_START, positionIn, readLog } from './log.js'
import type { PageChecksums } from './page-checksums.js'
import { checksumsPath, linkedLogPath } from './paths.js'
import { Sql } from './sql.js'

/**
 * Stores the checksums of a store that SQLite is about to open.
 * @param checksums of its file and its log
 */
export function saveBeforeOpening(path: string, checksums: PageChecksums): void {
  for (const log of [`${path}-wal`, linkedLogPath(path)]) syncIfThere(log)
  // A store without tables has no checksums; a file of them belongs to a store that was removed.
  if (checksums.pages === 0) checksums.unsave(checksumsPath(path))
  checksums.save(checksumsPath(path))
  rmSync(linkedLogPath(path), { force: true })
}

/** A power cut could otherwise take frames of the log and leave the checksums of their pages. */
function syncIfThere(path: string): void {
  let file: number
  try {
    file = openSync(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** When checksums are stored. */
type Saving = 'before each checkpoint' | 'after the last checkpoint' | 'never again'

/** Makes all checkpoints of an open store. SQLite makes none by itself, except when a connection closes. */
export class Checkpoints {
  readonly #sql: Sql
  /** Of the store. */
  readonly path: string
  readonly #checksums: PageChecksums
  readonly #pageBytes: number
  readonly #log: number
  #saving: Saving = 'before each checkpoint'
  /** End of the log at the last checkpoint. */
  #seen = LOG_START

  /** @param connection in write-ahead mode, before its first transaction */
  constructor(connection: Connection, path: string, checksums: PageChecksums) {
    this.path = path
    this.#checksums = checksums
    this.#sql = new Sql(connection)
    connection.exec('PRAGMA wal_autocheckpoint = 0')
    // SQLite creates the log when the database is first read.
    this.#sql.all('SELECT count(*) FROM sqlite_schema')
    this.#pageBytes = this.#sql.number('PRAGMA page_size', 'page_size')
    this.#log = openSync(`${path}-wal`, 'r+')
    try {
      linkSync(`${path}-wal`, linkedLogPath(path))
    } catch {
      // On a file system without hard links, checksums are stored by a clean stop alone.
      this.#saving = 'after the last checkpoint'
      checksums.unsave(checksumsPath(path))
    }
  }

  /**
   * Makes a checkpoint if the log has `LOG_FRAMES_MAX` frames that the last one has not seen.
   * @throws Error of the system or of SQLite; the log stays as it is
   */
  whenLong(): void {
    if (hasGrownBy(this.#log, LOG_FRAMES_MAX, this.#seen, this.#pageBytes)) this.#make()
  }

  /**
   * Copies the whole log into the store's file and empties it. Some builds of SQLite close a connection later than
   * asked.
   * @throws CheckpointError if the disk fails; then the next start reads the log
   */
  settle(): void {
    const failure = 'the log of the task store could not be written into its file'
    let isEmptied: boolean
    try {
      isEmptied = this.#make() && this.#sql.number('PRAGMA wal_checkpoint(TRUNCATE)', 'busy') === 0
    } catch (error) {
      throw new CheckpointError(`${failure}: ${error instanceof Error ? error.message : String(error)}`)
    }
    if (!isEmptied) throw new CheckpointError(failure)
  }

  /** @param isSettled whether `settle` succeeded and nothing was written since */
  close(isSettled: boolean): void {
    closeSync(this.#log)
    if (!isSettled) return
    try {
      if (this.#saving === 'after the last checkpoint') this.#checksums.save(checksumsPath(this.path))
      rmSync(linkedLogPath(this.path), { force: true })
    } catch {
      // The next start makes checksums that are missing, and removes the link.
    }
  }

  /** Makes a checkpoint. @returns whether the store's file holds the whole log now */
  #make(): boolean {
    // Transactions that were not durable may not be on disk yet; checksums of their pages must not get there first.
    fsyncSync(this.#log)
    const log = readLog(this.#log)
    this.#seen = positionIn(this.#log, log.frames)
    this.#checksums.take(log)
    if (this.#saving === 'before each checkpoint') this.#checksums.save(checksumsPath(this.path))
    const [row] = this.#sql.all('PRAGMA wal_checkpoint(PASSIVE)')
    if (row?.log !== log.frames) this.#giveUp()
    return row?.busy === 0 && row.log === row.checkpointed
  }

  /**
   * Gives up checksums until the next start. SQLite ignores the frames of a transaction whose sync has failed; if they
   * could not be overwritten, `readLog` has read them, and their pages are never written to the store's file.
   */
  #giveUp(): void {
    this.#saving = 'never again'
    this.#checksums.unsave(checksumsPath(this.path))
    rmSync(linkedLogPath(this.path), { force: true })
  }
}
