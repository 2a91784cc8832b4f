/** Downloads the files of an index from a bucket. */
import { type BigIntStats, constants } from 'node:fs'
import { copyFile, type FileHandle, open, readdir, rename, rm, stat, truncate } from 'node:fs/promises'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { crc32 } from 'node:zlib'
import { makeDirectory, syncDirectory } from '../../engine/index.js'
import { bytesOf, type FilePart, type IndexFiles, isFileName } from '../log/file-parts.js'
import { PART_BYTES_MAX } from '../object-store/limits.js'
import { partsAhead } from '../object-store/parts-ahead.js'

/** A part is missing or damaged. */
export class DamagedPartError extends Error {
  override readonly name = 'DamagedPartError'
}

/** Reads the bytes of a part; null: the bucket does not have them. */
export type ReadPart = (part: FilePart) => Promise<Uint8Array | null>

/** Names of commit files. They list the other files of a commit. */
const COMMIT_FILE = /^commit/

/** The files of an index without commit files. Adding them to its directory does not change the index. */
export const withoutCommits = (files: IndexFiles): IndexFiles =>
  new Map([...files].filter(([name]) => !COMMIT_FILE.test(name)))

/** Suffix of the name of a file during download. An interrupted download continues in it. */
const FETCHED = '.fetched'

/** A file with missing parts. */
interface IncompleteFile {
  readonly name: string
  /** Parts that are on disk already. */
  readonly kept: readonly FilePart[]
  readonly missing: readonly FilePart[]
  /**
   * `appended`: in the file itself. Otherwise it is written under a temporary name and then renamed, and begins with the
   * `kept` parts of the file (`copied`), or of an interrupted download (`resumed`).
   */
  readonly how: 'appended' | 'copied' | 'resumed' | 'new'
}

/**
 * Downloads missing parts into the directory of an index, which may not exist yet, and syncs files and names. A file
 * that grew is appended to. Any other file is written under a temporary name and then renamed, commit files last. The
 * current commit of the directory stays readable: `removeFiles` deletes other files later, and `keepOnly` truncates
 * longer files.
 * @param present parts that the directory has already
 * @param written called with the bytes of each written part
 * @throws DamagedPartError; the directory then has its former content, and maybe some of the new parts
 */
export async function fetchFiles(
  { present, files }: { readonly present: IndexFiles; readonly files: IndexFiles },
  directory: string,
  read: ReadPart,
  written: (bytes: number) => void,
): Promise<void> {
  await makeDirectory(directory)
  const incomplete = await incompleteFiles({ present, files }, directory)
  const isCommit = ({ name }: IncompleteFile): boolean => COMMIT_FILE.test(name)
  const stages = [incomplete.filter((file) => !isCommit(file)), incomplete.filter(isCommit)]
  const parts = readInOrder(stages.flat(), read)
  for (const stage of stages) {
    for (const file of stage) await fetchFile(file, directory, parts, written)
    const replaced = stage.filter(({ how }) => how !== 'appended').map(({ name }) => name)
    for (const name of replaced) await rename(join(directory, `${name}${FETCHED}`), join(directory, name))
    await syncAll(directory, replaced)
  }
}

/** Writes the missing parts of a file. Their bytes are the next items of `parts`. */
async function fetchFile(
  { name, kept, missing, how }: IncompleteFile,
  directory: string,
  parts: AsyncGenerator<Uint8Array, void>,
  written: (bytes: number) => void,
): Promise<void> {
  const path = join(directory, within(name))
  await makeDirectory(dirname(path))
  if (how === 'copied') await copyFile(path, `${path}${FETCHED}`, constants.COPYFILE_FICLONE)
  if (how === 'copied' || how === 'resumed') await truncate(`${path}${FETCHED}`, bytesOf(kept))
  const file = await open(how === 'appended' ? path : `${path}${FETCHED}`, how === 'new' ? 'w' : 'r+')
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

/** Sorts commit files before others. */
const byCommit = (one: string, other: string): number =>
  Number(COMMIT_FILE.test(other)) - Number(COMMIT_FILE.test(one))

async function incompleteFiles(
  { present, files }: { readonly present: IndexFiles; readonly files: IndexFiles },
  directory: string,
): Promise<readonly IncompleteFile[]> {
  const incomplete: IncompleteFile[] = []
  for (const [name, parts] of files) {
    const known = present.get(name) ?? null
    const isGrown = known?.every((part, at) => isSame(part, parts[at])) === true
    if (isGrown && known.length === parts.length) continue
    const path = join(directory, within(name))
    const beginning = await begunFile(path, name, parts, isGrown ? known : [])
    incomplete.push({ name, ...beginning, missing: parts.slice(beginning.kept.length) })
  }
  return incomplete
}

/** @param known leading parts of the file at this path */
async function begunFile(
  path: string,
  name: string,
  parts: readonly FilePart[],
  known: readonly FilePart[],
): Promise<Pick<IncompleteFile, 'how' | 'kept'>> {
  if (known.length === 0) {
    const kept = (await partsIn(`${path}${FETCHED}`, name, parts)) ?? []
    return { kept, how: kept.length > 0 ? 'resumed' : 'new' }
  }
  if ((await stat(path)).size === bytesOf(known)) return { kept: known, how: 'appended' }
  // The longer file may belong to a local commit that the log does not have, so it must not be changed in place. Or it was
  // appended to before an interruption, so that it has more of the parts.
  const more = (await partsIn(path, name, parts.slice(known.length))) ?? []
  return { kept: [...known, ...more], how: 'copied' }
}

/** Returns the leading parts that a file has according to their checksums; null: there is no such file. */
async function partsIn(
  path: string,
  name: string,
  parts: readonly FilePart[],
): Promise<readonly FilePart[] | null> {
  const file = await openIfExists(path)
  if (file === null) return null
  try {
    return await leadingParts(file, name, parts)
  } finally {
    await file.close()
  }
}

async function leadingParts(
  file: FileHandle,
  name: string,
  parts: readonly FilePart[],
): Promise<readonly FilePart[]> {
  const found: FilePart[] = []
  for (const part of parts) {
    requireLength(name, part)
    const bytes = Buffer.alloc(part.bytes)
    const { bytesRead } = await file.read(bytes, 0, part.bytes, part.from)
    if (bytesRead < part.bytes || crc32(bytes) !== part.crc) break
    found.push(part)
  }
  return found
}

const openIfExists = (path: string): Promise<FileHandle | null> =>
  open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })

