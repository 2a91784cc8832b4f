/** Uploads the files of an index to a bucket: the parts that the bucket does not have yet. */
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { crc32 } from 'node:zlib'
import {
  bytesOf,
  type FileChange,
  type FilePart,
  type FilesChange,
  type IndexFiles,
  type NewPart,
} from '../log/file-parts.js'
import { INLINE_BYTES_MAX, INLINE_SUM_BYTES_MAX, PART_BYTES_MAX } from '../object-store/limits.js'
import type { ObjectStore } from '../object-store/object-store.js'

/** Publishes the files of indexes, commit by commit. */
export class FilePublisher {
  readonly #store: Pick<ObjectStore, 'put'>
  readonly #keyFor: (id: string, name: string, from: number, bytes: number) => string
  /** Index id and file name → fingerprint of the file when it was last published. */
  readonly #sent = new Map<string, string>()

  /** Index id → file name → parts that were sent ahead. */
  readonly #ahead = new Map<string, Map<string, AheadParts>>()
  #aheadCalls = 0

  /** @param keyFor returns a new object key at each call, for the bytes of a file from `from` on */
  constructor(
    store: Pick<ObjectStore, 'put'>,
    keyFor: (id: string, name: string, from: number, bytes: number) => string,
  ) {
    this.#store = store
    this.#keyFor = keyFor
  }

