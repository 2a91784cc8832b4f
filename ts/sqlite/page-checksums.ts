/**
 * Checksums of the pages of the task store's file, which detect damage. SQLite's own pages have no checksums.
 *
 *     file  = block*
 *     block = 127 checksums of pages, checksum of the block: 512 bytes, 32-bit numbers in little endian
 *
 * Block 0 begins with page 1. The checksum of a page is the CRC-32 of its bytes. 0 means unknown, as for a page that
 * was added and freed in one transaction and therefore never written. The checksum of a block is the CRC-32 of its
 * number and its page checksums.
 *
 * In write-ahead mode only checkpoints write to the store's file, and they only write pages of the log. So checksums
 * are computed from the log and saved before the log is overwritten. Until then the log holds the page itself, with
 * its own checksum. See `checkpoints.ts`.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { crc32 } from 'node:zlib'
import { bytesAt, type Log } from './log.js'

const BLOCK_BYTES = 512
const BLOCK_PAGES = BLOCK_BYTES / 4 - 1

/** Pages read at once: 1 MiB of pages of 4 KiB. */
const PAGES_READ = 256

const UNKNOWN = 0

/** The checksums of a store's pages. Changes are in memory until they are saved. */
export class PageChecksums {
  /** Indexed by page number; the first page has number 1. */
  #checksums: Uint32Array
  readonly #changedBlocks = new Set<number>()

  private constructor(checksums: Uint32Array) {
    this.#checksums = checksums
  }

  /** Checksums of a store without pages, or with unknown checksums. */
  static none(): PageChecksums {
    return new PageChecksums(new Uint32Array(1))
  }

  /** @returns null if the file is missing or one of its blocks is damaged */
  static read(path: string): PageChecksums | null {
    const bytes = contentOf(path)
    if (bytes.length === 0 || bytes.length % BLOCK_BYTES !== 0) return null
    const blocks = bytes.length / BLOCK_BYTES
    const checksums = new Uint32Array(1 + blocks * BLOCK_PAGES)
    for (let number = 0; number < blocks; number++) {
      const block = bytes.subarray(number * BLOCK_BYTES, (number + 1) * BLOCK_BYTES)
      if (block.readUInt32LE(BLOCK_BYTES - 4) !== checkOf(block, number)) return null
      for (let at = 0; at < BLOCK_PAGES; at++) {
        checksums[1 + number * BLOCK_PAGES + at] = block.readUInt32LE(at * 4)
      }
    }
    return new PageChecksums(checksums)
  }

  /** Number of pages with a checksum, known or unknown. */
  get pages(): number {
    return this.#checksums.length - 1
  }

  /** Takes over the checksums of the pages that a checkpoint of this log writes to the store's file. */
  take({ frames, pages, pageCount }: Log): void {
    if (frames === 0) return
    this.#resize(pageCount)
    for (const [page, checksum] of pages) this.#put(page, entryOf(checksum))
  }

  /**
   * Compares the pages of a store's file with their checksums, and computes unknown ones.
   * @param log of the store; pages in the log are not compared, because SQLite reads them from there
   * @param isCompared true if the file has just been compared: only pages with unknown checksums are read
   * @returns numbers of the pages whose checksums do not match
   */
  compare(path: string, pageBytes: number, log: Log, isCompared: boolean): readonly number[] {
    const file = openSync(path, 'r')
    try {
      const filePages = Math.floor(fstatSync(file).size / pageBytes)
      if (log.frames > 0) this.#resize(log.pageCount)
      else this.#resize(Math.max(this.pages, filePages))
      const damaged: number[] = []
      for (let first = 1; first <= this.pages; first += PAGES_READ) {
        const last = Math.min(first + PAGES_READ - 1, this.pages)
        if (isCompared && !this.#checksums.subarray(first, last + 1).includes(UNKNOWN)) continue
        const bytes = bytesAt(file, (first - 1) * pageBytes, (last - first + 1) * pageBytes)
        for (let page = first; page <= last; page++) {
          if (log.pages.has(page)) continue
          const from = (page - first) * pageBytes
          const isThere = from + pageBytes <= bytes.length
          const checksum = isThere ? entryOf(crc32(bytes.subarray(from, from + pageBytes))) : UNKNOWN
          if (this.#checksums[page] === UNKNOWN) this.#put(page, checksum)
          else if (this.#checksums[page] !== checksum) damaged.push(page)
        }
      }
      return damaged
    } finally {
      closeSync(file)
    }
  }

  /** Writes changed checksums durably. After a failure, the next call writes them again. */
  save(path: string): void {
    if (this.#changedBlocks.size === 0) return
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT)
    try {
      const blocks = Math.ceil(this.pages / BLOCK_PAGES)
      for (const number of this.#changedBlocks) {
        if (number < blocks) writeSync(file, this.#block(number), 0, BLOCK_BYTES, number * BLOCK_BYTES)
      }
      ftruncateSync(file, blocks * BLOCK_BYTES)
      fsyncSync(file)
      this.#changedBlocks.clear()
    } finally {
      closeSync(file)
    }
  }

  /** Removes the file of checksums. The next `save` writes it again. */
  unsave(path: string): void {
    rmSync(path, { force: true })
    for (let block = 0; block * BLOCK_PAGES < this.pages; block++) this.#changedBlocks.add(block)
  }

  #block(number: number): Buffer {
    const block = Buffer.alloc(BLOCK_BYTES)
    for (let at = 0; at < BLOCK_PAGES; at++) {
      block.writeUInt32LE(this.#checksums[1 + number * BLOCK_PAGES + at] ?? UNKNOWN, at * 4)
    }
    block.writeUInt32LE(checkOf(block, number), BLOCK_BYTES - 4)
    return block
  }

  #put(page: number, checksum: number): void {
    if (this.#checksums[page] === checksum) return
    this.#checksums[page] = checksum
    this.#changedBlocks.add(blockOf(page))
  }

  #resize(pages: number): void {
    if (pages === this.pages) return
    // A smaller store has fewer checksums in its last block. A larger store may gain complete blocks of unknown pages.
    const last = Math.max(1, pages)
    for (let block = blockOf(Math.min(this.pages, last) || 1); block <= blockOf(last); block++) {
      this.#changedBlocks.add(block)
    }
    const resized = new Uint32Array(1 + pages)
    resized.set(this.#checksums.subarray(0, 1 + pages))
    this.#checksums = resized
  }
}

const blockOf = (page: number): number => Math.floor((page - 1) / BLOCK_PAGES)

const entryOf = (checksum: number): number => (checksum === UNKNOWN ? 1 : checksum)

function checkOf(block: Buffer, number: number): number {
  const ahead = Buffer.alloc(4)
  ahead.writeUInt32LE(number)
  return crc32(block.subarray(0, BLOCK_BYTES - 4), crc32(ahead))
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}
