import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { DumpError, restoreDump } from '../backup/index.js'
import { ApiError } from '../errors/index.js'
import { type EngineRequest, entriesOf, markDataDirectory, openEngineIn } from '../instance/index.js'
import { LaunchError } from '../settings/index.js'

export interface DumpStart extends EngineRequest {
  /** The dump. */
  readonly archive: string
  readonly ignoreMissing: boolean
  readonly ignoreIfDbExists: boolean
  /** The data directory to be. */
  readonly directory: string
  /** `major.minor.patch` of this build. */
  readonly version: string
  /** Once aborted, the import ends soon by rejecting with its reason, and leaves nothing. */
  readonly signal: AbortSignal
  /** Told often. `total` is 0 for what cannot be foreseen. */
  progress(doing: string, finished: number, total: number): void
}

/**
 * Makes a data directory out of a dump, unless the options say to go on with what there is. It comes into
 * being beside its place and gets its name once it is whole.
 * @throws LaunchError, or the reason of the signal; then nothing is left of it, and what was there is as it was
 */
export async function startFromDump(request: DumpStart): Promise<void> {
  const { archive, ignoreMissing, ignoreIfDbExists, log } = request
  const target = resolve(request.directory)
  const isMissing = !(await isFile(archive))
  if (isMissing && !ignoreMissing)
    throw new LaunchError(
      `--import-dump: there is no file ${archive}; --ignore-missing-dump starts without it`,
      1,
    )
  if ((await entriesOf(target)).length > 0) {
    if (ignoreIfDbExists)
      return log.info({ archive, directory: target }, 'there is data already: no dump is imported')
    const wayOut = 'choose another --db-path, or --ignore-dump-if-db-exists to start with the data there is'
    throw new LaunchError(`--import-dump: ${target} holds data already; ${wayOut}`, 1)
  }
  if (isMissing) return log.info({ archive }, 'there is no dump to import')
  const making = `${target}.importing-${process.pid}`
  try {
    await removeLeftovers(target)
    await mkdir(making, { recursive: true, mode: 0o700 })
    await fill(making, request)
    await moveTo(making, target)
    log.info({ archive, directory: target }, 'imported the dump')
  } catch (error) {
    await rm(making, { recursive: true, force: true })
    if (error instanceof DumpError || error instanceof ApiError || isSystemError(error))
      throw new LaunchError(`--import-dump: ${archive} cannot be imported: ${error.message}`, 1)
    throw error
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw new LaunchError(`--import-dump: ${path} cannot be read: ${code}`, 1)
  }
}

async function fill(making: string, request: DumpStart): Promise<void> {
  const { engine } = await openEngineIn(making, request)
  let uid: string | null
  try {
    const { archive, signal, progress } = request
    uid = (await restoreDump({ archive, directory: making, engine, signal, progress })).instanceUid
  } finally {
    await engine.close()
  }
  await markDataDirectory(making, request.version, uid)
}

/** Gives the finished directory its name, once everything in it would survive a power cut. */
async function moveTo(made: string, target: string): Promise<void> {
  for (const entry of await readdir(made, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) await syncNames(join(entry.parentPath, entry.name))
  await syncNames(made)
  await rmdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(made, target)
  await syncNames(dirname(target))
}

/** Windows refuses to open a directory; its file systems journal names by themselves. */
async function syncNames(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes what imports into `target` have left whose process has ended. */
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

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined
