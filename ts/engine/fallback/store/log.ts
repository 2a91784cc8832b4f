/**
 * The append-only commit log of an index.
 *
 * log    = header frame*                   frame: see `frames.ts`
 * header = "SIFTLOG2"
 * kind   = 1 documents: (docid u32 LE, id length u16 LE, source length u32 LE, id, source)*
 * | 2 commit: JSON, see `CommitRecord`; commits the frames since the last commit frame
 * | 3 vectors: see `vector/log.ts`
 *
 * A commit frame is written to disk after the frames that it commits. So an invalid frame without a later commit is an
 * unfinished commit, and is truncated before the next append; with a later commit, it is damage and an error.
 *
 * A commit whose sync failed may still be in the log. It is truncated before anything else is appended. If the process
 * ends first, only the caller knows that the commit was reported as failed: see `undo`.
 */
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { IndexSettings } from '../../../settings/index.js'
import type { BatchReport } from '../../batches.js'
import { EngineError } from '../../engine-error.js'
import { syncDirectory } from '../../sync-directory.js'
import type { DictionaryIds } from '../analysis/words/index.js'
import { DamagedFileError, FrameReader, frame, isMissing, writeAt } from './frames.js'

export const HEADER = Buffer.from('SIFTLOG2')
/** Frame kinds. */
export const DOCUMENTS = 1
export const COMMIT = 2
export const VECTORS = 3
const FRAME_BYTES = 4 * 1024 * 1024

/** A document as written by a commit. */
export interface LoggedDocument {
  readonly docid: number
  readonly id: string
  readonly source: Uint8Array
}

/** A commit without its documents. */
export interface CommitRecord {
  readonly report: BatchReport
  readonly primaryKey: string | null
  /** Set only if they changed. */
  readonly settings?: IndexSettings
  /** True if all documents were cut into words again. Absent: false. */
  readonly reanalyses?: true
  /** Set if any cut the texts. */
  readonly dictionaries?: DictionaryIds
  /** True if all documents from before this commit are removed. */
  readonly cleared: boolean
  readonly deleted: readonly number[]
  /** Embedders whose vectors from before this commit are removed. */
  readonly dropped?: readonly string[]
}

export interface Commit {
  readonly record: CommitRecord
  readonly documents: Iterable<LoggedDocument>
  /** Payloads of vector frames. */
  readonly vectors: Iterable<Buffer>
}

/** Position of a commit in a log. The two values together identify the commit. */
export interface LogPosition {
  /** Offset after the commit. */
  readonly end: number
  /** Checksum of its commit frame. */
  readonly check: number
}

/** The newest commit of a log. */
interface LogEnd extends LogPosition {
  /** Offset of its commit frame. */
  readonly frameAt: number
}

/** End of a log without commits. */
const START: LogEnd = { end: HEADER.length, check: 0, frameAt: 0 }

/** A log does not have a commit: it was rewritten, or the commit is older than the first read. */
export class MissingCommitError extends Error {
  override readonly name = 'MissingCommitError'
}

/** Receives every commit of a log, oldest first. */
export type Replay = (commit: Commit, position: LogPosition) => void | Promise<void>

function* documentFrames(documents: Iterable<LoggedDocument>): Generator<Buffer> {
  let parts: Buffer[] = []
  let size = 0
  for (const { docid, id, source } of documents) {
    const idBytes = Buffer.from(id)
    const head = Buffer.alloc(10)
    head.writeUInt32LE(docid, 0)
    head.writeUInt16LE(idBytes.length, 4)
    head.writeUInt32LE(source.length, 6)
    parts.push(head, idBytes, Buffer.from(source.buffer, source.byteOffset, source.byteLength))
    size += head.length + idBytes.length + source.length
    if (size >= FRAME_BYTES) {
      yield frame(DOCUMENTS, Buffer.concat(parts))
      parts = []
      size = 0
    }
  }
  if (size > 0) yield frame(DOCUMENTS, Buffer.concat(parts))
}

function* documentsIn(payload: Buffer): Generator<LoggedDocument> {
  for (let at = 0; at < payload.length; ) {
    const docid = payload.readUInt32LE(at)
    const idEnd = at + 10 + payload.readUInt16LE(at + 4)
    const end = idEnd + payload.readUInt32LE(at + 6)
    yield { docid, id: payload.toString('utf8', at + 10, idEnd), source: payload.subarray(idEnd, end) }
    at = end
  }
}

/** An open log. One per index, used by one commit at a time. */
export class CommitLog {
  private readonly file: FileHandle
  private last: LogEnd
  /** Number of users of the file: it is closed after the last. */
  private users = 1
  /** True if a failed commit may follow the last commit. */
  private needsTruncation = false
  /** True if the log was renamed, but the new name might not survive a power failure. */
  private needsDirectorySync = false
  readonly path: string

