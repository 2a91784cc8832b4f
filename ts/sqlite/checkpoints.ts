/** Copies the write-ahead log of a task store into its file, and keeps the checksums of its pages up to date. */
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import type { Connection } from './driver.js'
import { CheckpointError } from './errors.js'
import { LOG_FRAMES_MAX } from './limits.js'
import { hasGrownBy, LOG_START, positionIn, readLog } from './log.js'
import type { PageChecksums } from './page-checksums.js'
import { checksumsPath, linkedLogPath } from './paths.js'
import { Sql } from './sql.js'

/**
 * Saves the checksums of a store that SQLite is about to open.
 * @param checksums of its file and its log
 */
export function saveBeforeOpening(path: string, checksums: PageChecksums): void {
  for (const log of [`${path}-wal`, linkedLogPath(path)]) syncIfThere(log)
  // A store without tables has no checksums. An existing file of checksums belongs to a removed store.
  if (checksums.pages === 0) checksums.unsave(checksumsPath(path))
  checksums.save(checksumsPath(path))
  rmSync(linkedLogPath(path), { force: true })
}

/** Prevents that a power cut loses frames of the log but keeps the checksums of their pages. */
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

/** When checksums are saved. */
type Saving = 'before each checkpoint' | 'after the last checkpoint' | 'never again'

/** Makes all checkpoints of an open store. SQLite makes none itself, except when a connection closes. */
export class Checkpoints {
  readonly #sql: Sql
  /** Path of the store. */
  readonly path: string
  readonly #checksums: PageChecksums
  readonly #pageBytes: number
  readonly #log: number
  #saving: Saving = 'before each checkpoint'
  /** End of the log at the last checkpoint. */
  #seen = LOG_START
  /** True while a copy of the store's file is made, which no checkpoint may change. */
  #isHeld = false

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
      // On a file system without hard links, checksums are saved only at a clean stop.
      this.#saving = 'after the last checkpoint'
      checksums.unsave(checksumsPath(path))
    }
  }

  /**
   * Makes a checkpoint if the log has grown by `LOG_FRAMES_MAX` frames since the last one.
   * @throws Error of the system or of SQLite; the log stays as it is
   */
  whenLong(): void {
    if (!this.#isHeld && hasGrownBy(this.#log, LOG_FRAMES_MAX, this.#seen, this.#pageBytes)) this.#make()
  }

  /**
   * Copies the complete log into the store's file and empties it. Needed because some builds of SQLite close a
   * connection late.
   * @throws CheckpointError if the disk fails; the next start then reads the log
   */
  settle(): void {
    const failure = 'the log of the task store could not be copied into its file'
    let isEmptied: boolean
    try {
      isEmptied = this.#make() && this.#sql.number('PRAGMA wal_checkpoint(TRUNCATE)', 'busy') === 0
    } catch (error) {
      throw new CheckpointError(`${failure}: ${error instanceof Error ? error.message : String(error)}`)
    }
    if (!isEmptied) throw new CheckpointError(failure)
  }

  /**
   * Settles, then makes no checkpoint before `release`, so that the store's file stays as it is. Transactions go to the log.
   * @throws CheckpointError as `settle`
   */
  hold(): void {
    if (this.#isHeld) throw new Error('the file of the task store is being copied')
    this.settle()
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
  }

  /** @param isSettled true if `settle` succeeded and nothing was written since */
  close(isSettled: boolean): void {
    closeSync(this.#log)
    if (!isSettled) return
    try {
      if (this.#saving === 'after the last checkpoint') this.#checksums.save(checksumsPath(this.path))
      rmSync(linkedLogPath(this.path), { force: true })
    } catch {
      // The next start creates missing checksums, and removes the link.
    }
  }

  /** Makes a checkpoint. @returns true if the store's file now holds the complete log */
  #make(): boolean {
    // Syncs transactions that are not durable yet, because the checksums of their pages must not reach the disk first.
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
   * Stops saving checksums until the next start. SQLite ignores the frames of a transaction whose sync failed. If these
   * frames could not be overwritten, `readLog` has read them although their pages never reach the store's file.
   */
  #giveUp(): void {
    this.#saving = 'never again'
    this.#checksums.unsave(checksumsPath(this.path))
    rmSync(linkedLogPath(this.path), { force: true })
  }
}
