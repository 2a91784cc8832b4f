import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { makeDirectory } from '../engine/index.js'
import { DIMENSIONS_MAX, SPOOL_AGE_MS_MAX, SPOOL_BYTES_MAX, SPOOL_READ_BYTES } from './limits.js'

/**
 * The vector spool: vectors received from providers but not committed yet.
 *
 * A batch spools its vectors as they arrive. If it fails, is canceled or crashes, the next batch with the same texts
 * finds them here. They are not synced: after a power cut the last vectors may have to be requested again.
 *
 *     file   = "siftdpv1", record*
 *     record = crc32 of the rest u32 LE, components u32 LE, key 16 bytes, components f32 in the machine's byte order
 */

/** The spooled vectors of one index. A disk failure loses vectors, but never fails a batch. */
export interface SpooledVectors {
  /** Returns the vector of a key; null if it is not spooled. */
  get(key: string): Promise<Float32Array | null>
  put(entries: readonly SpooledVector[]): Promise<void>
  /** Drops the vectors that this batch has put or got, because a commit has them now. */
  committed(): Promise<void>
  close(): Promise<void>
}

export interface SpooledVector {
  /** Result of `spoolKey`. */
  readonly key: string
  readonly vector: Float32Array
}

/** The spooled vectors of all indexes. */
export interface VectorSpool {
  /** Opens the spool of an index. Only one batch of an index runs at a time. */
  open(indexUid: string): Promise<SpooledVectors>
  /** Removes the spool of a deleted index. */
  forget(indexUid: string): Promise<void>
}

/** Reports why vectors are not spooled or were dropped. */
type VectorSpoolLog = (facts: object, message: string) => void

const MAGIC = Buffer.from('siftdpv1')
const KEY_BYTES = 16
const HEAD_BYTES = 8 + KEY_BYTES

/** Returns the key of an embedder input. @param identity of the provider, see `Provider` */
export const spoolKey = (identity: string, input: string): string =>
  createHash('sha256').update(identity).update('\0').update(input).digest('binary').slice(0, KEY_BYTES)

/** A spool that keeps nothing. */
export const noVectorSpool: VectorSpool = {
  open: () =>
    Promise.resolve({
      get: () => Promise.resolve(null),
      put: () => Promise.resolve(),
      committed: () => Promise.resolve(),
      close: () => Promise.resolve(),
    }),
  forget: () => Promise.resolve(),
}

/**
 * Opens the spool in a directory, which is created when the first vector arrives. All files together have at most
 * `bytesMax` bytes. Files that no batch has used for a week are removed.
 */
export function openVectorSpool(
  directory: string,
  log: VectorSpoolLog,
  bytesMax: number = SPOOL_BYTES_MAX,
): VectorSpool {
  const pathOf = (indexUid: string): string =>
    join(directory, `${createHash('sha256').update(indexUid).digest('hex').slice(0, 32)}.vectors`)
  return {
    async open(indexUid) {
      const path = pathOf(indexUid)
      try {
        await removeOld(directory, path)
      } catch (error) {
        log({ err: error, directory }, 'old spooled vectors could not be removed')
      }
      return VectorFile.read(path, log, bytesMax, () => bytesIn(directory))
    },
    async forget(indexUid) {
      const path = pathOf(indexUid)
      await rm(path, { force: true }).catch((error: unknown) =>
        log({ err: error, path }, 'spooled vectors of a deleted index could not be removed'),
      )
    },
  }
}

/** Key → offset of its record. */
type Offsets = Map<string, number>

interface FileContent {
  readonly file: FileHandle | null
  readonly offsets: Offsets
  readonly end: number
}

class VectorFile implements SpooledVectors {
  readonly #path: string
  readonly #log: VectorSpoolLog
  readonly #bytesMax: number
  readonly #bytesOfAll: () => Promise<number>
  readonly #offsets: Offsets
  readonly #used = new Set<string>()
  #file: FileHandle | null
  #end: number
  /** Size that this file may grow to, in bytes; null: not computed yet. */
  #room: number | null = null
  #isFailed = false
  #writing: Promise<void> = Promise.resolve()
  readonly #pending: SpooledVector[] = []

