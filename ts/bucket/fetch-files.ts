/** Makes the files of an index from their parts in a bucket. */
import { mkdir, open, readdir, rename, rm, truncate } from 'node:fs/promises'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { crc32 } from 'node:zlib'
import { bytesOf, type FilePart, type IndexFiles, isFileName } from './file-parts.js'
import { PART_BYTES_MAX } from './limits.js'

/** A part that is not there, or not as it was written. */
export class DamagedPartError extends Error {
  override readonly name = 'DamagedPartError'
}

/** Reads the bytes of a part; null: the bucket does not have them. */
export type ReadPart = (part: FilePart) => Promise<Uint8Array | null>

/** Names of the files that name the other files of a commit. */
const COMMIT_FILE = /^commit/

/** End of the name of a file that is being fetched. */
const FETCHED = '.fetched'

/**
 * Brings the files of an index in a directory, which may be missing, up to what the log tells of them, and syncs them with
 * their names. A file that grew is appended to; any other gets its name once it is whole, those that make a commit last.
 * Files that are gone stay, see `removeFiles`.
 * @param there what the directory holds of them
 * @param written called after each part with its bytes
 * @throws DamagedPartError; the directory holds what it held then, and maybe parts of what is new
 */
export async function fetchFiles(
  { there, files }: { readonly there: IndexFiles; readonly files: IndexFiles },
  directory: string,
  read: ReadPart,
  written: (bytes: number) => void,
): Promise<void> {
  const whole: string[] = []
  await mkdir(directory, { recursive: true })
  for (const [name, parts] of files) {
    const path = join(directory, within(name))
    const known = there.get(name) ?? null
    const isGrown = known?.every((part, at) => isSame(part, parts[at])) === true
    if (isGrown && known.length === parts.length) continue
    await mkdir(dirname(path), { recursive: true })
    if (!isGrown) whole.push(name)
    const file = await open(isGrown ? path : `${path}${FETCHED}`, isGrown ? 'r+' : 'w')
    try {
      let end = isGrown ? bytesOf(known) : 0
      for (const part of parts.slice(isGrown ? known.length : 0)) {
        const bytes = await bytesOfPart(name, part, end, read)
        await file.write(bytes, 0, bytes.length, part.from)
        end = bytesOf([part])
        written(bytes.length)
      }
      await file.sync()
    } finally {
      await file.close()
    }
  }
  const isCommit = (name: string): number => Number(COMMIT_FILE.test(name))
  for (const name of whole.sort((one, other) => isCommit(one) - isCommit(other))) {
    if (isCommit(name)) await syncAll(directory, whole)
    const path = join(directory, name)
    await rename(`${path}${FETCHED}`, path)
  }
  await syncAll(directory, whole)
}

/** Lengths come from outside this machine, and so much is kept in memory. */
function requireLength(name: string, { bytes }: FilePart): void {
  if (!Number.isInteger(bytes) || bytes < 0 || bytes > PART_BYTES_MAX)
    throw new DamagedPartError(`a part of the file ${name} cannot have ${bytes} bytes`)
}

/** @param end of what the file has before it */
async function bytesOfPart(name: string, part: FilePart, end: number, read: ReadPart): Promise<Uint8Array> {
  requireLength(name, part)
  if (part.from !== end) throw new DamagedPartError(`the file ${name} lacks its bytes from ${end} on`)
  const bytes = await read(part)
  if (bytes === null) throw new DamagedPartError(`${locationOf(part)} is missing: a part of the file ${name}`)
  if (bytes.length !== part.bytes || crc32(bytes) !== part.crc)
    throw new DamagedPartError(`${locationOf(part)} is damaged: a part of the file ${name}`)
  return bytes
}

/**
 * The parts that files of a directory begin with, of those that the log tells of.
 * @param isOpen whether an engine has the directory open. If not, what follows these parts in a file is cut off, which a
 * process that was killed may have left; else such a file counts as missing
 */
export async function partsThere(directory: string, files: IndexFiles, isOpen: boolean): Promise<IndexFiles> {
  const there = new Map<string, readonly FilePart[]>()
  for (const [name, parts] of files) {
    const path = join(directory, within(name))
    const file = await open(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
      throw error
    })
    if (file === null) continue
    let size: number
    const found: FilePart[] = []
    try {
      size = (await file.stat()).size
      for (const part of parts) {
        requireLength(name, part)
        const bytes = Buffer.alloc(part.bytes)
        const { bytesRead } = await file.read(bytes, 0, part.bytes, part.from)
        if (bytesRead < part.bytes || crc32(bytes) !== part.crc) break
        found.push(part)
      }
    } finally {
      await file.close()
    }
    if (found.length === 0 && parts.length > 0) continue
    if (size > bytesOf(found) && isOpen) continue
    if (size > bytesOf(found)) await truncate(path, bytesOf(found))
    there.set(name, found)
  }
  return there
}

/** Removes files of an index that are gone. */
export async function removeFiles(directory: string, there: IndexFiles, files: IndexFiles): Promise<void> {
  for (const name of there.keys())
    if (!files.has(name)) await rm(join(directory, within(name)), { force: true })
}

/** Removes files that are none of these, such as commits that no log tells of. */
export async function removeUnknown(directory: string, files: IndexFiles): Promise<void> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    const name = relative(directory, path).split(sep).join('/')
    if (entry.isFile() && !files.has(name)) await rm(path, { force: true })
  }
}

async function syncAll(directory: string, names: readonly string[]): Promise<void> {
  for (const one of new Set([directory, ...names.map((name) => dirname(join(directory, name)))]))
    await syncNames(one)
}

/** Syncs the names in a directory. Windows refuses to open one; its file systems journal names by themselves. */
export async function syncNames(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** @throws DamagedPartError for a name that leads elsewhere: names come from outside this machine */
function within(name: string): string {
  if (!isFileName(name))
    throw new DamagedPartError(`an index cannot have a file named ${JSON.stringify(name.slice(0, 100))}`)
  return normalize(name)
}

/** Whether two parts are the same bytes of their file, wherever they lie. */
const isSame = (one: FilePart, other: FilePart | undefined): boolean =>
  other !== undefined && one.from === other.from && one.bytes === other.bytes && one.crc === other.crc

const locationOf = ({ location }: FilePart): string =>
  'key' in location ? `the object ${location.key}` : `the entry ${location.seq} at byte ${location.offset}`
