/**
 * Which version and which transaction does a task store have, read before SQLite opens it?
 *
 * SQLite ends the write-ahead log of a store that it opens at the first damaged frame, and removes the rest when it
 * closes. So whether a store may be opened is decided from its bytes. Its first page, in the log or else in the file,
 * holds its version and the number of its last transaction.
 *
 * Source: https://www.sqlite.org/fileformat2.html#the_database_header
 */
import { closeSync, openSync } from 'node:fs'
import { reasonOf } from '../../engine/index.js'
import { bytesAt, EMPTY_LOG, type Log, readLog } from './log.js'

/** The header of a store, from its log if the log holds the first page. */
export interface StoreHeader {
  /** `user_version`: 0 in a file that has no tables yet. */
  readonly version: number
  /** `application_id`: number of the last durable transaction. */
  readonly sequence: number
  readonly pageBytes: number
  /** A log without frames if there is no file. */
  readonly log: Log
}

const FILE_MAGIC = 'SQLite format 3\0'
const FILE_HEADER_BYTES = 100
const PAGE_BYTES_AT = 16
const READ_VERSION_AT = 19
const READ_VERSION_MAX = 2
const FRACTIONS_AT = 21
const VERSION_AT = 60
const SEQUENCE_AT = 68

/**
 * @param path of the store; its log lies beside it
 * @returns `none` if there is no file or an empty one, `damaged` if SQLite would not take it for a file of its own
 * @throws Error of the system if it cannot be read
 */
export function readStoreHeader(path: string): StoreHeader | 'none' | 'damaged' {
  const first = read(path, (file) => bytesAt(file, 0, FILE_HEADER_BYTES))
  if (first === null || first.length === 0) return 'none'
  const log = readLogAt(`${path}-wal`)
  const page = log.firstPage ?? first
  if (!isHeader(page)) return 'damaged'
  return {
    version: page.readInt32BE(VERSION_AT),
    sequence: page.readInt32BE(SEQUENCE_AT),
    pageBytes: pageBytesOf(page),
    log,
  }
}

/**
 * Whether SQLite reports a file as no database because it failed to read the header, which is valid.
 * @param error of SQLite
 * @throws Error of the system if the header cannot be read here either
 */
export function isMisread(path: string, error: unknown): boolean {
  if (!/not a database/i.test(reasonOf(error))) return false
  const first = read(path, (file) => bytesAt(file, 0, FILE_HEADER_BYTES))
  return first !== null && isHeader(first)
}

/** The log at a path; one without frames if there is no file. */
export const readLogAt = (path: string): Log => read(path, readLog) ?? EMPTY_LOG

/** Whether SQLite accepts a page as the first one of a database. */
function isHeader(page: Buffer): boolean {
  if (page.length < FILE_HEADER_BYTES || page.toString('latin1', 0, FILE_MAGIC.length) !== FILE_MAGIC)
    return false
  const bytes = pageBytesOf(page)
  const isPageSize = bytes >= 512 && (bytes & (bytes - 1)) === 0
  // Fractions of a page that a cell may fill, which are the same in every file.
  const fractions = page.toString('latin1', FRACTIONS_AT, FRACTIONS_AT + 3)
  return isPageSize && page.readUInt8(READ_VERSION_AT) <= READ_VERSION_MAX && fractions === '\x40\x20\x20'
}

/** The largest size does not fit into two bytes and is written as 1. */
function pageBytesOf(page: Buffer): number {
  const bytes = page.readUInt16BE(PAGE_BYTES_AT)
  return bytes === 1 ? 65_536 : bytes
}

/** null without a file. */
function read<T>(path: string, of: (file: number) => T): T | null {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    return of(file)
  } finally {
    closeSync(file)
  }
}
