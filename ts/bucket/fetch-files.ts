/** Makes the files of an index from their parts in a bucket. */
import { constants } from 'node:fs'
import { copyFile, mkdir, open, readdir, rename, rm, stat, truncate } from 'node:fs/promises'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { crc32 } from 'node:zlib'
import { bytesOf, type FilePart, type IndexFiles, isFileName } from './file-parts.js'
import { PART_BYTES_MAX } from './limits.js'
import { partsAhead } from './parts-ahead.js'

/** A part that is not there, or not as it was written. */
export class DamagedPartError extends Error {
  override readonly name = 'DamagedPartError'
}

/** Reads the bytes of a part; null: the bucket does not have them. */
export type ReadPart = (part: FilePart) => Promise<Uint8Array | null>

/** Names of the files that name the other files of a commit. */
const COMMIT_FILE = /^commit/

/** The files of an index without those that make a commit. With them in its directory the index stays as it is. */
export const withoutCommits = (files: IndexFiles): IndexFiles =>
  new Map([...files].filter(([name]) => !COMMIT_FILE.test(name)))

/** End of the name of a file that is being fetched. */
const FETCHED = '.fetched'

/** A file that lacks parts. */
interface Lacking {
  readonly name: string
  /** Parts that the file has, and that it keeps. */
  readonly kept: readonly FilePart[]
  readonly missing: readonly FilePart[]
  /** Whether it is written under another name and then renamed. */
  readonly isWhole: boolean
}

/**
 * Brings the files of an index in a directory, which may be missing, up to what the log tells of them, and syncs them with
 * their names. A file that grew is appended to; any other gets its name once it is whole, those that make a commit last.
 * The commit that the directory has stays readable: other files stay, see `removeFiles`, and so do bytes behind the parts of
 * a file, see `keepOnly`.
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
  await mkdir(directory, { recursive: true })
  const lacking = await lackingFiles({ there, files }, directory)
  const isCommit = ({ name }: Lacking): boolean => COMMIT_FILE.test(name)
  const stages = [lacking.filter((file) => !isCommit(file)), lacking.filter(isCommit)]
  const parts = readInOrder(stages.flat(), read)
  for (const stage of stages) {
    for (const file of stage) await fetchFile(file, directory, parts, written)
    const whole = stage.filter(({ isWhole }) => isWhole).map(({ name }) => name)
    for (const name of whole) await rename(join(directory, `${name}${FETCHED}`), join(directory, name))
    await syncAll(directory, whole)
  }
}

/** Writes the missing parts of a file, which `parts` gives. */
async function fetchFile(
  { name, kept, missing, isWhole }: Lacking,
  directory: string,
  parts: AsyncGenerator<Uint8Array, void>,
  written: (bytes: number) => void,
): Promise<void> {
  const path = join(directory, within(name))
  await mkdir(dirname(path), { recursive: true })
  const isCopied = isWhole && kept.length > 0
  if (isCopied) {
    await copyFile(path, `${path}${FETCHED}`, constants.COPYFILE_FICLONE)
    await truncate(`${path}${FETCHED}`, bytesOf(kept))
  }
  const file = await open(isWhole ? `${path}${FETCHED}` : path, isWhole && !isCopied ? 'w' : 'r+')
  try {
    let end = bytesOf(kept)
    for (const part of missing) {
      if (part.from !== end) throw new DamagedPartError(`the file ${name} lacks its bytes from ${end} on`)
      const { value: bytes } = await parts.next()
      if (bytes === undefined) throw new Error('fewer parts were read than asked for')
      await file.write(bytes, 0, bytes.length, part.from)
      end = bytesOf([part])
      written(bytes.length)
    }
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Orders files that make a commit before others. */
const byCommit = (one: string, other: string): number =>
  Number(COMMIT_FILE.test(other)) - Number(COMMIT_FILE.test(one))

async function lackingFiles(
  { there, files }: { readonly there: IndexFiles; readonly files: IndexFiles },
  directory: string,
): Promise<readonly Lacking[]> {
  const lacking: Lacking[] = []
  for (const [name, parts] of files) {
    const known = there.get(name) ?? null
    const isGrown = known?.every((part, at) => isSame(part, parts[at])) === true
    if (isGrown && known.length === parts.length) continue
    const kept = isGrown ? known : []
    // A commit that no log tells of may need the bytes that the file has behind them.
    const isLonger = isGrown && (await stat(join(directory, within(name)))).size > bytesOf(kept)
    lacking.push({ name, kept, missing: parts.slice(kept.length), isWhole: !isGrown || isLonger })
  }
  return lacking
}

/** The bytes of missing parts in order. */
function readInOrder(lacking: readonly Lacking[], read: ReadPart): AsyncGenerator<Uint8Array, void> {
  const wanted = lacking.flatMap(({ name, missing }) =>
    missing.map((part) => ({ name, part, bytes: part.bytes })),
  )
  return partsAhead(wanted, ({ name, part }) => bytesOfPart(name, part, read))
}

/** Lengths come from outside this machine, and so much is kept in memory. */
function requireLength(name: string, { bytes }: FilePart): void {
  if (!Number.isInteger(bytes) || bytes < 0 || bytes > PART_BYTES_MAX)
    throw new DamagedPartError(`a part of the file ${name} cannot have ${bytes} bytes`)
}

async function bytesOfPart(name: string, part: FilePart, read: ReadPart): Promise<Uint8Array> {
  requireLength(name, part)
  const bytes = await read(part)
  if (bytes === null) throw new DamagedPartError(`${locationOf(part)} is missing: a part of the file ${name}`)
  if (bytes.length !== part.bytes || crc32(bytes) !== part.crc)
    throw new DamagedPartError(`${locationOf(part)} is damaged: a part of the file ${name}`)
  return bytes
}

/**
 * The parts that files of a directory begin with, of those that the log tells of.
 * @param isOpen whether an engine has the directory open. Then a file that is longer than its parts counts as missing
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
    there.set(name, found)
  }
  return there
}

/** Copies files of these names that a directory has and the other one lacks. What they hold has to be compared. */
export async function copyNames(from: string, to: string, names: Iterable<string>): Promise<void> {
  const found = new Set(await namesBelow(from))
  const known = new Set(await namesBelow(to))
  for (const name of names) {
    if (!found.has(name) || known.has(name)) continue
    const path = join(to, within(name))
    await mkdir(dirname(path), { recursive: true })
    await copyFile(join(from, name), path, constants.COPYFILE_FICLONE)
  }
}

/** Names of all files below a directory, with slashes; none if it does not exist. */
async function namesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
}

/** Removes files of an index that are gone. */
export async function removeFiles(directory: string, there: IndexFiles, files: IndexFiles): Promise<void> {
  for (const name of there.keys())
    if (!files.has(name)) await rm(join(directory, within(name)), { force: true })
}

/**
 * Removes files that are none of these, and what follows the parts of a file, such as commits that no log tells of. Those
 * go first, so that what they name is there as long as they are.
 */
export async function keepOnly(directory: string, files: IndexFiles): Promise<void> {
  for (const name of (await namesBelow(directory)).toSorted(byCommit)) {
    const path = join(directory, name)
    const parts = files.get(name)
    if (parts === undefined) await rm(path, { force: true })
    else if ((await stat(path)).size > bytesOf(parts)) await truncate(path, bytesOf(parts))
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
