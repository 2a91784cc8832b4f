/**
 * What does the file of a task store say of itself, before SQLite has touched it?
 *
 * Opening a store with SQLite ends its write-ahead log at the first frame that does not check out, and closing it
 * removes the rest. Whether that may happen is decided from the bytes as they lie there. The page that counts is the
 * first one, which holds the store's version and the number of its last transaction.
 *
 * Source of both formats: https://www.sqlite.org/fileformat2.html
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The header of a store as its write-ahead log leaves it. */
export interface StoreHeader {
  /** `user_version`: 0 in a file that has no tables yet. */
  readonly version: number
  /** `application_id`: number of the last durable transaction. */
  readonly sequence: number
  /** Whether the write-ahead log holds anything that counts. */
  readonly hasLog: boolean
}

const FILE_MAGIC = 'SQLite format 3\0'
const FILE_HEADER_BYTES = 100
const VERSION_AT = 60
const SEQUENCE_AT = 68

/** The magic number of a log ends in 1 if its checksums take numbers as big endian. */
const LOG_MAGIC = 0x377f0682
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/**
 * @param path of the store; its log lies beside it
 * @returns `none` if there is no file or an empty one, `damaged` if it is no file of SQLite
 */
export function readStoreHeader(path: string): StoreHeader | 'none' | 'damaged' {
  const file = openToRead(path)
  if (file === null) return 'none'
  let first: Buffer
  try {
    if (fstatSync(file).size === 0) return 'none'
    first = bytesAt(file, 0, FILE_HEADER_BYTES)
  } finally {
    closeSync(file)
  }
  const log = firstPageInLog(`${path}-wal`)
  const page = log.page ?? first
  if (page.length < FILE_HEADER_BYTES || page.toString('latin1', 0, FILE_MAGIC.length) !== FILE_MAGIC)
    return 'damaged'
  return {
    version: page.readInt32BE(VERSION_AT),
    sequence: page.readInt32BE(SEQUENCE_AT),
    hasLog: log.frames > 0,
  }
}

/** The newest committed first page in a log, and how many frames of it are committed. */
function firstPageInLog(path: string): { readonly page: Buffer | null; readonly frames: number } {
  const file = openToRead(path)
  if (file === null) return { page: null, frames: 0 }
  try {
    return committedIn(file)
  } finally {
    closeSync(file)
  }
}

function committedIn(file: number): { readonly page: Buffer | null; readonly frames: number } {
  const header = bytesAt(file, 0, LOG_HEADER_BYTES)
  const nothing = { page: null, frames: 0 }
  if (header.length < LOG_HEADER_BYTES || (header.readUInt32BE(0) & ~1) !== LOG_MAGIC) return nothing
  const sum = new LogChecksum(header.readUInt32BE(0) % 2 === 1)
  sum.add(header.subarray(0, 24))
  if (!sum.equals(header, 24)) return nothing
  const pageBytes = header.readUInt32BE(8)
  let [found, waiting]: (Buffer | null)[] = [null, null]
  let frames = 0
  for (let number = 1; ; number++) {
    const at = LOG_HEADER_BYTES + (number - 1) * (FRAME_HEADER_BYTES + pageBytes)
    const frame = bytesAt(file, at, FRAME_HEADER_BYTES + pageBytes)
    const isWhole = frame.length === FRAME_HEADER_BYTES + pageBytes
    // Frames behind the newest one are of an earlier round and carry other salts.
    if (!isWhole || frame.compare(header, 16, 24, 8, 16) !== 0) return { page: found ?? null, frames }
    sum.add(frame.subarray(0, 8))
    sum.add(frame.subarray(FRAME_HEADER_BYTES))
    if (!sum.equals(frame, 16)) return { page: found ?? null, frames }
    if (frame.readUInt32BE(0) === 1) waiting = Buffer.from(frame.subarray(FRAME_HEADER_BYTES))
    // Only the last frame of a transaction names the size of the file.
    if (frame.readUInt32BE(4) === 0) continue
    found = waiting
    frames = number
  }
}

/** The running checksum of a log: two numbers of 32 bits over pairs of such numbers. */
class LogChecksum {
  readonly #isBigEndian: boolean
  #first = 0
  #second = 0

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian
  }

  /** @param bytes a multiple of eight */
  add(bytes: Buffer): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let [first, second] = [this.#first, this.#second]
    for (let at = 0; at < bytes.length; at += 8) {
      first = (first + view.getUint32(at, !this.#isBigEndian) + second) >>> 0
      second = (second + view.getUint32(at + 4, !this.#isBigEndian) + first) >>> 0
    }
    this.#first = first
    this.#second = second
  }

  equals(bytes: Buffer, at: number): boolean {
    return bytes.readUInt32BE(at) === this.#first && bytes.readUInt32BE(at + 4) === this.#second
  }
}

function openToRead(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Bytes from `at` on, `length` of them or what the file has. */
function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const more = readSync(file, bytes, read, length - read, at + read)
    if (more === 0) break
    read += more
  }
  return bytes.subarray(0, read)
}
