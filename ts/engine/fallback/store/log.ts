/**
 * Here is a commit: will it survive a crash? An append-only log, one per index.
 *
 *     log    = header frame*
 *     header = "SIFTLOG1"
 *     frame  = kind u8, length u32 LE, crc32 u32 LE of kind, length and payload; payload
 *     kind   = 1 documents: (docid u32 LE, id length u16 LE, source length u32 LE, id, source)*
 *            | 2 commit: JSON, see `CommitRecord`; makes itself and the frames since the last commit count
 *            | 3 vectors: see `vector/frames.ts`
 *
 * A tail without a commit frame, or one that was cut while writing, is a commit that never happened: it is
 * cut off on opening. A frame that does not check out before that is damage, and an error.
 */
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import type { IndexSettings } from '../../../settings/index.js'
import type { BatchReport } from '../../engine.js'

const HEADER = Buffer.from('SIFTLOG1')
const FRAME_HEAD = 9
const DOCUMENTS = 1
const COMMIT = 2
const VECTORS = 3
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

/** A log that cannot be read; `path` says which. */
export class DamagedLogError extends Error {
  readonly path: string
  constructor(path: string, reason: string) {
    super(`${path} is damaged: ${reason}`)
    this.path = path
  }
}

function frame(kind: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(FRAME_HEAD)
  head.writeUInt8(kind, 0)
  head.writeUInt32LE(payload.length, 1)
  head.writeUInt32LE(checksum(head, payload), 5)
  return Buffer.concat([head, payload])
}

const checksum = (head: Uint8Array, payload: Uint8Array): number => crc32(payload, crc32(head.subarray(0, 5)))

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
  private end: number
  readonly path: string

  private constructor(path: string, file: FileHandle, end: number) {
    this.path = path
    this.file = file
    this.end = end
  }

  /**
   * Opens or creates a log and hands every commit in it to `replay`, oldest first.
   * @throws DamagedLogError if anything before the last commit does not check out
   */
  static async open(path: string, replay: (commit: Commit) => void | Promise<void>): Promise<CommitLog> {
    const file = await open(path, (await exists(path)) ? 'r+' : 'w+')
    try {
      const { size } = await file.stat()
      if (size < HEADER.length) {
        await file.truncate(0)
        await file.write(HEADER, 0, HEADER.length, 0)
        await file.sync()
        await syncDirectory(dirname(path))
        return new CommitLog(path, file, HEADER.length)
      }
      const end = await readCommits(path, file, size, replay)
      if (end < size) {
        await file.truncate(end)
        await file.sync()
      }
      return new CommitLog(path, file, end)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Bytes of the log. */
  get bytes(): number {
    return this.end
  }

  /** Appends a commit; resolves once it is on disk. If it rejects, the commit did not happen. */
  async append({ record, documents, vectors }: Commit): Promise<void> {
    let at = this.end
    try {
      for (const part of documentFrames(documents)) at = await this.write(part, at)
      for (const payload of vectors) at = await this.write(frame(VECTORS, payload), at)
      // A commit frame must never reach the disk before its documents: it would vouch for a torn frame.
      if (at > this.end) await this.file.datasync()
      at = await this.write(frame(COMMIT, Buffer.from(JSON.stringify(record))), at)
      await this.file.datasync()
      this.end = at
    } catch (error) {
      await this.file.truncate(this.end)
      throw error
    }
  }

  private async write(bytes: Buffer, at: number): Promise<number> {
    let written = 0
    while (written < bytes.length)
      written += (await this.file.write(bytes, written, bytes.length - written, at + written)).bytesWritten
    return at + bytes.length
  }

  /** A log in place of this one that holds `commit` alone. This one is closed. */
  async rewritten(commit: Commit): Promise<CommitLog> {
    const temporary = `${this.path}.new`
    await rm(temporary, { force: true })
    const log = await CommitLog.open(temporary, () => undefined)
    try {
      await log.append(commit)
      await rename(temporary, this.path)
      await syncDirectory(dirname(this.path))
    } catch (error) {
      await log.close()
      throw error
    }
    await this.file.close()
    return new CommitLog(this.path, log.file, log.end)
  }

  async close(): Promise<void> {
    await this.file.close()
  }
}

/** Reads a log without opening it for writing. @returns bytes that count */
export async function readLog(
  path: string,
  replay: (commit: Commit) => void | Promise<void>,
): Promise<number> {
  const file = await open(path, 'r')
  try {
    return await readCommits(path, file, (await file.stat()).size, replay)
  } finally {
    await file.close()
  }
}

/** @returns offset past the last commit */
async function readCommits(
  path: string,
  file: FileHandle,
  size: number,
  replay: (commit: Commit) => void | Promise<void>,
): Promise<number> {
  const header = await bytesAt(file, 0, HEADER.length)
  if (!header.equals(HEADER)) throw new DamagedLogError(path, 'it does not begin as a log')
  let at = HEADER.length
  let committed = at
  let pending: Buffer[] = []
  let vectors: Buffer[] = []
  while (at + FRAME_HEAD <= size) {
    const head = await bytesAt(file, at, FRAME_HEAD)
    const length = head.readUInt32LE(1)
    const end = at + FRAME_HEAD + length
    if (end > size) break
    const payload = await bytesAt(file, at + FRAME_HEAD, length)
    if (checksum(head, payload) !== head.readUInt32LE(5)) {
      // Only the last write can have been cut short; anything behind this frame says that it was whole once.
      if (end === size || (await onlyZeros(file, end, size))) break
      throw new DamagedLogError(path, `the frame at byte ${at} does not match its checksum`)
    }
    at = end
    if (head[0] === DOCUMENTS) pending.push(payload)
    else if (head[0] === VECTORS) vectors.push(payload)
    else if (head[0] === COMMIT) {
      const record = JSON.parse(payload.toString()) as CommitRecord
      const frames = pending
      await replay({
        record,
        vectors,
        documents: (function* () {
          for (const documents of frames) yield* documentsIn(documents)
        })(),
      })
      pending = []
      vectors = []
      committed = at
    } else throw new DamagedLogError(path, `the frame at byte ${at - length} is of an unknown kind`)
  }
  return committed
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, at + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return bytes
}

async function onlyZeros(file: FileHandle, from: number, to: number): Promise<boolean> {
  for (let at = from; at < to; at += FRAME_BYTES) {
    const bytes = await bytesAt(file, at, Math.min(FRAME_BYTES, to - at))
    if (bytes.some((byte) => byte !== 0)) return false
  }
  return true
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch {
    return false
  }
}

/** Makes a new or renamed entry of a directory durable; a no-op where directories cannot be opened. */
export async function syncDirectory(path: string): Promise<void> {
  let directory: FileHandle
  try {
    directory = await open(path, 'r')
  } catch {
    return
  }
  try {
    await directory.sync()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  } finally {
    await directory.close()
  }
}
