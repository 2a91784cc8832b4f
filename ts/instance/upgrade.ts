/**
 * Here is a data directory of an older version: how does it become one of this version?
 *
 * Under the lock of the directory, a snapshot of it is taken before anything in it is changed. Then the file `UPGRADE`
 * names the older version, and `VERSION` this one, so that the older one refuses the directory from here on. Opening
 * the task store brings its tables to their newest form. A task that holds the queue does the rest; once it is
 * enqueued, `UPGRADE` is removed. After an end at any point the next start goes on.
 */
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { snapshotterTo } from '../backup/index.js'
import { LaunchError } from '../launch/index.js'
import { claimDirectory, sourceAtRest } from '../tasks/index.js'
import type { Logger } from '../telemetry/index.js'
import { entriesOf } from './data-directory.js'
import { replaceFile, textOf } from './files.js'
import { readVersion, requireVersion, type VersionRequest, writeVersion } from './version-file.js'

export interface UpgradeRequest extends VersionRequest {
  /** The absolute path of the data directory. */
  readonly path: string
  /** The directory for a snapshot of the data as it was; null: none is taken. */
  readonly snapshotDirectory: string | null
  /** The engine that wrote the data; null if there is none yet. @throws LaunchError if it cannot be opened with it */
  readonly engine: () => Promise<string | null>
  readonly log: Logger
  /** Aborting it makes the snapshot reject soon. */
  readonly signal: AbortSignal
}

/** The file that names the older version until the task of the upgrade is enqueued. */
const fileOf = (path: string): string => join(path, 'UPGRADE')

/** The version of the data before an upgrade whose task is not enqueued yet; null if there is none. */
export const versionBefore = async (path: string): Promise<string | null> =>
  (await textOf(fileOf(path)))?.trim() || null

/** Called once the task of the upgrade is enqueued. */
export const forgetVersionBefore = (path: string): Promise<void> => rm(fileOf(path), { force: true })

/**
 * Makes data of an older version, if the request allows it, belong to this version.
 * @throws LaunchError if the data must not be opened by this version, or if the snapshot cannot be taken; then nothing
 * was changed
 * @throws DirectoryInUseError
 */
export async function beginUpgrade(request: UpgradeRequest): Promise<void> {
  const { path, version, log } = request
  if ((await entriesOf(path)).length === 0) return
  if (!requireVersion(await readVersion(path), request, path)) return
  const engine = await request.engine()
  const release = await claimDirectory(path)
  try {
    // Another process may have upgraded the data before this one had the lock.
    const written = await readVersion(path)
    if (!requireVersion(written, request, path)) return
    const from = written.version
    if ((await versionBefore(path)) === null) {
      if (request.snapshotDirectory !== null)
        await takeSnapshot(request, request.snapshotDirectory, from, engine)
      await replaceFile(fileOf(path), `${from}\n`)
    }
    await writeVersion(path, version)
    log.info({ from, to: version }, 'upgrading the data directory')
  } finally {
    release()
  }
}

async function takeSnapshot(
  { path, version, signal, log }: UpgradeRequest,
  directory: string,
  from: string,
  engine: string | null,
): Promise<void> {
  const source = await sourceAtRest(path, signal)
  if (source === null) return
  const name = `${basename(path)}-before-${version}`
  const file = join(directory, `${name}.snapshot`)
  const instanceUid = (await textOf(join(path, 'instance-uid')))?.trim() || randomUUID()
  log.info({ from, snapshot: file }, 'taking a snapshot before the upgrade')
  try {
    // An empty directory has no engine, and a restored one is opened with either.
    await snapshotterTo({ directory, name, keptMax: 1, engine: engine ?? '', version: from, instanceUid })(
      source,
    )
  } catch (error) {
    signal.throwIfAborted()
    // Codes of the system would be taken for faults of the data directory, and get advice about it.
    const reason = String(error instanceof Error ? error.message : error).replace(/\bE[A-Z]{3,}: /g, '')
    throw new LaunchError(
      `${path} was not upgraded, since no snapshot of it could be taken: ${reason}; start again once it can be taken, or with --upgrade-without-snapshot as well`,
      1,
    )
  }
}
