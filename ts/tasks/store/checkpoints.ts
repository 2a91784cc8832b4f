/** Brings the write-ahead log of a task store into its file, and keeps the checksums of its pages in step. */
import { closeSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import { LOG_FRAMES_MAX } from '../limits.js'
import type { Connection } from './driver.js'
import { hasGrownBy, LOG_START, positionIn, readLog } from './log.js'
import type { PageChecksums } from './page-checksums.js'
import { checksumsPath, linkedLogPath } from './paths.js'
import { Sql } from './sql.js'

/**
 * Readies checksums for a store that SQLite is about to open.
 * @param checksums have taken over the log as it lies there
 */
export function saveBeforeOpening(path: string, checksums: PageChecksums): void {
  for (const log of [`${path}-wal`, linkedLogPath(path)]) syncIfThere(log)
  // Those of a store that is gone are not those of the new one.
  if (checksums.pages === 0) checksums.unsave(checksumsPath(path))
  checksums.save(checksumsPath(path))
  rmSync(linkedLogPath(path), { force: true })
}

/** Without it the power could take frames whose checksums stay. */
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

/** When the checksums on disk are brought up to date. */
type Saving = 'before each checkpoint' | 'after the last checkpoint' | 'never again'

/** All checkpoints of an open store: SQLite makes none by itself, except when it closes. */
export class Checkpoints {
  readonly #sql: Sql
  /** Of the store. */
  readonly path: string
  readonly #checksums: PageChecksums
  readonly #pageBytes: number
  readonly #log: number
  #saving: Saving = 'before each checkpoint'
  /** How much of the log the last checkpoint has seen. */
  #seen = LOG_START

  /** @param connection in write-ahead mode, before its first transaction */
  constructor(connection: Connection, path: string, checksums: PageChecksums) {
    this.path = path
    this.#checksums = checksums
    this.#sql = new Sql(connection)
    connection.exec('PRAGMA wal_autocheckpoint = 0')
    // Reading makes SQLite create the log.
    this.#sql.all('SELECT count(*) FROM sqlite_schema')
    this.#pageBytes = this.#sql.number('PRAGMA page_size', 'page_size')
    this.#log = openSync(`${path}-wal`, 'r+')
    try {
      linkSync(`${path}-wal`, linkedLogPath(path))
    } catch {
      // A file system without hard links: only a clean stop leaves checksums.
      this.#saving = 'after the last checkpoint'
      checksums.unsave(checksumsPath(path))
    }
  }

  /**
   * Makes a checkpoint if the log has become long.
   * @throws Error of the system or of SQLite; the log stays as it is, and is tried again when it has grown as much again
   */
  whenLong(): void {
    if (hasGrownBy(this.#log, LOG_FRAMES_MAX, this.#seen, this.#pageBytes)) this.#make()
  }

  /**
   * Brings everything into the store's one file: some builds of SQLite close later than they are told to.
   * @returns whether that worked
   */
  settle(): boolean {
    try {
      return this.#make() && this.#sql.number('PRAGMA wal_checkpoint(TRUNCATE)', 'busy') === 0
    } catch {
      // A disk that fails. The log is read again at the next start.
      return false
    }
  }

  /** @param isSettled whether nothing is left in the log */
  close(isSettled: boolean): void {
    closeSync(this.#log)
    if (!isSettled) return
    try {
      if (this.#saving === 'after the last checkpoint') this.#checksums.save(checksumsPath(this.path))
      rmSync(linkedLogPath(this.path), { force: true })
    } catch {
      // The next start makes checksums anew, or removes the link, which is empty.
    }
  }

  /** @returns whether the store's file has everything now */
  #make(): boolean {
    // What the log holds may not be on disk yet, and its checksums must not be there before it.
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
   * After a sync that failed, and could not be written over, SQLite ignores frames that a reader of the log would take
   * for done. Then the checksums may be of pages that are never written.
   */
  #giveUp(): void {
    this.#saving = 'never again'
    this.#checksums.unsave(checksumsPath(this.path))
    rmSync(linkedLogPath(this.path), { force: true })
  }
}
