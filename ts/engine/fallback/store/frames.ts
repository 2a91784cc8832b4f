/**
 * Frames with checksums, for logs and snapshots.
 *
 * frame = kind u8, length u32 LE, crc32 u32 LE of the payload, crc32 u32 LE of those nine bytes; payload
 *
 * The head has its own checksum: with a damaged length, everything after it would look like an incomplete write.
 */
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { EngineError } from '../../engine-error.js'

export const FRAME_HEAD_BYTES = 13
/** Bytes per read, unless a frame is larger. */
const WINDOW_BYTES = 1024 * 1024

/** A file of ours that is invalid or missing; the message names it. */
export class DamagedFileError extends EngineError {
  constructor(path: string, reason: string) {
    super('index_damaged', `${path} is damaged: ${reason}`)
  }
}

/** Encodes a frame. */
export function frame(kind: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length)
  bytes.writeUInt8(kind, 0)
  bytes.writeUInt32LE(payload.length, 1)
  bytes.writeUInt32LE(crc32(payload), 5)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 9)), 9)
  bytes.set(payload, FRAME_HEAD_BYTES)
  return bytes
}

/** A frame with valid checksums. */
interface Frame {
  readonly kind: number
  readonly payload: Buffer
  /** Offset after the frame. */
  readonly end: number
  /** Checksum of its payload, which distinguishes it from another frame at the same offset. */
  readonly check: number
}

interface FrameHead {
  readonly kind: number
  readonly length: number
  readonly check: number
}

/** A frame with a valid head but an invalid payload. */
interface DamagedFrame {
  readonly kind: number
  /** Offset after the frame. */
  readonly end: number
}

function headOf(bytes: Buffer, at: number): FrameHead | null {
  if (crc32(bytes.subarray(at, at + 9)) !== bytes.readUInt32LE(at + 9)) return null
  return { kind: bytes[at]!, length: bytes.readUInt32LE(at + 1), check: bytes.readUInt32LE(at + 5) }
}

/** Reads a file sequentially, in windows. */
export class FrameReader {
  private readonly file: FileHandle
  readonly size: number
  private window = Buffer.alloc(0)
  /** Offset of the window in the file. */
  private windowAt = 0

  private constructor(file: FileHandle, size: number) {
    this.file = file
    this.size = size
  }

  static async over(file: FileHandle): Promise<FrameReader> {
    return new FrameReader(file, (await file.stat()).size)
  }

  /** Returns `length` bytes from `at`, or fewer at the end of the file. Valid until the next call. */
  async bytes(at: number, length: number): Promise<Buffer> {
    const end = Math.min(at + length, this.size)
    if (at < this.windowAt || end > this.windowAt + this.window.length) {
      this.window = await bytesAt(this.file, at, Math.min(Math.max(length, WINDOW_BYTES), this.size - at))
      this.windowAt = at
    }
    return this.window.subarray(at - this.windowAt, end - this.windowAt)
  }

  /** Returns the frame at `at`; null if there is no valid frame. The caller may keep its payload. */
  async frame(at: number): Promise<Frame | null> {
    if (at + FRAME_HEAD_BYTES > this.size) return null
    const head = headOf(await this.bytes(at, FRAME_HEAD_BYTES), 0)
    if (head === null) return null
    const end = at + FRAME_HEAD_BYTES + head.length
    if (end > this.size) return null
    const payload = await this.bytes(at + FRAME_HEAD_BYTES, head.length)
    return crc32(payload) === head.check ? { kind: head.kind, payload, end, check: head.check } : null
  }

  /** Returns the frame at `at` by its head alone; null if the head is invalid or exceeds the file. */
  async damagedFrame(at: number): Promise<DamagedFrame | null> {
    if (at + FRAME_HEAD_BYTES > this.size) return null
    const head = headOf(await this.bytes(at, FRAME_HEAD_BYTES), 0)
    if (head === null) return null
    const end = at + FRAME_HEAD_BYTES + head.length
    return end > this.size ? null : { kind: head.kind, end }
  }

  /** Offset of the first valid frame of `kinds` at or after `from`; null if there is none. */
  async find(kinds: readonly number[], from: number): Promise<number | null> {
    for (let at = from; at + FRAME_HEAD_BYTES <= this.size; ) {
      const bytes = await this.bytes(at, WINDOW_BYTES)
      const last = bytes.length - FRAME_HEAD_BYTES
      for (let within = 0; within <= last; within++) {
        if (!kinds.includes(bytes[within]!) || headOf(bytes, within) === null) continue
        if ((await this.frame(at + within)) !== null) return at + within
      }
      at += last + 1
    }
    return null
  }
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer<ArrayBuffer>> {
  const bytes = Buffer.allocUnsafe(Math.max(0, length))
  let read = 0
  while (read < bytes.length) {
    const { bytesRead } = await file.read(bytes, read, bytes.length - read, at + read)
    if (bytesRead === 0) throw new Error(`a file became shorter while it was read, at byte ${at + read}`)
    read += bytesRead
  }
  return bytes
}

/** Writes all of `bytes` at `at`. @returns the offset after them */
export async function writeAt(file: FileHandle, bytes: Uint8Array, at: number): Promise<number> {
  let written = 0
  while (written < bytes.length)
    written += (await file.write(bytes, written, bytes.length - written, at + written)).bytesWritten
  return at + bytes.length
}

/** Returns true if a call failed because the file does not exist, and not for another reason. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}