  private constructor(
    path: string,
    log: VectorSpoolLog,
    bytesMax: number,
    bytesOfAll: () => Promise<number>,
    content: FileContent,
  ) {
    this.#path = path
    this.#log = log
    this.#bytesMax = bytesMax
    this.#bytesOfAll = bytesOfAll
    this.#file = content.file
    this.#offsets = content.offsets
    this.#end = content.end
  }

  /** Reads the file up to its first damaged record. Drops the rest. */
  static async read(
    path: string,
    log: VectorSpoolLog,
    bytesMax: number,
    bytesOfAll: () => Promise<number>,
  ): Promise<VectorFile> {
    const none: FileContent = { file: null, offsets: new Map(), end: 0 }
    const made = (content: FileContent) => new VectorFile(path, log, bytesMax, bytesOfAll, content)
    const file = await open(path, 'r+').catch(() => null)
    if (file === null) return made(none)
    try {
      const { offsets, end } = await recordsIn(file)
      if (end < (await file.stat()).size) {
        log({ path, from: end }, 'spooled vectors are damaged; they will be requested again')
        await file.truncate(end)
      }
      return made({ file, offsets, end })
    } catch (error) {
      log({ err: error, path }, 'spooled vectors cannot be read; they will be requested again')
      await file.close().catch(() => undefined)
      await rm(path, { force: true }).catch(() => undefined)
      return made(none)
    }
  }

