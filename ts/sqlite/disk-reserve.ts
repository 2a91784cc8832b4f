import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { isDiskFull } from './disk-full.js'
import { RESERVE_BYTES } from './limits.js'

/**
 * A file that reserves disk space. It is removed when the disk is full. Then a server can still start, record
 * outcomes of accepted tasks, cancel tasks and delete indexes. New tasks are accepted only while the file exists.
 */
export class DiskReserve {
  readonly #path: string
  readonly #bytes: number

  /** @param path of the file */
  constructor(path: string, bytes = RESERVE_BYTES) {
    this.#path = path
    this.#bytes = bytes
  }

  /**
   * Creates the file unless it exists. @returns false if the disk is full
   * @throws Error of the system if the file cannot be created for another reason
   */
  hold(): boolean {
    if (this.#bytes === 0 || this.#held()) return true
    let file: number | null = null
    try {
      file = openSync(this.#path, 'w')
      // Random bytes also take their full size on a file system with compression.
      const chunk = randomBytes(Math.min(this.#bytes, 1024 * 1024))
      for (let left = this.#bytes; left > 0; left -= chunk.length) {
        writeSync(file, chunk, 0, Math.min(left, chunk.length))
      }
      fsyncSync(file)
      return this.#held()
    } catch (error) {
      this.giveUp()
      if (isDiskFull(error)) return false
      throw error
    } finally {
      if (file !== null) closeSync(file)
    }
  }

  giveUp(): void {
    rmSync(this.#path, { force: true })
  }

  #held(): boolean {
    return (statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) >= this.#bytes
  }
}

/** Removes a reserve that no process holds. Returns true if it existed. */
export function removeReserve(path: string): boolean {
  const wasHeld = statSync(path, { throwIfNoEntry: false }) !== undefined
  rmSync(path, { force: true })
  return wasHeld
}
