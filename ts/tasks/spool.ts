import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Payload, PayloadFormat } from '../engine/index.js'
import { makeDirectory } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import { isDiskFull } from '../sqlite/index.js'
import { CHECKSUM_READ_BYTES } from './limits.js'
import type { ContentHead, TaskContent } from './task.js'
import type { SpoolSlot } from './tasks.js'

/** Files of uploaded bodies, each stored until its task ends. */
export interface Spool {
  slot(format: PayloadFormat): SpoolSlot
  /** Path of a payload's file. @param name its file name, or a path that ends in it */
  pathOf(name: string): string
  /**
   * Checks that an upload has the received length, and the received checksum if one was stored.
   * @param bytes received length
   * @throws ApiError `upload_damaged`
   */
  check(payload: Payload, bytes: number): Promise<void>
  /** Deletes a file if it exists. A held file is deleted when it is released. */
  remove(name: string): Promise<void>
  /** Returns true if a file is held. */
  isHeld(name: string): boolean
  /** Keeps files even if their tasks end. @returns a function that releases them */
  hold(names: readonly string[]): () => Promise<void>
  /** Returns the files that no task in `names` refers to. Call only before uploads begin. */
  orphans(names: ReadonlySet<string>): Promise<readonly string[]>
  /** Deletes every file that no task in `names` refers to. Call only before uploads begin. */
  removeOrphans(names: ReadonlySet<string>): Promise<number>
  bytes(): Promise<number>
}

/** Opens the spool directory, creating it if needed. */
export async function openSpool(directory: string): Promise<Spool> {
  await makeDirectory(directory)
  const pathOf = (name: string) => join(directory, basename(name))
  const held = new HeldFiles()
  const remove = async (name: string) => {
    if (held.isFree(basename(name))) await rm(pathOf(name), { force: true })
  }
  const orphansIn = async (names: ReadonlySet<string>) =>
    (await readdir(directory)).filter((name) => !names.has(name))
  return {
    pathOf,
    remove,
    isHeld: (name) => held.has(basename(name)),
    hold(names) {
      const files = names.map((name) => basename(name))
      held.hold(files)
      return async () => {
        await Promise.all(held.release(files).map(remove))
      }
    },
    async check(payload, bytes) {
      if ('path' in payload) await checkUpload(pathOf(payload.path), bytes, payload.checksum ?? null)
    },
    slot(format) {
      const path = pathOf(`${randomUUID()}.${format}`)
      return {
        path,
        sync: async () => {
          await synced(path)
          await synced(directory)
        },
        discard: () => remove(path),
      }
    },
    orphans: orphansIn,
    async removeOrphans(names) {
      const orphans = await orphansIn(names)
      await Promise.all(orphans.map(remove))
      return orphans.length
    },
    async bytes() {
      const files = await readdir(directory)
      const sizes = await Promise.all(files.map((name) => sizeOf(pathOf(name))))
      return sizes.reduce((sum, size) => sum + size, 0)
    },
  }
}

/** Files with other readers than their tasks, and which of these files their tasks need no more. */
export class HeldFiles {
  readonly #holders = new Map<string, number>()
  readonly #unneeded = new Set<string>()

  has(file: string): boolean {
    return this.#holders.has(file)
  }

  /** Returns true if a file that its task needs no more can be removed now. If not, `release` returns it later. */
  isFree(file: string): boolean {
    if (!this.has(file)) return true
    this.#unneeded.add(file)
    return false
  }

  hold(files: readonly string[]): void {
    for (const file of files) this.#holders.set(file, (this.#holders.get(file) ?? 0) + 1)
  }

  /** @returns files that can be removed now */
  release(files: readonly string[]): readonly string[] {
    const free: string[] = []
    for (const file of files) {
      const holders = (this.#holders.get(file) ?? 0) - 1
      if (holders > 0) this.#holders.set(file, holders)
      else {
        this.#holders.delete(file)
        if (this.#unneeded.delete(file)) free.push(file)
      }
    }
    return free
  }
}

/** Returns the spool file of a task; null if it has none. */
export function fileOf({ kind, payload }: ContentHead): string | null {
  return kind === 'documents' && payload !== undefined && 'path' in payload ? payload.path : null
}

/** Returns the file name of the upload of a task to enqueue; null if it has none. */
export function uploadOf(content: TaskContent): string | null {
  const path = fileOf(content)
  return path === null ? null : basename(path)
}

/** Returns the size of a file; 0 if it does not exist. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch {
    return 0
  }
}

/** Computes the CRC-32 of a file. */
export async function checksumOf(path: string): Promise<number> {
  let checksum = 0
  for await (const chunk of createReadStream(path, { highWaterMark: CHECKSUM_READ_BYTES })) {
    checksum = crc32(chunk as Buffer, checksum)
  }
  return checksum
}

async function checkUpload(path: string, bytes: number, checksum: number | null): Promise<void> {
  const damaged = (how: string) =>
    new ApiError(
      'upload_damaged',
      `the upload of this task is damaged (${path} ${how}): none of it was applied, send its documents again`,
    )
  const size = await stat(path).then(
    (found) => found.size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw damaged('is missing')
      throw error
    },
  )
  if (size !== bytes) throw damaged(`has ${size} bytes, ${bytes} were received`)
  if (checksum !== null && (await checksumOf(path)) !== checksum)
    throw damaged('differs from what was received')
}

async function synced(path: string): Promise<void> {
  // Windows cannot open a directory; its file systems journal names themselves.
  const handle = await open(path, 'r+').catch(() => open(path, 'r').catch(() => null))
  if (handle === null) {
    if (process.platform === 'win32') return
    throw new Error(`cannot sync ${path}`)
  }
  try {
    await handle.sync()
  } catch (error) {
    if (isDiskFull(error)) throw noSpace('the uploaded body')
    // After a failed sync the content of the file is unknown, so the body counts as not received.
    const reason = (error as NodeJS.ErrnoException).code ?? String(error)
    throw new ApiError('io_error', `the disk failed while the uploaded body was stored: ${reason}`)
  } finally {
    await handle.close()
  }
}

/** @param what could not be stored, for the message */
export function noSpace(what: string): ApiError {
  return new ApiError('no_space_left_on_device', `there is no space left on the device to store ${what}`)
}
