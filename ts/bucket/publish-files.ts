/** Puts the files of an index into a bucket: those parts that are not there yet. */
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
} from './file-parts.js'
import { INLINE_BYTES_MAX, INLINE_SUM_BYTES_MAX, PART_BYTES_MAX } from './limits.js'
import type { ObjectStore } from './object-store.js'

/** Publishes the files of indexes, each as it is at one commit after another. */
export class FilePublisher {
  readonly #store: Pick<ObjectStore, 'put'>
  readonly #keyFor: (id: string, name: string, from: number, bytes: number) => string
  /** Index id and name → which file stood there when it was published last. */
  readonly #sent = new Map<string, string>()

  /** @param keyFor key of the object for the bytes of a file from `from` on; another one at each call */
  constructor(
    store: Pick<ObjectStore, 'put'>,
    keyFor: (id: string, name: string, from: number, bytes: number) => string,
  ) {
    this.#store = store
    this.#keyFor = keyFor
  }

  /**
   * Uploads long parts of new and grown files, and adds short ones to `inline`.
   * @param directory holds one commit of the index, and changes no more. Since the commit before, files were appended to
   * or others took their names; none was overwritten
   * @param known the files as the log tells of them up to now
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
    const changed: FileChange[] = []
    for (const name of names) {
      const file = await open(join(directory, name))
      try {
        const parts = known.get(name) ?? null
        const { size, birth, isSame } = await this.#compared(`${id}/${name}`, file, parts)
        const from = isSame ? bytesOf(parts ?? []) : 0
        if (isSame && from === size) continue
        const fresh: NewPart[] = []
        for await (const [start, bytes] of chunks(file, from, size, signal)) {
          const location = inline.add(bytes) ?? { key: this.#keyFor(id, name, start, bytes.length) }
          if ('key' in location) await this.#store.put(location.key, bytes, signal)
          fresh.push({ from: start, bytes: bytes.length, crc: crc32(bytes), location })
        }
        this.#sent.set(`${id}/${name}`, sentAs(birth, fresh))
        changed.push({ name, isWhole: !isSame, parts: fresh })
      } finally {
        await file.close()
      }
    }
    const gone = [...known.keys()].filter((name) => !names.includes(name))
    for (const name of gone) this.#sent.delete(`${id}/${name}`)
    return { changed, gone }
  }

  /** The length of a file, when it was made, and whether it begins with what was published under its name. */
  async #compared(
    sentKey: string,
    file: FileHandle,
    parts: readonly FilePart[] | null,
  ): Promise<{ readonly size: number; readonly birth: string | null; readonly isSame: boolean }> {
    const { size, ino, birthtimeNs } = await file.stat({ bigint: true })
    // Without dates of birth, a new file that got the number of a deleted one looks like it.
    const birth = birthtimeNs === 0n ? null : `${ino} ${birthtimeNs}`
    if (parts === null || size < bytesOf(parts)) return { size: Number(size), birth, isSame: false }
    const isKnown = birth !== null && this.#sent.get(sentKey) === sentAs(birth, parts)
    return { size: Number(size), birth, isSame: isKnown || (await begins(file, parts)) }
  }
}

/** Tells a file and its end, as it was sent. What was sent and never told in the log has another end. */
function sentAs(birth: string | null, parts: readonly Pick<FilePart, 'from' | 'bytes' | 'crc'>[]): string {
  const last = parts.at(-1)
  return `${birth} ${last === undefined ? 0 : last.from + last.bytes} ${last?.crc ?? 0}`
}

/** Short parts, which go into the entry that tells of them. */
export class InlineParts {
  readonly #parts: Buffer[] = []
  readonly #bytesMax: number
  #bytes = 0

  /** @param bytesMax of all parts; 0: each part gets an object of its own */
  constructor(bytesMax = INLINE_SUM_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** @returns null: the bytes are too many */
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

/** Names of all files below, with slashes, in order. */
async function namesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}

/** Whether a file begins with these parts. A log that was written anew under the same name does not. */
async function begins(file: FileHandle, parts: readonly FilePart[]): Promise<boolean> {
  if ((parts[0]?.from ?? 0) !== 0) return false
  for (const { from, bytes, crc } of parts) if (crc32(await readAt(file, from, bytes)) !== crc) return false
  return true
}

/** The bytes of a file from `from` to `end`, in parts of bounded length. */
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