  /**
   * Uploads long parts of new and grown files. Adds short parts to `inline`.
   * @param directory an immutable copy of a commit. Compared with the previous commit, files were appended to or
   * replaced, but not overwritten in place
   * @param known the files according to the log
   * @throws BucketError
   */
  async publish(
    id: string,
    directory: string,
    known: IndexFiles,
    inline: InlineParts,
    signal: AbortSignal,
  ): Promise<FilesChange> {
    const names = await namesBelow(directory)
    const aheadCalls = this.#aheadCalls
    this.#dropLogged(id)
    const changed: FileChange[] = []
    for (const name of names) {
      const file = await open(join(directory, name))
      try {
        const parts = known.get(name) ?? null
        const { size, birth, isSame } = await this.#compared(`${id}/${name}`, file, parts)
        const from = isSame ? bytesOf(parts ?? []) : 0
        if (isSame && from === size) continue
        const fresh: NewPart[] = [...(await this.#sentAhead(id, name, { file, from, size }))]
        const start = from + lengthOf(fresh)
        for await (const [at, bytes] of chunks(file, start, size, signal)) {
          const location = inline.add(bytes) ?? { key: this.#keyFor(id, name, at, bytes.length) }
          if ('key' in location) await this.#store.put(location.key, bytes, signal)
          fresh.push({ from: at, bytes: bytes.length, crc: crc32(bytes), location })
        }
        this.#sent.set(`${id}/${name}`, sentAs(birth, fresh))
        changed.push({ name, isWhole: !isSame, parts: fresh })
      } finally {
        await file.close()
      }
    }
    const gone = [...known.keys()].filter((name) => !names.includes(name))
    for (const name of gone) this.#sent.delete(`${id}/${name}`)
    // Kept until the next call, since the record with this change is not in the log yet.
    for (const ahead of this.#ahead.get(id)?.values() ?? []) ahead.isLogged ||= ahead.number <= aheadCalls
    return { changed, gone }
  }

  /**
   * Uploads long parts of new and grown files, so that `publish` need not. May be called while `publish` is in
   * progress.
   * @param bytesMin does nothing if there are fewer bytes
   * @throws BucketError
   */
  async ahead(
    id: string,
    directory: string,
    known: IndexFiles,
    { bytesMin, signal }: { readonly bytesMin: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const number = ++this.#aheadCalls
    const long: { readonly name: string; readonly from: number; readonly size: number }[] = []
    for (const name of await namesBelow(directory)) {
      const file = await open(join(directory, name))
      try {
        const parts = known.get(name) ?? null
        const { size, isSame } = await this.#compared(`${id}/${name}`, file, parts)
        const from = isSame ? bytesOf(parts ?? []) : 0
        const there = lengthOf(await this.#sentAhead(id, name, { file, from, size }))
        if (size - from - there > Math.min(INLINE_BYTES_MAX, bytesMin)) long.push({ name, from, size })
      } finally {
        await file.close()
      }
    }
    if (long.reduce((sum, { from, size }) => sum + size - from, 0) < bytesMin) return
    const ahead = this.#ahead.get(id) ?? new Map<string, AheadParts>()
    this.#ahead.set(id, ahead)
    for (const { name, from, size } of long) {
      const file = await open(join(directory, name))
      try {
        const parts: ObjectPart[] = []
        for await (const [at, bytes] of chunks(file, from, size, signal)) {
          const key = this.#keyFor(id, name, at, bytes.length)
          await this.#store.put(key, bytes, signal)
          parts.push({ from: at, bytes: bytes.length, crc: crc32(bytes), location: { key } })
          ahead.set(name, { number, parts: [...parts], isLogged: false })
        }
      } finally {
        await file.close()
      }
    }
  }

  #dropLogged(id: string): void {
    const files = this.#ahead.get(id)
    for (const [name, { isLogged }] of files ?? []) if (isLogged) files!.delete(name)
  }

  /** Forgets an index that was deleted. */
  forget(id: string): void {
    this.#ahead.delete(id)
    for (const sentKey of this.#sent.keys()) if (sentKey.startsWith(`${id}/`)) this.#sent.delete(sentKey)
  }

  /** Keys of the objects that were sent ahead and are not in the log yet. */
  keysAhead(): readonly string[] {
    return [...this.#ahead.values()]
      .flatMap((files) => [...files.values()])
      .flatMap(({ parts }) => parts.map(({ location }) => location.key))
  }

  /** Returns the parts that were sent ahead if they equal the bytes of the file from `from` on; else no parts. */
  async #sentAhead(
    id: string,
    name: string,
    { file, from, size }: Comparison,
  ): Promise<readonly ObjectPart[]> {
    const ahead = this.#ahead.get(id)?.get(name)
    if (ahead === undefined || ahead.parts[0]?.from !== from || from + lengthOf(ahead.parts) > size) return []
    return (await holds(file, ahead.parts)) ? ahead.parts : []
  }

  /**
   * Returns the length and creation time of a file, and `isSame` if it begins with the parts published under its name.
   */
  async #compared(
    sentKey: string,
    file: FileHandle,
    parts: readonly FilePart[] | null,
  ): Promise<{ readonly size: number; readonly birth: string | null; readonly isSame: boolean }> {
    const { size, ino, birthtimeNs } = await file.stat({ bigint: true })
    // Without creation times, a new file with the inode number of a deleted file cannot be distinguished from it.
    const birth = birthtimeNs === 0n ? null : `${ino} ${birthtimeNs}`
    if (parts === null || size < bytesOf(parts)) return { size: Number(size), birth, isSame: false }
    const isKnown = birth !== null && this.#sent.get(sentKey) === sentAs(birth, parts)
    return { size: Number(size), birth, isSame: isKnown || (await begins(file, parts)) }
  }
}

/** A part in an object of its own. */
type ObjectPart = Omit<FilePart, 'location'> & { readonly location: { readonly key: string } }

/** Parts of a file that are not in the log yet. */
interface AheadParts {
  /** Number of the `ahead` call that sent them. */
  readonly number: number
  readonly parts: readonly ObjectPart[]
  /** True if a later change has them, or comes from a later commit without their file. */
  isLogged: boolean
}

/** A file to send from byte `from` on. */
interface Comparison {
  readonly file: FileHandle
  readonly from: number
  readonly size: number
}

const lengthOf = (parts: readonly Pick<FilePart, 'bytes'>[]): number =>
  parts.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Fingerprint of a file as sent: creation time, length, and checksum of its last part. Parts that were sent but not
 * logged give another fingerprint than the parts in the log.
 */
function sentAs(birth: string | null, parts: readonly Pick<FilePart, 'from' | 'bytes' | 'crc'>[]): string {
  const last = parts.at(-1)
  return `${birth} ${last === undefined ? 0 : last.from + last.bytes} ${last?.crc ?? 0}`
}

/** Collects the inline parts of a log record. */
export class InlineParts {
  readonly #parts: Buffer[] = []
  readonly #bytesMax: number
  #bytes = 0

  /** @param bytesMax total of all parts; 0: each part gets an object of its own */
  constructor(bytesMax = INLINE_SUM_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** @returns null if the bytes do not fit */
  add(bytes: Buffer): { readonly offset: number } | null {
    if (bytes.length > INLINE_BYTES_MAX || this.#bytes + bytes.length > this.#bytesMax) return null
    const offset = this.#bytes
    this.#parts.push(bytes)
    this.#bytes += bytes.length
    return { offset }
  }

  joined(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

/** Names of all files under a directory, with slashes, sorted. */
async function namesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}

/** Returns true if a file begins with these parts. A file that was replaced by a new one does not. */
async function begins(file: FileHandle, parts: readonly FilePart[]): Promise<boolean> {
  return (parts[0]?.from ?? 0) === 0 && (await holds(file, parts))
}

/** Returns true if a file has these parts. */
async function holds(
  file: FileHandle,
  parts: readonly Pick<FilePart, 'from' | 'bytes' | 'crc'>[],
): Promise<boolean> {
  for (const { from, bytes, crc } of parts) if (crc32(await readAt(file, from, bytes)) !== crc) return false
  return true
}

/** Yields the bytes of a file from `from` to `end`, in chunks of bounded length. */
async function* chunks(
  file: FileHandle,
  from: number,
  end: number,
  signal: AbortSignal,
): AsyncGenerator<readonly [number, Buffer]> {
  for (let start = from; start < end; ) {
    signal.throwIfAborted()
    const bytes = await readAt(file, start, Math.min(PART_BYTES_MAX, end - start))
    yield [start, bytes]
    start += bytes.length
  }
}

async function readAt(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, from + read)
    if (bytesRead === 0) throw new Error(`a file ended at ${from + read} while it was read`)
    read += bytesRead
  }
  return bytes
}
