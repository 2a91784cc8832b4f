/**
 * Upgrades a data directory of an older version.
 *
 * First takes a snapshot of the directory, under its lock. Then writes the older version to the file `UPGRADE` and this
 * version to `VERSION`, so that the older version refuses the directory from here on. Opening the task store brings its
 * tables to their newest form. A task that holds the queue does the rest. `UPGRADE` is removed when it is enqueued.
 * After a crash at any point the next start continues.
 */
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { LaunchError } from '../launch/index.js'
import { claimDirectory, sourceAtRest } from '../tasks/index.js'
import type { Logger } from '../telemetry/index.js'
import { snapshotterTo } from './backup/index.js'
import { entriesOf } from './data-directory.js'
import { replaceFile, textOf } from './files.js'
import { readVersion, requireVersion, type VersionRequest, writeVersion } from './version-file.js'

interface UpgradeRequest extends VersionRequest {
  /** The absolute path of the data directory. */
  readonly path: string
  /** The directory for a snapshot of the old data; null: no snapshot. */
  readonly snapshotDirectory: string | null
  /** Returns the engine that wrote the data; null if it is new. @throws LaunchError if it cannot open the data */
  readonly engine: () => Promise<string | null>
  readonly log: Logger
  /** Aborting it makes the snapshot reject soon. */
  readonly signal: AbortSignal
}

/** The file that holds the older version until the upgrade task is enqueued. */
const fileOf = (path: string): string => join(path, 'UPGRADE')

/** Returns the version before an upgrade whose task is not enqueued yet; null without an upgrade. */
export const versionBefore = async (path: string): Promise<string | null> =>
  (await textOf(fileOf(path)))?.trim() || null

/** Called when the upgrade task is enqueued. */
export const forgetVersionBefore = (path: string): Promise<void> => rm(fileOf(path), { force: true })

/**
 * Upgrades data of an older version to this version, if the request allows it.
 * @throws LaunchError if this version must not open the data, or the snapshot fails; then nothing was changed
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
    // An empty directory has no engine. Once restored, either engine can open it.
    await snapshotterTo({ directory, name, keptMax: 1, engine: engine ?? '', version: from, instanceUid })(
      source,
    )
  } catch (error) {
    signal.throwIfAborted()
    // Remove error codes of the system: they would be mistaken for faults of the data directory and get advice about
    // it.
    const reason = String(error instanceof Error ? error.message : error).replace(/\bE[A-Z]{3,}: /g, '')
    throw new LaunchError(
      `${path} was not upgraded, because its snapshot failed: ${reason}; fix this and start again, or add --upgrade-without-snapshot`,
      1,
    )
  }
}
