/**
 * A small file next to the task store with the number of the last durable transaction. SQLite cannot detect a truncated
 * log or an emptied file: to SQLite they look like a store that never held more.
 *
 *     mark = JSON of `MarkContent`, blank, crc32 of that JSON as 8 hexadecimal digits, blanks, newline: 192 bytes
 *
 * Each durable transaction increments a number in the store. The number is written to the mark once SQLite has synced.
 * The mark itself is not synced, as this would take as long as the transaction. So after a power cut the mark may be
 * behind the store, but never ahead of it.
 */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'

/** Size of the file. It fits into one sector, so that a disk writes it completely or not at all. */
const MARK_BYTES = 192

/** Transaction numbers are stored in a signed 4-byte field and wrap around to zero at this number. */
export const SEQUENCES = 2 ** 31

interface MarkContent {
  /** Identity of the store that the mark belongs to. */
  readonly store: string
  /** Number of the last durable transaction. */
  readonly sequence: number
}

/** The mark as found: `none` without a file, `damaged` if its checksum does not match. */
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

/** True if a store whose last transaction is `reached` lacks transactions up to `sequence`. Numbers wrap around. */
export const isBehind = (reached: number, sequence: number): boolean => {
  const missing = (sequence - reached + SEQUENCES) % SEQUENCES
  return missing !== 0 && missing < SEQUENCES / 2
}

/** Writes the mark while its store is open. */
export class MarkWriter {
  readonly #file: number
  #content: MarkContent

  /** Syncs the mark once. Later writes are not synced. */
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

  /** Writes the number of a durable transaction. */
  reach(sequence: number): void {
    try {
      this.#write({ ...this.#content, sequence })
    } catch {
      // The transaction is durable without the mark. With an older mark, a start only detects fewer losses.
    }
  }

  close(): void {
    try {
      fsyncSync(this.#file)
    } catch {
      // With an older mark, a start only detects fewer losses.
    } finally {
      closeSync(this.#file)
    }
  }

  #write(content: MarkContent): void {
    const json = JSON.stringify(content)
    const text = `${json} ${checkOf(json)}`.padEnd(MARK_BYTES - 1)
    // As bytes, since Deno ignores the position of a text.
    writeSync(this.#file, Buffer.from(`${text}\n`, 'latin1'), 0, MARK_BYTES, 0)
    this.#content = content
  }
}
