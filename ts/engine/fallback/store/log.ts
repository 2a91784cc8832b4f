/**
 * Here is a commit: will it survive a crash? An append-only log, one per index.
 *
 *     log    = header frame*                   frame: see `frames.ts`
 *     header = "SIFTLOG2"
 *     kind   = 1 documents: (docid u32 LE, id length u16 LE, source length u32 LE, id, source)*
 *            | 2 commit: JSON, see `CommitRecord`; makes itself and the frames since the last commit count
 *            | 3 vectors: see `vector/frames.ts`
 *
 * A commit frame reaches the disk after the frames it vouches for. So whatever does not check out and has no
 * commit behind it is a commit that never happened, and is cut off before the next one is appended; with one behind
 * it, it is damage, and an error.
 *
 * A commit whose sync failed may be in the log all the same. It is cut off before anything else is appended; if
 * the process ends before that works, only the caller knows that the commit was told as failed: see `undo`.
 */
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { IndexSettings } from '../../../settings/index.js'
import type { BatchReport } from '../../engine.js'
import { EngineError } from '../../engine-error.js'
import { DamagedFileError, FrameReader, frame, isMissing, syncDirectory, writeAt } from './frames.js'

export const HEADER = Buffer.from('SIFTLOG2')
/** Kinds of frames. */
export const DOCUMENTS = 1
export const COMMIT = 2
export const VECTORS = 3
const FRAME_BYTES = 4 * 1024 * 1024

/** A document as a commit writes it. */
export interface LoggedDocument {
  readonly docid: number
  readonly id: string
  readonly source: Uint8Array
}

/** What a commit says beside its documents. */
export interface CommitRecord {
  readonly report: BatchReport
  readonly primaryKey: string | null
  /** Only if they changed. */
  readonly settings?: IndexSettings
  /** All documents before this commit are gone. */
  readonly cleared: boolean
  readonly deleted: readonly number[]
  /** Embedders whose vectors from before this commit are gone. */
  readonly dropped?: readonly string[]
}

export interface Commit {
  readonly record: CommitRecord
  readonly documents: Iterable<LoggedDocument>
  /** Payloads of vector frames. */
  readonly vectors: Iterable<Buffer>
}

/** A commit's place in a log; another commit never has both of these. */
export interface LogPosition {
  /** Offset past the commit. */
  readonly end: number
  /** Checksum of its commit frame. */
  readonly check: number
}

/** The newest commit of a log. */
interface LogEnd extends LogPosition {
  /** Offset of its commit frame. */
  readonly frameAt: number
}

/** The end of a log without commits. */
const START: LogEnd = { end: HEADER.length, check: 0, frameAt: 0 }

/** Gets every commit of a log, oldest first. */
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

/** The writer's end of a log. One per index, used by one commit at a time. */
export class CommitLog {
  private readonly file: FileHandle
  private last: LogEnd
  /** Who may read the file: it is closed after the last of them. */
  private holders = 1
  /** A failed commit may lie behind the last one. */
  private isUncut = false
  /** The log has got its name, which might not survive a power cut. */
  private isUnnamed = false
  readonly path: string

  private constructor(path: string, file: FileHandle, last: LogEnd) {
    this.path = path
    this.file = file
    this.last = last
  }

  /**
   * Opens or creates a log and hands every commit in it to `replay`, oldest first.
   * @throws DamagedFileError if anything before the last commit does not check out
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
      // The process that made it may have ended before its name was synced.
      if (last.end === HEADER.length) await syncDirectory(dirname(path))
      const log = new CommitLog(path, file, last)
      // Not cut off yet: it is a commit that never happened only if the caller misses none.
      log.isUncut = last.end < size
      return log
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /**
   * Opens a log that another process writes, and hands every commit in it to `replay`, oldest first. It is for reading alone.
   * @throws DamagedFileError if there is none, or anything before the last commit does not check out
   */
  static async follow(path: string, replay: Replay): Promise<CommitLog> {
    return CommitLog.read(path, async (file) => readCommits(path, file, replay))
  }

