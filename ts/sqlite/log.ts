/**
 * Reads the write-ahead log of a SQLite database.
 *
 * Reads the bytes without SQLite, by SQLite's rules: a frame is valid if it has the salts of the header, its running
 * checksum matches, and its transaction is complete.
 *
 *     log   = header frame*
 *     frame = page number, pages of the database after this frame (0 within a transaction), salts, checksum, page
 *
 * Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */
import { readSync } from 'node:fs'
import { endianness } from 'node:os'
import { crc32 } from 'node:zlib'

/** The committed part of a log. */
export interface Log {
  readonly frames: number
  readonly pageBytes: number
  /** Pages of the database after the last frame; 0 without frames. */
  readonly pageCount: number
  /** Number of a page in the log → CRC-32 of its newest content. */
  readonly pages: ReadonlyMap<number, number>
  /** Newest content of the first page of the database; null if the log does not contain that page. */
  readonly firstPage: Buffer | null
}

export const EMPTY_LOG: Log = { frames: 0, pageBytes: 0, pageCount: 0, pages: new Map(), firstPage: null }

/** The magic number of a log. Its last bit is 1 if checksums are computed over big-endian numbers. */
const MAGIC = 0x377f0682
const HEADER_BYTES = 32
const SALTS_AT = 16
const SALTS_BYTES = 8
const FRAME_HEADER_BYTES = 24
const FRAME_SALTS_AT = 8
const FRAME_CHECKSUM_AT = 16

/** Frames read at once: 1 MiB of pages of the default size. */
const FRAMES_READ = 256

/** @param file descriptor of the log */
export function readLog(file: number): Log {
  const header = bytesAt(file, 0, HEADER_BYTES)
  if (header.length < HEADER_BYTES || (header.readUInt32BE(0) & ~1) !== MAGIC) return EMPTY_LOG
  const sum = new LogChecksum(header.readUInt32BE(0) % 2 === 1)
  sum.add(header.subarray(0, 24))
  if (!sum.equals(header, 24)) return EMPTY_LOG
  const pageBytes = header.readUInt32BE(8)
  const salts = header.subarray(SALTS_AT, SALTS_AT + SALTS_BYTES)
  const committed = {
    frames: 0,
    pageCount: 0,
    pages: new Map<number, number>(),
    firstPage: null as Buffer | null,
  }
  let transaction: { readonly page: number; readonly checksum: number }[] = []
  let firstPage: Buffer | null = null
  let number = 0
  for (const frame of framesOf(file, FRAME_HEADER_BYTES + pageBytes)) {
    number++
    // SQLite overwrites the log from its start, so older frames with other salts may follow the newest frame.
    if (frame.compare(salts, 0, SALTS_BYTES, FRAME_SALTS_AT, FRAME_CHECKSUM_AT) !== 0) break
    const content = frame.subarray(FRAME_HEADER_BYTES)
    sum.add(frame.subarray(0, FRAME_SALTS_AT))
    sum.add(content)
    const page = frame.readUInt32BE(0)
    if (!sum.equals(frame, FRAME_CHECKSUM_AT) || page === 0) break
    transaction.push({ page, checksum: crc32(content) })
    if (page === 1) firstPage = Buffer.from(content)
    const pageCount = frame.readUInt32BE(4)
    if (pageCount === 0) continue
    for (const { page, checksum } of transaction) committed.pages.set(page, checksum)
    transaction = []
    committed.frames = number
    committed.pageCount = pageCount
    committed.firstPage = firstPage
  }
  return { ...committed, pageBytes }
}

function* framesOf(file: number, frameBytes: number): Generator<Buffer> {
  for (let at = HEADER_BYTES; ; at += FRAMES_READ * frameBytes) {
    const bytes = bytesAt(file, at, FRAMES_READ * frameBytes)
    for (let from = 0; from + frameBytes <= bytes.length; from += frameBytes) {
      yield bytes.subarray(from, from + frameBytes)
    }
    if (bytes.length < FRAMES_READ * frameBytes) return
  }
}

/** A position in a log, valid until SQLite restarts the log with other salts. */
interface LogPosition {
  /** Salts of the log; empty for the start of any log. */
  readonly salts: Buffer
  readonly frames: number
}

export const LOG_START: LogPosition = { salts: Buffer.alloc(0), frames: 0 }

/** The position after `frames` frames. */
export const positionIn = (file: number, frames: number): LogPosition => ({ salts: saltsOf(file), frames })

/**
 * Returns true if a log has at least `frames` frames after a position. Takes two short reads. Also counts the frames
 * of an incomplete transaction.
 */
export function hasGrownBy(file: number, frames: number, position: LogPosition, pageBytes: number): boolean {
  const salts = saltsOf(file)
  const known = salts.equals(position.salts) ? position.frames : 0
  const at = HEADER_BYTES + (known + frames - 1) * (FRAME_HEADER_BYTES + pageBytes)
  return salts.length > 0 && bytesAt(file, at + FRAME_SALTS_AT, SALTS_BYTES).equals(salts)
}

const saltsOf = (file: number): Buffer => bytesAt(file, SALTS_AT, SALTS_BYTES)

/** The running checksum of a log: two sums of 32 bits over pairs of 32-bit numbers. */
class LogChecksum {
  readonly #isBigEndian: boolean
  #first = 0
  #second = 0

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian
  }

  /** @param bytes a multiple of eight */
  add(bytes: Buffer): void {
    const numbers = this.#numbers(bytes)
    let [first, second] = [this.#first, this.#second]
    for (let at = 0; at < numbers.length; at += 2) {
      first = (first + (numbers[at] ?? 0) + second) | 0
      second = (second + (numbers[at + 1] ?? 0) + first) | 0
    }
    this.#first = first
    this.#second = second
  }

  equals(bytes: Buffer, at: number): boolean {
    return bytes.readInt32BE(at) === this.#first && bytes.readInt32BE(at + 4) === this.#second
  }

  #numbers(bytes: Buffer): Int32Array {
    const isNative = this.#isBigEndian === (endianness() === 'BE')
    if (isNative && bytes.byteOffset % 4 === 0) {
      return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    }
    const copy = Buffer.alloc(bytes.length)
    bytes.copy(copy)
    if (!isNative) copy.swap32()
    return new Int32Array(copy.buffer, copy.byteOffset, copy.length / 4)
  }
}

/** Reads `length` bytes from `at`, or fewer at the end of the file. */
export function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const more = readSync(file, bytes, read, length - read, at + read)
    if (more === 0) break
    read += more
  }
  return bytes.subarray(0, read)
}
