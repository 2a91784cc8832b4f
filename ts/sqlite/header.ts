/**
 * Reads the version and the last transaction of a task store before SQLite opens it.
 *
 * When SQLite opens a store, it ends the log at the first damaged frame and removes the rest at close. So the store is
 * judged by its bytes first. Its first page, in the log or else in the file, has its version and the number of its last
 * transaction.
 *
 * Source: https://www.sqlite.org/fileformat2.html#the_database_header
 */
import { closeSync, openSync } from 'node:fs'
import { bytesAt, EMPTY_LOG, type Log, readLog } from './log.js'

/** The header of a store, from its log if the log has the first page. */
export interface StoreHeader {
  /** `user_version`; 0 if the file has no tables yet. */
  readonly version: number
  /** `application_id`: number of the last durable transaction. */
  readonly sequence: number
  readonly pageBytes: number
  /** Without frames if the log file is missing. */
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
 * @param path of the store; its log is next to it
 * @returns `none` if the file is missing or empty, `damaged` if SQLite would not accept it as a database
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
 * Returns true if SQLite reports "not a database" for a valid header because it failed to read it.
 * @param error of SQLite
 * @throws Error of the system if the header cannot be read here either
 */
export function isMisread(path: string, error: unknown): boolean {
  if (!/not a database/i.test(error instanceof Error ? error.message : String(error))) return false
  const first = read(path, (file) => bytesAt(file, 0, FILE_HEADER_BYTES))
  return first !== null && isHeader(first)
}

/** Reads the log at a path; without frames if the file is missing. */
export const readLogAt = (path: string): Log => read(path, readLog) ?? EMPTY_LOG

/** Returns true if SQLite accepts a page as the first page of a database. */
function isHeader(page: Buffer): boolean {
  if (page.length < FILE_HEADER_BYTES || page.toString('latin1', 0, FILE_MAGIC.length) !== FILE_MAGIC)
    return false
  const bytes = pageBytesOf(page)
  const isPageSize = bytes >= 512 && (bytes & (bytes - 1)) === 0
  // Fractions of a page that a cell may fill. They are the same in every file.
  const fractions = page.toString('latin1', FRACTIONS_AT, FRACTIONS_AT + 3)
  return isPageSize && page.readUInt8(READ_VERSION_AT) <= READ_VERSION_MAX && fractions === '\x40\x20\x20'
}

/** The largest page size, 65536, does not fit into two bytes and is written as 1. */
function pageBytesOf(page: Buffer): number {
  const bytes = page.readUInt16BE(PAGE_BYTES_AT)
  return bytes === 1 ? 65_536 : bytes
}

/** Returns null if the file is missing. */
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
