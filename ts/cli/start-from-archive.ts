import { readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { makeDirectory, syncDirectory } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import {
  ArchiveError,
  type EngineRequest,
  entriesOf,
  isSystemFault,
  markDataDirectory,
  openEngineIn,
  type RestoreRequest,
  requireVersion,
  restoreDump,
  restoreSnapshot,
} from '../instance/index.js'
import { LaunchError } from '../launch/index.js'
import { StoreError } from '../tasks/index.js'

export interface ArchiveStart extends EngineRequest {
  readonly kind: 'dump' | 'snapshot'
  /** The path of the archive. */
  readonly archive: string
  readonly ignoreMissing: boolean
  readonly ignoreIfDbExists: boolean
  /** The data directory to create. */
  readonly directory: string
  /** `major.minor.patch` of this build. */
  readonly version: string
  /** True to accept a snapshot of an older version. */
  readonly upgrade: boolean
  /** Aborts the import, which removes its files and rejects with the reason of the signal. */
  readonly signal: AbortSignal
  /** Called often. @param total 0 if not known */
  progress(doing: string, finished: number, total: number): void
}

/**
 * Creates a data directory from a dump or a snapshot, unless data exists and the options say to keep it. Fills a
 * temporary directory next to it and renames that at the end.
 * @returns true if the archive was imported
 * @throws LaunchError, or the reason of the signal; the new directory is removed then, and existing data is not changed
 */
export async function startFromArchive(request: ArchiveStart): Promise<boolean> {
  const { kind, archive, ignoreMissing, ignoreIfDbExists, log } = request
  const target = resolve(request.directory)
  const isMissing = !(await isFile(archive, kind))
  if (isMissing && !ignoreMissing)
    throw new LaunchError(
      `--import-${kind}: there is no file ${archive}; --ignore-missing-${kind} starts without it`,
      1,
    )
  if ((await entriesOf(target)).length > 0) {
    if (ignoreIfDbExists) {
      log.info({ archive, directory: target }, `data exists already: no ${kind} is imported`)
      return false
    }
    const remedy = `choose another --db-path, or --ignore-${kind}-if-db-exists to start with the existing data`
    throw new LaunchError(`--import-${kind}: ${target} holds data already; ${remedy}`, 1)
  }
  if (isMissing) {
    log.info({ archive }, `there is no ${kind} to import`)
    return false
  }
  const temporary = `${target}.importing-${process.pid}`
  try {
    await removeLeftovers(target)
    await makeDirectory(temporary, 0o700)
    await fill[kind](temporary, request)
    await moveTo(temporary, target)
    log.info({ archive, directory: target }, `imported the ${kind}`)
    return true
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    if (isClearWithoutStack(error))
      throw new LaunchError(`--import-${kind}: ${archive} cannot be imported: ${error.message}`, 1)
    throw error
  }
}

async function isFile(path: string, kind: ArchiveStart['kind']): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw new LaunchError(`--import-${kind}: ${path} cannot be read: ${code}`, 1)
  }
}

/** Fills a new data directory. */
const fill: Readonly<
  Record<ArchiveStart['kind'], (directory: string, request: ArchiveStart) => Promise<void>>
> = {
  async dump(directory, request) {
    const { engine } = await openEngineIn(directory, request)
    let uid: string | null
    try {
      const { archive, version, log, signal, progress } = request
      const recognized: RestoreRequest['recognized'] = (origin) =>
        log.info({ archive, ...origin }, 'importing a dump')
      const restored = await restoreDump({
        archive,
        directory,
        engine,
        version,
        signal,
        recognized,
        progress,
      })
      uid = restored.instanceUid
    } finally {
      await engine.close()
    }
    await markDataDirectory(directory, request.version, uid)
  },

  /** Opens the engine once, so that invalid data is refused before the rename. */
  async snapshot(directory, request) {
    const { archive, signal, progress } = request
    const written = await restoreSnapshot({ archive, directory, signal, progress })
    requireVersion({ version: written, checksum: 'unknown' }, request, `the snapshot ${archive}`)
    await markDataDirectory(directory, written, null)
    try {
      await (await openEngineIn(directory, request)).engine.close()
    } catch (error) {
      if (!(error instanceof LaunchError)) throw error
      throw new LaunchError(error.message.replaceAll(directory, archive), error.exitCode)
    }
  },
}

/** Syncs all names in the finished directory, then renames it. */
async function moveTo(finished: string, target: string): Promise<void> {
  for (const entry of await readdir(finished, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) await syncDirectory(join(entry.parentPath, entry.name))
  await syncDirectory(finished)
  await rmdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(finished, target)
  await syncDirectory(dirname(target))
}

/** Removes temporary directories of imports into `target` whose process no longer runs. */
async function removeLeftovers(target: string): Promise<void> {
  const prefix = `${basename(target)}.importing-`
  for (const name of await entriesOf(dirname(target))) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : Number.NaN
    if (Number.isInteger(pid) && (pid === process.pid || !isRunning(pid)))
      await rm(join(dirname(target), name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Returns true if the message of an error is clear without its stack. */
const isClearWithoutStack = (error: unknown): error is Error =>
  error instanceof ArchiveError ||
  error instanceof ApiError ||
  error instanceof StoreError ||
  isSystemFault(error)