  private constructor(path: string, file: FileHandle, last: LogEnd) {
    this.path = path
    this.file = file
    this.last = last
  }

  /**
   * Opens or creates a log and passes every commit in it to `replay`, oldest first.
   * @throws DamagedFileError if anything before the last commit is invalid
   */
  static async open(path: string, replay: Replay): Promise<CommitLog> {
    const file = await open(path, (await exists(path)) ? 'r+' : 'w+')
    try {
      const { size } = await file.stat()
      if (size < HEADER.length) {
        await file.truncate(0)
        await file.write(HEADER, 0, HEADER.length, 0)
        await file.sync()
        await syncDirectory(dirname(path))
        return new CommitLog(path, file, START)
      }
      const last = await readCommits(path, file, replay)
      // The process that created it may have ended before its name was synced.
      if (last.end === HEADER.length) await syncDirectory(dirname(path))
      const log = new CommitLog(path, file, last)
      // Not truncated yet: first the caller must confirm that no commit is missing.
      log.needsTruncation = last.end < size
      return log
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /**
   * Opens a log that is written elsewhere, read-only, and passes every commit in it to `replay`, oldest first.
   * @param until last commit to read; absent: the newest
   * @throws DamagedFileError if the log is missing, or anything before the last commit is invalid
   * @throws MissingCommitError if the log does not have the commit `until`
   */
  static async follow(path: string, replay: Replay, until?: LogPosition): Promise<CommitLog> {
    return CommitLog.read(path, async (file) => readCommits(path, file, replay, { until }))
  }

  /**
   * Opens the current log at the path of this log, read-only. Commits that this log does not have are replayed.
   * @param replayOf takes true if the new log starts with all commits of this log, which are then not replayed
   * @param until last commit to read; absent: the newest
   * @throws DamagedFileError if the log is missing, or anything before the last commit is invalid
   * @throws MissingCommitError if the log does not have the commit `until`
   */
  async successor(replayOf: (isContinued: boolean) => Replay, until?: LogPosition): Promise<CommitLog> {
    return CommitLog.read(this.path, async (file) => {
      const isContinued = await this.isPrefixOf(file)
      const from = isContinued ? this.last : START
      return readCommits(this.path, file, replayOf(isContinued), { from, until })
    })
  }

  private static async read(path: string, end: (file: FileHandle) => Promise<LogEnd>): Promise<CommitLog> {
    const file = await open(path, 'r').catch((error: unknown) => {
      throw isMissing(error) ? new DamagedFileError(path, 'there is no such file') : error
    })
    try {
      return new CommitLog(path, file, await end(file))
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Returns true if a file has the newest commit of this log at the same position. */
  private async isPrefixOf(file: FileHandle): Promise<boolean> {
    const { end, check, frameAt } = this.last
    if (end === START.end) return true
    const found = await (await FrameReader.over(file)).frame(frameAt)
    return found?.kind === COMMIT && found.end === end && found.check === check
  }

  /** Bytes of the log. */
  get bytes(): number {
    return this.last.end
  }

  /** Position of the newest commit. */
  get position(): LogPosition {
    const { end, check } = this.last
    return { end, check }
  }

  /** Returns the file with all current commits. It stays open until the caller closes this log too. */
  hold(): { readonly handle: FileHandle; readonly bytes: number } {
    this.users += 1
    return { handle: this.file, bytes: this.last.end }
  }

  /**
   * Reverts the newest commits of a log that is not open, as long as `isVoid` returns true for them. Resolves once they
   * are permanently removed.
   * @throws DamagedFileError
   */
  static async undo(path: string, isVoid: (record: CommitRecord) => boolean): Promise<void> {
    const file = await open(path, 'r+')
    try {
      let end = HEADER.length
      await readCommits(path, file, ({ record }, position) => {
        if (!isVoid(record)) end = position.end
      })
      await file.truncate(end)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /**
   * Appends a commit; resolves once it is on disk. If it rejects, the commit did not happen, unless the process ends
   * before the commit could be truncated.
   */
  async append({ record, documents, vectors }: Commit): Promise<void> {
    if (this.needsDirectorySync) {
      await syncDirectory(dirname(this.path)).catch(rethrowDiskFault)
      this.needsDirectorySync = false
    }
    if (this.needsTruncation) await this.truncateTail().catch(rethrowDiskFault)
    const start = this.last.end
    let at = start
    try {
      for (const part of documentFrames(documents)) at = await writeAt(this.file, part, at)
      for (const payload of vectors) at = await writeAt(this.file, frame(VECTORS, payload), at)
      // The commit frame must not reach the disk before its documents: it would commit a torn frame.
      if (at > start) await this.file.datasync()
      const bytes = frame(COMMIT, Buffer.from(JSON.stringify(record)))
      const frameAt = at
      at = await writeAt(this.file, bytes, at)
      await this.file.datasync()
      this.last = { end: at, check: bytes.readUInt32LE(5), frameAt }
    } catch (error) {
      this.needsTruncation = true
      // If truncating fails now, it is retried before the next commit. The commit fails with its own error.
      await this.truncateTail().catch(() => undefined)
      rethrowDiskFault(error)
    }
  }

  /** Permanently removes the bytes after the last commit. */
  async truncateTail(): Promise<void> {
    await this.file.truncate(this.last.end)
    await this.file.sync()
    this.needsTruncation = false
  }

  /**
   * Replaces this log by a log that only holds `commit`. This log is closed, unless the call rejects.
   * @param onUnsynced receives the directory if its sync fails; the new log is used anyway
   */
  async rewritten(
    commit: Commit,
    onUnsynced: (directory: string, error: unknown) => void,
  ): Promise<CommitLog> {
    const temporary = `${this.path}.new`
    await rm(temporary, { force: true })
    const log = await CommitLog.open(temporary, () => undefined)
    try {
      await log.append(commit)
      await rename(temporary, this.path)
    } catch (error) {
      await log.close()
      await rm(temporary, { force: true })
      throw error
    }
    const renamed = new CommitLog(this.path, log.file, log.last)
    // Either log has all commits so far. The next commit must be in the log that survives a power failure.
    renamed.needsDirectorySync = true
    const directory = dirname(this.path)
    try {
      await syncDirectory(directory)
      renamed.needsDirectorySync = false
    } catch (error) {
      // The next commit syncs the directory before it writes anything.
      onUnsynced(directory, error)
    }
    await this.close()
    return renamed
  }

  async close(): Promise<void> {
    this.users -= 1
    if (this.users === 0) await this.file.close()
  }
}

/** Converts disk faults to errors that the operator can act on; rethrows all others. */
function rethrowDiskFault(error: unknown): never {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOSPC':
    case 'EDQUOT':
      throw new EngineError(
        'no_space_left_on_device',
        `there is no space left on the disk: ${messageOf(error)}`,
      )
    case 'EIO':
      throw new EngineError('io_error', `the disk failed and may be damaged: ${messageOf(error)}`)
    default:
      throw error
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Reads a log without opening it for writing. @throws DamagedFileError */
export async function readLog(path: string, replay: Replay): Promise<void> {
  const file = await open(path, 'r')
  try {
    await readCommits(path, file, replay)
  } finally {
    await file.close()
  }
}

/** Commits to read: those after `from`, up to `until`. Absent: from the first to the newest. */
interface Extent {
  readonly from?: LogEnd | undefined
  readonly until?: LogPosition | undefined
}

/** @returns the last commit that was read */
async function readCommits(
  path: string,
  file: FileHandle,
  replay: Replay,
  { from = START, until }: Extent = {},
): Promise<LogEnd> {
  const reader = await FrameReader.over(file)
  if (!(await reader.bytes(0, HEADER.length)).equals(HEADER))
    throw new DamagedFileError(path, 'it does not start with the header of a log')
  let last = from
  let pending: Buffer[] = []
  let vectors: Buffer[] = []
  for (let at = from.end; ; ) {
    if (until !== undefined && at >= until.end) {
      if (last.end === until.end && last.check === until.check) return last
      throw new MissingCommitError(`${path} has no commit that ends at byte ${until.end}`)
    }
    const found = await reader.frame(at)
    if (found === null) {
      if (until !== undefined) throw new MissingCommitError(`${path} ends before byte ${until.end}`)
      const later = await reader.find([COMMIT], at + 1)
      if (later === null) return last
      throw new DamagedFileError(path, `the frame at byte ${at} does not match its checksum`)
    }
    const frameAt = at
    at = found.end
    if (found.kind === DOCUMENTS) pending.push(found.payload)
    else if (found.kind === VECTORS) vectors.push(found.payload)
    else if (found.kind === COMMIT) {
      last = { end: at, check: found.check, frameAt }
      const record = JSON.parse(found.payload.toString()) as CommitRecord
      await replay(
        { record, documents: documentsOfFrames(pending), vectors },
        { end: at, check: found.check },
      )
      pending = []
      vectors = []
    } else throw new DamagedFileError(path, `the frame before byte ${at} is of an unknown kind`)
  }
}

export function* documentsOfFrames(frames: readonly Buffer[]): Generator<LoggedDocument> {
  for (const payload of frames) yield* documentsIn(payload)
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    // An unreadable log must not be opened as a new log, which would empty it.
    if (isMissing(error)) return false
    throw error
  }
}