/** Yields the bytes of missing parts in order. */
function readInOrder(
  incomplete: readonly IncompleteFile[],
  read: ReadPart,
): AsyncGenerator<Uint8Array, void> {
  const wanted = incomplete.flatMap(({ name, missing }) =>
    missing.map((part) => ({ name, part, bytes: part.bytes })),
  )
  return partsAhead(wanted, ({ name, part }) => bytesOfPart(name, part, read))
}

/** Checks a length from outside this machine before a buffer of that length is allocated. */
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
 * Returns the leading parts of each file that the directory has already, verified by checksum.
 * @param isOpen true if an engine has the directory open. A file that is longer than its parts counts as missing then
 * @param known see `KnownParts`
 */
export async function partsOnDisk(
  directory: string,
  files: IndexFiles,
  isOpen: boolean,
  known: (name: string, stats: BigIntStats, parts: readonly FilePart[]) => readonly FilePart[] | null = () =>
    null,
): Promise<IndexFiles> {
  const present = new Map<string, readonly FilePart[]>()
  for (const [name, parts] of files) {
    const file = await openIfExists(join(directory, within(name)))
    if (file === null) continue
    let size: number
    let found: readonly FilePart[]
    try {
      const stats = await file.stat({ bigint: true })
      size = Number(stats.size)
      found = known(name, stats, parts) ?? (await leadingParts(file, name, parts))
    } finally {
      await file.close()
    }
    if (found.length === 0 && parts.length > 0) continue
    if (size > bytesOf(found) && isOpen) continue
    present.set(name, found)
  }
  return present
}

/** Copies files that `from` has and `to` lacks. The caller verifies their content. */
export async function copyNames(from: string, to: string, names: Iterable<string>): Promise<void> {
  const found = new Set(await namesBelow(from))
  const known = new Set(await namesBelow(to))
  for (const name of names) {
    if (!found.has(name) || known.has(name)) continue
    const path = join(to, within(name))
    await makeDirectory(dirname(path))
    await copyFile(join(from, name), path, constants.COPYFILE_FICLONE)
  }
}

/** Names of all files under a directory, with slashes; empty if it does not exist. */
async function namesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
}

/** Removes files that `files` no longer has. */
export async function removeFiles(directory: string, present: IndexFiles, files: IndexFiles): Promise<void> {
  for (const name of present.keys())
    if (!files.has(name)) await rm(join(directory, within(name)), { force: true })
}

/**
 * Removes other files, and truncates files that are longer than their parts. Commit files go first, so that no commit
 * file is left without the files that it lists.
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
    await syncDirectory(one)
}

/** Checks a name, which comes from outside this machine. @throws DamagedPartError if it leaves the directory */
function within(name: string): string {
  if (!isFileName(name))
    throw new DamagedPartError(`an index cannot have a file named ${JSON.stringify(name.slice(0, 100))}`)
  return normalize(name)
}

/** Returns true if two parts have the same range and checksum. Their locations may differ. */
const isSame = (one: FilePart, other: FilePart | undefined): boolean =>
  other !== undefined && one.from === other.from && one.bytes === other.bytes && one.crc === other.crc

const locationOf = ({ location }: FilePart): string =>
  'key' in location
    ? `the object ${location.key}`
    : `the log record ${location.seq} at byte ${location.offset}`