  /**
   * The log that lies at the path of this one now, for reading alone. Commits that this one does not have go to a replay.
   * @param replayOf told whether it begins with all commits of this one, which are not replayed then
   * @throws DamagedFileError if there is none, or anything before the last commit does not check out
   */
  async successor(replayOf: (isContinued: boolean) => Replay): Promise<CommitLog> {
    return CommitLog.read(this.path, async (file) => {
      const isContinued = await this.isBeginningOf(file)
      return readCommits(this.path, file, replayOf(isContinued), isContinued ? this.last : START)
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

  /** Whether a file has the newest commit of this log, at the same place. */
  private async isBeginningOf(file: FileHandle): Promise<boolean> {
    const { end, check, frameAt } = this.last
    if (end === START.end) return true
    const found = await (await FrameReader.over(file)).frame(frameAt)
    return found?.kind === COMMIT && found.end === end && found.check === check
  }

  /** Bytes of the log. */
  get bytes(): number {
    return this.last.end
  }

  /** Where the newest commit is. */
  get position(): LogPosition {
    const { end, check } = this.last
    return { end, check }
  }

  /** The file with all commits so far, which stays open until the caller closes this log too. */
  hold(): { readonly handle: FileHandle; readonly bytes: number } {
    this.holders += 1
    return { handle: this.file, bytes: this.last.end }
  }

  /**
   * Takes back the newest commits of a log that is not open, as long as `isVoid` holds for them; resolves once they
   * are gone for good.
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
   * Appends a commit; resolves once it is on disk. If it rejects, the commit did not happen, and does not unless the
   * process ends before it could be cut off.
   */
  async append({ record, documents, vectors }: Commit): Promise<void> {
    if (this.isUnnamed) {
      await syncDirectory(dirname(this.path)).catch(rethrowDiskFault)
      this.isUnnamed = false
    }
    if (this.isUncut) await this.cut().catch(rethrowDiskFault)
    const start = this.last.end
    let at = start
    try {
      for (const part of documentFrames(documents)) at = await writeAt(this.file, part, at)
      for (const payload of vectors) at = await writeAt(this.file, frame(VECTORS, payload), at)
      // A commit frame must never reach the disk before its documents: it would vouch for a torn frame.
      if (at > start) await this.file.datasync()
      const bytes = frame(COMMIT, Buffer.from(JSON.stringify(record)))
      const frameAt = at
      at = await writeAt(this.file, bytes, at)
      await this.file.datasync()
      this.last = { end: at, check: bytes.readUInt32LE(5), frameAt }
    } catch (error) {
      this.isUncut = true
      // What cannot be cut off now is cut off before the next commit; the commit fails by its own error.
      await this.cut().catch(() => undefined)
      rethrowDiskFault(error)
    }
  }

  /** Removes the bytes behind the last commit, for good. */
  async cut(): Promise<void> {
    await this.file.truncate(this.last.end)
    await this.file.sync()
    this.isUncut = false
  }

  /**
   * A log in place of this one that holds `commit` alone. This one is closed, unless it rejects.
   * @param onUnsynced gets the directory whose sync failed, after which the new log stands all the same
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
    // Either log has all commits so far. The next one has to be in the one that a power cut leaves.
    renamed.isUnnamed = true
    const directory = dirname(this.path)
    try {
      await syncDirectory(directory)
      renamed.isUnnamed = false
    } catch (error) {
      // The next commit syncs the directory before it writes anything.
      onUnsynced(directory, error)
    }
    await this.close()
    return renamed
  }

  async close(): Promise<void> {
    this.holders -= 1
    if (this.holders === 0) await this.file.close()
  }
}

/** Faults of the disk as mistakes the operator can act on, the rest as it is. */
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

/** @param from the commit after which reading begins @returns the last commit */
async function readCommits(
  path: string,
  file: FileHandle,
  replay: Replay,
  from: LogEnd = START,
): Promise<LogEnd> {
  const reader = await FrameReader.over(file)
  if (!(await reader.bytes(0, HEADER.length)).equals(HEADER))
    throw new DamagedFileError(path, 'it does not begin as a log')
  let last = from
  let pending: Buffer[] = []
  let vectors: Buffer[] = []
  for (let at = from.end; ; ) {
    const found = await reader.frame(at)
    if (found === null) {
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

/** The documents in the payloads of their frames. */
export function* documentsOfFrames(frames: readonly Buffer[]): Generator<LoggedDocument> {
  for (const payload of frames) yield* documentsIn(payload)
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    // A log that is there but cannot be looked at must not be opened as a new one, which empties it.
    if (isMissing(error)) return false
    throw error
  }
}
