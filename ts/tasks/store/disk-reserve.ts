import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { RESERVE_BYTES } from '../limits.js'
import { isDiskFull } from '../spool.js'

export const reservePath = (directory: string): string => join(directory, 'tasks', 'reserve')

/**
 * Room on the disk that is kept free for the work of the queue itself. New tasks are only taken while it
 * is held; when the disk is full it is given up, so that a server can start, and what was taken can still be
 * recorded, canceled and deleted.
 */
export class DiskReserve {
  readonly #path: string
  readonly #bytes: number

  /** @param path of the file that takes up the room */
  constructor(path: string, bytes = RESERVE_BYTES) {
    this.#path = path
    this.#bytes = bytes
  }

  /**
   * Whether the room is held, after an attempt to take it; false where the disk is full.
   * @throws Error of the system, if that is not what the attempt failed of
   */
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

/** Gives up the reserve of a data directory that is not open. Returns whether there was one. */
export function giveUpReserve(directory: string): boolean {
  const path = reservePath(directory)
  const wasHeld = statSync(path, { throwIfNoEntry: false }) !== undefined
  rmSync(path, { force: true })
  return wasHeld
}
