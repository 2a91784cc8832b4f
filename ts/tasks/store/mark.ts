/**
 * How far must the task store reach? A small file beside it says, for SQLite cannot: it takes a log that lost its end,
 * or a file that became empty, for a store that never held more.
 *
 *     mark = JSON of `MarkContent`, blank, crc32 of that JSON as 8 hexadecimal digits, blanks, newline: 192 bytes
 *
 * Each durable transaction counts up a number in the store and overwrites the mark with it once SQLite has synced. The
 * mark itself is not synced, so that it costs no time: after a power cut it may lag behind the store, never be ahead.
 */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'

/** Bytes of the file. One sector holds them, so that a disk writes all of them or none. */
const MARK_BYTES = 192

/** The number of the transaction lies in a signed field of four bytes, so it starts anew from zero behind this. */
export const SEQUENCES = 2 ** 31

export interface MarkContent {
  /** Identity of the store that the mark belongs to. */
  readonly store: string
  /** Number of the last durable transaction. */
  readonly sequence: number
}

/** A mark as it was found: `none` without a file, `damaged` if its checksum does not match. */
export type FoundMark = MarkContent | 'none' | 'damaged'

export function readMark(path: string): FoundMark {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'none'
    throw error
  }
  const at = text.lastIndexOf('} ')
  const json = text.slice(0, at + 1)
  return at !== -1 && text.slice(at + 2, at + 10) === checkOf(json)
    ? (JSON.parse(json) as MarkContent)
    : 'damaged'
}

const checkOf = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** Whether a store of number `reached` lacks transactions up to `sequence`. Numbers compare on a circle. */
export const isBehind = (reached: number, sequence: number): boolean => {
  const missing = (sequence - reached + SEQUENCES) % SEQUENCES
  return missing !== 0 && missing < SEQUENCES / 2
}

/** The writer's end of a mark, open as long as its store. */
export class MarkWriter {
  readonly #file: number
  #content: MarkContent

  /** Makes the file durable under its name; later writes go into it without a sync. */
  constructor(path: string, content: MarkContent) {
    this.#file = openSync(path, readMark(path) === 'none' ? 'w' : 'r+')
    this.#content = content
    try {
      this.#write(content)
      fsyncSync(this.#file)
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
  }

  /** Takes over the number of a transaction that is on disk. */
  reach(sequence: number): void {
    try {
      this.#write({ ...this.#content, sequence })
    } catch {
      // The transaction is durable without it. A mark that lags behind only notices less.
    }
  }

  close(): void {
    try {
      fsyncSync(this.#file)
    } catch {
      // A mark that lags behind only notices less, and the disk that failed shows in the store.
    } finally {
      closeSync(this.#file)
    }
  }

  #write(content: MarkContent): void {
    const json = JSON.stringify(content)
    const text = `${json} ${checkOf(json)}`.padEnd(MARK_BYTES - 1)
    writeSync(this.#file, `${text}\n`, 0, 'latin1')
    this.#content = content
  }
}
