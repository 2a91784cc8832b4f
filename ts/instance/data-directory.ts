import { randomUUID } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { LaunchError } from '../launch/index.js'
import { replaceFile, textOf } from './files.js'
import { readVersion, requireVersion, writeVersion } from './version-file.js'

/** A data directory whose version has been checked. */
export interface DataDirectory {
  /** The absolute path. */
  readonly path: string
  /** UUIDv4 of the instance, the same across restarts. */
  readonly instanceUid: string
  /** True if the instance got its uid at this start. */
  readonly isFirstStart: boolean
  /** True if the file with the uid was damaged and has been rewritten. */
  readonly wasUidDamaged: boolean
}

interface DataDirectoryRequest {
  readonly path: string
  /** `major.minor.patch` of this build. */
  readonly version: string
  /** Directory of per-user configuration, for a copy of the instance's uid. */
  readonly userDirectory: string
}

/**
 * Marks an empty directory with this version, or checks that this version wrote its data.
 * @throws LaunchError that names both versions and a remedy; then nothing was changed
 */
export async function openDataDirectory(request: DataDirectoryRequest): Promise<DataDirectory> {
  const path = resolve(request.path)
  if ((await entriesOf(path)).length > 0)
    requireVersion(await readVersion(path), { ...request, upgrade: false }, path)
  await writeVersion(path, request.version)
  return { path, ...(await instanceUid(path, request.userDirectory)) }
}

/** Marks `path`, which already holds indexes and a task store, as a data directory of `version`. */
export async function markDataDirectory(path: string, version: string, uid: string | null): Promise<void> {
  if (uid !== null) await replaceFile(join(path, 'instance-uid'), uid)
  await writeVersion(path, version)
}

/** Returns the names in a data directory; empty if it does not exist. @throws LaunchError if it cannot be read */
export async function entriesOf(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    throw new LaunchError(`the data directory ${path} cannot be read: ${code}`, 1)
  }
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
    // Running does not need the copy, so an unwritable home directory does not prevent the start.
  }
  return { instanceUid: uid, isFirstStart: known === null, wasUidDamaged: isDamagedUid(own) }

  /** Returns the copy of the uid; null if it cannot be read, which does not prevent the start. */
  async function copiedUid(): Promise<string | null> {
    return textOf(copy).catch(() => null)
  }
}

/** @param text of the file `instance-uid`; null: the file does not exist */
export const isDamagedUid = (text: string | null): boolean => text !== null && uidIn(text) === null

const uidIn = (text: string | null): string | null =>
  text !== null && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text.trim()) ? text.trim() : null
