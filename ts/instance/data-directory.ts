import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { LaunchError } from '../launch/index.js'

/** A data directory whose version has been checked. */
export interface DataDirectory {
  /** The absolute path. */
  readonly path: string
  /** UUIDv4 of the instance, the same across restarts. */
  readonly instanceUid: string
  /** Whether the instance got its uid just now. */
  readonly isFirstStart: boolean
  /** Whether the file with the uid was damaged, and was written again. */
  readonly wasUidDamaged: boolean
}

export interface DataDirectoryRequest {
  readonly path: string
  /** `major.minor.patch` of this build. */
  readonly version: string
  /** Directory of per-user configuration, where a copy of the instance's uid is written. */
  readonly userDirectory: string
}

/**
 * Marks an empty directory as one of this version, or checks that this version wrote its data.
 * @throws LaunchError that names both versions and a remedy; then nothing was changed
 */
export async function openDataDirectory(request: DataDirectoryRequest): Promise<DataDirectory> {
  const path = resolve(request.path)
  if ((await entriesOf(path)).length > 0)
    requireVersion(await writtenVersion(path), { ...request, upgrade: false }, path)
  await replaceFile(join(path, 'VERSION'), `${request.version}\n`)
  return { path, ...(await instanceUid(path, request.userDirectory)) }
}

/**
 * Writes the files that mark `path`, which holds indexes and a task store already, as a data directory of `version`.
 */
export async function markDataDirectory(path: string, version: string, uid: string | null): Promise<void> {
  if (uid !== null) await replaceFile(join(path, 'instance-uid'), uid)
  await replaceFile(join(path, 'VERSION'), `${version}\n`)
}

/** Names in a data directory; none if it does not exist. @throws LaunchError if it cannot be read */
export async function entriesOf(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    throw new LaunchError(`the data directory ${path} cannot be read: ${code}`, 1)
  }
}

/** The version that wrote the data; empty if nothing tells it. */
export const writtenVersion = async (path: string): Promise<string> =>
  (await textOf(join(path, 'VERSION')))?.trim() ?? ''

/** What opening data depends on, beside who wrote it. */
export interface VersionRequest {
  /** `major.minor.patch` of this build. */
  readonly version: string
  /** Whether data that an older version wrote may be opened, and belongs to this version from then on. */
  readonly upgrade: boolean
}

/**
 * @param found the version that wrote the data; empty if nothing tells it
 * @param what the data, for the message
 * @returns whether it is an older version
 * @throws LaunchError if this version must not open data of that one
 */
export function requireVersion(found: string, { version, upgrade }: VersionRequest, what: string): boolean {
  const order = compareVersions(found, version)
  if (order === null) {
    const why =
      found === '' ? 'has no VERSION file, or an empty one' : `has the unreadable version \`${found}\``
    throw new LaunchError(`${what} ${why}; it is not a data directory of siftd, choose another --db-path`, 1)
  }
  if (order === 0 || (order < 0 && upgrade)) return order < 0
  const wayOut =
    order > 0
      ? `start siftd ${found}, or start from a dump taken with it`
      : 'start with --upgrade-db, which takes a snapshot first, or start from a dump'
  throw new LaunchError(`${what} was written by version ${found} and this is ${version}; ${wayOut}`, 1)
}

/** Below 0 if `left` is older, above 0 if it is newer; null if `left` is not three numbers. */
function compareVersions(left: string, right: string): number | null {
  if (!/^\d+\.\d+\.\d+$/.test(left)) return null
  const [older, newer] = [left, right].map((version) => version.split('.').map(Number))
  const at = older!.findIndex((part, position) => part !== newer![position])
  return at === -1 ? 0 : older![at]! - newer![at]!
}

async function instanceUid(path: string, users: string): Promise<Omit<DataDirectory, 'path'>> {
  const file = join(path, 'instance-uid')
  const copy = join(users, `${path.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-/, '')}-instance-uid`)
  const own = await textOf(file)
  const known = uidIn(own) ?? uidIn(await copiedUid())
  const uid = known ?? randomUUID()
  await replaceFile(file, uid)
  try {
    await mkdir(users, { recursive: true })
    await replaceFile(copy, uid)
  } catch {
    // The copy is not needed to run, so a home directory that cannot be written to is no reason not to start.
  }
  return { instanceUid: uid, isFirstStart: known === null, wasUidDamaged: isDamagedUid(own) }

  /** The copy of the uid; null if none can be read, which is no reason not to start. */
  async function copiedUid(): Promise<string | null> {
    return textOf(copy).catch(() => null)
  }
}

/** @param text of the file `instance-uid`; null: there is none */
export const isDamagedUid = (text: string | null): boolean => text !== null && uidIn(text) === null

const uidIn = (text: string | null): string | null =>
  text !== null && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text.trim()) ? text.trim() : null

/**
 * The text of a file; null if it does not exist. @throws LaunchError if it cannot be read, so that it is not replaced
 */
export async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw new LaunchError(`${path} cannot be read: ${code}`, 1)
  }
}

/** Writes a file by renaming, so that it is never empty: with an empty VERSION the data could not be opened. */
export async function replaceFile(path: string, content: string): Promise<void> {
  if ((await textOf(path)) === content) return
  try {
    await writeFile(`${path}.new`, content, { flush: true })
    await rename(`${path}.new`, path)
  } catch (error) {
    await rm(`${path}.new`, { force: true })
    throw error
  }
}
