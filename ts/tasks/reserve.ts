import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { RESERVE_BYTES } from './limits.js'

/**
 * Room on the disk that is kept free for the work of the queue itself. New tasks are only taken while it
 * is held; when the disk is full it is given up, so that what was taken can still be recorded, canceled
 * and deleted.
 */
export class Reserve {
  readonly #path: string
  readonly #bytes: number

  /** @param path of the file that takes up the room */
  constructor(path: string, bytes = RESERVE_BYTES) {
    this.#path = path
    this.#bytes = bytes
  }

  /** Whether the room is held, after an attempt to take it. */
  hold(): boolean {
    if (this.#bytes === 0 || this.#held()) return true
    let file: number | null = null
    try {
      file = openSync(this.#path, 'w')
      // Chance does not shrink on a file system that compresses.
      const chunk = randomBytes(Math.min(this.#bytes, 1024 * 1024))
      for (let left = this.#bytes; left > 0; left -= chunk.length) {
        writeSync(file, chunk, 0, Math.min(left, chunk.length))
      }
      fsyncSync(file)
      return this.#held()
    } catch {
      this.giveUp()
      return false
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