  async get(key: string): Promise<Float32Array | null> {
    const offset = this.#offsets.get(key)
    if (offset === undefined || this.#file === null) return null
    try {
      const head = await exactly(this.#file, offset, HEAD_BYTES)
      const record = head === null ? null : await exactly(this.#file, offset, lengthOf(head))
      const vector = record === null ? null : vectorIn(record, key)
      if (vector !== null) {
        this.#used.add(key)
        return vector
      }
    } catch (error) {
      this.#log({ err: error, path: this.#path }, 'a spooled vector cannot be read')
    }
    this.#offsets.delete(key)
    return null
  }

  put(entries: readonly SpooledVector[]): Promise<void> {
    this.#pending.push(...entries)
    // Serialises writes, because each must know its offset. A write includes everything that arrived meanwhile.
    this.#writing = this.#writing.then(() => this.#append(this.#pending.splice(0)))
    return this.#writing
  }

  async #append(entries: readonly SpooledVector[]): Promise<void> {
    if (this.#isFailed || entries.length === 0) return
    try {
      const records = entries.map(({ key, vector }) => recordOf(key, vector))
      const bytes = Buffer.concat(this.#end === 0 ? [MAGIC, ...records] : records)
      this.#room ??= this.#bytesMax - (await this.#bytesOfAll()) + this.#end
      if (this.#end + bytes.length > this.#room) return
      this.#file ??= await created(this.#path)
      const { bytesWritten } = await this.#file.write(bytes, 0, bytes.length, this.#end)
      if (bytesWritten !== bytes.length) throw new Error(`only ${bytesWritten} bytes were written`)
      let offset = this.#end === 0 ? MAGIC.length : this.#end
      for (const [at, { key }] of entries.entries()) {
        this.#offsets.set(key, offset)
        this.#used.add(key)
        offset += records[at]!.length
      }
      this.#end = offset
    } catch (error) {
      this.#isFailed = true
      this.#log({ err: error, path: this.#path }, 'vectors cannot be spooled until they are committed')
      // Truncates a partial write, which also frees the space on a full disk.
      await this.#file?.truncate(this.#end).catch(() => undefined)
    }
  }

  async committed(): Promise<void> {
    await this.#writing
    try {
      const unused = [...this.#offsets].filter(([key]) => !this.#used.has(key))
      if (this.#file === null || this.#used.size === 0) return
      const partial = `${this.#path}.partial`
      if (unused.length > 0) {
        await this.#copyTo(
          partial,
          unused.map(([, offset]) => offset),
        )
      }
      // Windows cannot replace or remove an open file.
      await this.close()
      if (unused.length > 0) await rename(partial, this.#path)
      else await rm(this.#path, { force: true })
    } catch (error) {
      this.#log({ err: error, path: this.#path }, 'committed vectors could not be dropped from the spool')
    }
  }

  /** Writes a file that only has the records at `offsets`. */
  async #copyTo(path: string, offsets: readonly number[]): Promise<void> {
    const copy = await open(path, 'w')
    try {
      await copy.appendFile(MAGIC)
      for (const offset of offsets) {
        const head = await exactly(this.#file!, offset, HEAD_BYTES)
        const record = head === null ? null : await exactly(this.#file!, offset, lengthOf(head))
        if (record !== null) await copy.appendFile(record)
      }
    } finally {
      await copy.close()
    }
  }

  async close(): Promise<void> {
    await this.#writing
    await this.#file?.close().catch(() => undefined)
    this.#file = null
  }
}

async function created(path: string): Promise<FileHandle> {
  await makeDirectory(join(path, '..'))
  return open(path, 'w+')
}

/** Returns the records of a file up to the first that is damaged or truncated, and the end of the last one. */
async function recordsIn(file: FileHandle): Promise<{ readonly offsets: Offsets; readonly end: number }> {
  const offsets: Offsets = new Map()
  const magic = await exactly(file, 0, MAGIC.length)
  if (magic === null || !magic.equals(MAGIC)) return { offsets, end: 0 }
  let end = MAGIC.length
  let chunk = Buffer.alloc(0)
  let taken = 0
  for (;;) {
    const rest = chunk.subarray(taken)
    const wanted = rest.length < HEAD_BYTES ? HEAD_BYTES : lengthOf(rest)
    if (wanted > HEAD_BYTES + 4 * DIMENSIONS_MAX) return { offsets, end }
    if (rest.length < wanted) {
      const more = await chunkAt(file, end + rest.length, Math.max(SPOOL_READ_BYTES, wanted))
      if (more.length === 0) return { offsets, end }
      chunk = Buffer.concat([rest, more])
      taken = 0
      continue
    }
    const record = rest.subarray(0, wanted)
    if (record.length === HEAD_BYTES || record.readUInt32LE(0) !== crc32(record.subarray(4)))
      return { offsets, end }
    offsets.set(keyIn(record), end)
    taken += wanted
    end += wanted
  }
}

const lengthOf = (head: Buffer): number => HEAD_BYTES + 4 * head.readUInt32LE(4)

const keyIn = (record: Buffer): string => record.toString('latin1', 8, HEAD_BYTES)

function recordOf(key: string, vector: Float32Array): Buffer {
  const record = Buffer.alloc(HEAD_BYTES + 4 * vector.length)
  record.writeUInt32LE(vector.length, 4)
  record.write(key, 8, 'latin1')
  record.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), HEAD_BYTES)
  record.writeUInt32LE(crc32(record.subarray(4)), 0)
  return record
}

function vectorIn(record: Buffer, key: string): Float32Array | null {
  if (record.readUInt32LE(0) !== crc32(record.subarray(4)) || keyIn(record) !== key) return null
  // Copies, because the components of a record may not be aligned in memory.
  const bytes = Uint8Array.from(record.subarray(HEAD_BYTES))
  return new Float32Array(bytes.buffer)
}

async function chunkAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  const { bytesRead } = await file.read(buffer, 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** Reads `length` bytes at `position`; null if the file is shorter. */
async function exactly(file: FileHandle, position: number, length: number): Promise<Buffer | null> {
  if (length > HEAD_BYTES + 4 * DIMENSIONS_MAX) return null
  const bytes = await chunkAt(file, position, length)
  return bytes.length === length ? bytes : null
}

async function bytesIn(directory: string): Promise<number> {
  const sizes = await filesIn(directory)
  return sizes.reduce((sum, { size }) => sum + size, 0)
}

/** Removes files that have not been written for a week, except the file of the current index. */
async function removeOld(directory: string, except: string): Promise<void> {
  const now = Date.now()
  for (const { path, mtimeMs } of await filesIn(directory)) {
    if (path !== except && now - mtimeMs > SPOOL_AGE_MS_MAX) await rm(path, { force: true })
  }
}

async function filesIn(directory: string) {
  const names = await readdir(directory).catch(() => [])
  const found = names.map(async (name) => {
    const path = join(directory, name)
    const facts = await stat(path).catch(() => null)
    return facts === null ? [] : [{ path, size: facts.size, mtimeMs: facts.mtimeMs }]
  })
  return (await Promise.all(found)).flat()
}
