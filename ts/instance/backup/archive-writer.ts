/** Writes a tar archive compressed with gzip. */
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { crc32, createGzip } from 'node:zlib'
import { Header, Pack, ReadEntry } from 'tar'
import { gzipMembers } from './gzip-members.js'
import { ENTRY_BYTES_IN_MEMORY_MAX } from './limits.js'

/** Mode of archives and their entries: they hold secrets, so only their owner may read them. */
const PRIVATE = 0o600

/** Bytes of a file that are read at a time. */
const READ_BYTES = 256 * 1024

/** The files that writing an archive creates. */
export interface ArchivePaths {
  /** The archive. Must not exist. */
  readonly archive: string
  /** A temporary file for an entry whose length is not known yet. Must not exist. */
  readonly entry: string
}

/** Length and checksum of a written entry. */
export interface ArchivedFile {
  readonly bytes: number
  readonly crc32: number
}

/** Writes an archive, entry by entry, in bounded memory. */
export class ArchiveWriter {
  readonly #pack = new Pack({ portable: true })
  readonly #paths: ArchivePaths
  readonly #written: Promise<void>
  readonly #writtenAt = new Date()
  #failure: { readonly error: unknown } | null = null

  /**
   * @param signal aborting it makes all methods reject
   * @param level zlib level of gzip members compressed at the same time; absent: a single member, which every program
   * reads
   */
  constructor(paths: ArchivePaths, signal: AbortSignal, level?: number) {
    this.#paths = paths
    const file = createWriteStream(paths.archive, { flags: 'wx', mode: PRIVATE })
    // Node's gzip runs in the thread pool. The gzip of the library `tar` would run on the main thread.
    const tar = this.#pack as AsyncIterable<Buffer>
    this.#written =
      level === undefined
        ? pipeline(tar, createGzip(), file, { signal })
        : pipeline(tar, (chunks: AsyncIterable<Buffer>) => gzipMembers(chunks, level), file, { signal })
    this.#written.catch((error: unknown) => {
      this.#failure = { error }
    })
  }

  /** Adds a short entry. */
  async add(path: string, content: string): Promise<ArchivedFile> {
    return this.#addEntry(path, Buffer.byteLength(content), [Buffer.from(content)])
  }

  /** Adds a file. It must not change meanwhile. */
  async addFile(path: string, file: string): Promise<ArchivedFile> {
    const { size } = await stat(file)
    return this.#addEntry(path, size, createReadStream(file, { highWaterMark: READ_BYTES }))
  }

  /** Adds an entry of unknown length. */
  async addLong(path: string, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
    const add = await this.stage(path, chunks)
    await add()
  }

  /**
   * Reads an entry of unknown length completely, and returns a function that adds it to the archive. Call the function
   * before the next entry of unknown length is read.
   */
  async stage(path: string, chunks: AsyncIterable<string | Uint8Array>): Promise<() => Promise<void>> {
    const staged: Buffer[] = []
    let bytes = 0
    let file: FileHandle | null = null
    try {
      for await (const chunk of chunks) {
        this.#check()
        const copy = Buffer.from(chunk)
        staged.push(copy)
        bytes += copy.length
        if (file === null && bytes <= ENTRY_BYTES_IN_MEMORY_MAX) continue
        file ??= await open(this.#paths.entry, 'wx', PRIVATE)
        for (const part of staged.splice(0)) await file.writeFile(part)
      }
    } catch (error) {
      if (file !== null) await this.#removeEntry(file)
      throw error
    }
    return async () => {
      try {
        await this.#addEntry(path, bytes, file === null ? staged : createReadStream(this.#paths.entry))
      } finally {
        if (file !== null) await this.#removeEntry(file)
      }
    }
  }

  async #removeEntry(file: FileHandle): Promise<void> {
    await file.close()
    await rm(this.#paths.entry, { force: true })
  }

  /** Resolves when the archive is complete and synced to disk. */
  async end(): Promise<void> {
    this.#pack.end()
    await this.#written
    const file = await open(this.#paths.archive, 'r+')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /** Stops writing. The caller removes the files. */
  async abandon(): Promise<void> {
    this.#pack.destroy(new Error('the archive was abandoned'))
    await this.#written.catch(() => undefined)
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure.error
  }

  async #addEntry(
    path: string,
    size: number,
    content: Iterable<Buffer> | AsyncIterable<Buffer>,
  ): Promise<ArchivedFile> {
    const header = new Header({ path, mode: PRIVATE, size, type: 'File', mtime: this.#writtenAt })
    const entry = new ReadEntry(header)
    const taken = once(entry, 'end')
    this.#pack.add(entry)
    let checksum = 0
    for await (const chunk of content) {
      this.#check()
      checksum = crc32(chunk, checksum)
      if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), this.#written])
    }
    entry.end()
    await Promise.race([taken, this.#written])
    return { bytes: size, crc32: checksum }
  }
}
