import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Embedders } from '../embedding/index.js'
import {
  BackgroundFaults,
  type EngineChoice,
  type OpenedEngine,
  openEngine,
  type WrapEngine,
} from '../engine/index.js'
import { LaunchError, type LaunchErrorCode } from '../launch/index.js'
import type { Rerankers } from '../reranking/index.js'
import {
  type AroundBatch,
  DirectoryInUseError,
  type ExportIndex,
  isDiskFull,
  type OpenedTasks,
  openTasks,
  type Rebuilt,
  rebuildTaskStore,
  releaseReserve,
  requireCompleteStore,
  StoreError,
  StoreUnusableError,
  type TasksSetup,
  type UidClass,
  UnreadableIndexError,
} from '../tasks/index.js'
import { type Logger, moduleLog } from '../telemetry/index.js'
import { dumperTo, snapshotterTo } from './backup/index.js'
import { endCopying } from './copied-directory.js'
import { type DataDirectory, entriesOf, openDataDirectory } from './data-directory.js'
import { replaceFile } from './files.js'
import { prepareDirectory } from './new-directory.js'
import { isSystemFault } from './system-fault.js'
import { beginUpgrade, forgetVersionBefore, versionBefore } from './upgrade.js'

/** An engine choice and the resources for the engine. */
export interface EngineRequest {
  readonly engine: EngineChoice
  readonly indexingMemoryBytes: number
  readonly indexingThreads: number
  /** See `EngineSetup`. */
  readonly searchThreads?: number | undefined
  /** Bytes of the engine's cache for all indexes together. Absent: see `EngineSetup`. */
  readonly cacheBytes?: number
  /** Bytes of answers cached until their index changes. Absent: answers are not cached. */
  readonly answerCacheBytes?: number
  /** Observes the calls of the engine. Absent: nothing does. */
  readonly wrapEngine?: WrapEngine
  readonly log: Logger
  /** Counts faults of background work. Absent: they are only logged. */
  readonly faults?: BackgroundFaults
  /** See `EngineSetup`. */
  readonly followsFiles?: boolean
  /** True if the directory must not change, even if the file that names its engine is missing or damaged. */
  readonly isReadOnly?: boolean
}

export interface InstanceRequest extends EngineRequest {
  readonly directory: string
  readonly version: string
  /** True if data of an older version may be upgraded; see `UpgradeRequest`. */
  readonly upgrade: boolean
  /** True if a snapshot is written to `snapshots` before an upgrade changes anything. Absent: true. */
  readonly upgradeSnapshot?: boolean
  /** Aborting it makes a snapshot before an upgrade reject soon. */
  readonly signal?: AbortSignal
  /** See `TasksSetup`. */
  readonly keepsChanges?: boolean
  /** See `TasksSetup`. */
  readonly uidClass?: UidClass | undefined
  /** True if a damaged or incomplete task store is replaced by a new one. */
  readonly rebuildTaskStore: boolean
  /** Directory of per-user configuration. */
  readonly userDirectory: string
  /** Limits of a batch; null: the default of the module `tasks`. */
  readonly batch: { readonly tasksMax: number | null; readonly payloadBytesMax: number | null }
  /** Number of stored tasks at which the oldest are deleted. Absent: the default of the module `tasks`. */
  readonly storedTasksMax?: number
  /** Absent: export tasks fail with an error code. */
  readonly exportIndex?: ExportIndex
  /** The directory that dumps are written to. Absent: dump tasks fail with an error code. */
  readonly dumpDirectory?: string
  /** Directory of snapshots and how many are kept. Absent: snapshot tasks fail with an error code. */
  readonly snapshots?: { readonly directory: string; readonly keptMax: number }
  /** Absent: tasks with documents that need vectors fail with an error code. */
  readonly embedders?: Embedders
  readonly rerankers?: Rerankers
  /** Runs each batch, to observe it. Absent: nothing does. */
  readonly aroundBatch?: AroundBatch
}

/** An open data directory with its engine and queue. */
export interface Instance {
  readonly data: DataDirectory
  readonly opened: OpenedEngine
  readonly queue: OpenedTasks
  /** Faults of background work of the engine and the queue. */
  readonly faults: BackgroundFaults
  /** null: the task store was not rebuilt. */
  readonly rebuilt: Rebuilt | null
  /** Closes the queue, then the engine. */
  close(): Promise<void>
}

/**
 * Opens a data directory, for the daemon and for use inside a process. The queue runs no task before `start`.
 * @throws LaunchError if the task store is damaged, incomplete or in use; then nothing was changed
 */
export async function openInstance(request: InstanceRequest): Promise<Instance> {
  const path = resolve(request.directory)
  try {
    const prepared = await prepareDirectory(path)
    try {
      return await openWithReserve(request)
    } catch (error) {
      await prepared.undo()
      throw error
    }
  } catch (error) {
    throw withAdvice(error, path)
  }
}

async function openWithReserve(request: InstanceRequest): Promise<Instance> {
  try {
    return await openOnce(request)
  } catch (error) {
    if (!isDiskFull(error) || !releaseReserve(resolve(request.directory))) throw error
    moduleLog(request.log, 'instance').warn(
      { err: error },
      'the disk is full: releasing its reserve, so that the server can start',
    )
    return openOnce(request)
  }
}

/** Converts an error of the operating system to a `LaunchError` with advice; returns other errors unchanged. */
export function withAdvice(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error
  const isKnown = error instanceof LaunchError
  if (!isKnown && !isSystemFault(error)) return error
  const [named = ''] = /\bE[A-Z]{3,}\b/.exec(error.message) ?? []
  const code = isDiskFull(error) ? 'ENOSPC' : named
  const advice = adviceByCode[code]
  if (isKnown && advice === undefined) return error
  const fault = isKnown ? error.message : `the data directory ${path} cannot be opened: ${error.message}`
  return new LaunchError(advice === undefined ? fault : `${fault}; ${advice}`, 1, {
    code: /^(ENOSPC|EDQUOT)$/.test(code) ? 'disk_full' : 'directory_unusable',
  })
}

const adviceByCode: Readonly<Record<string, string>> = {
  EACCES: 'the user that runs siftd needs to read and write it',
  EPERM: 'the user that runs siftd needs to read and write it',
  EROFS: 'choose a --db-path on a writable file system',
  ENOSPC: 'free some space on its file system',
  EDQUOT: 'free some space within the quota of its user',
  ENOTDIR: 'choose a --db-path that is a directory',
  EEXIST: 'choose a --db-path that is a directory',
  EMFILE: 'allow the process more open files',
}

async function openOnce(request: InstanceRequest): Promise<Instance> {
  const { log, version, userDirectory } = request
  const path = resolve(request.directory)
  const isCompared = await requireCompleteStore(path).then(
    () => true,
    (error: unknown) => (request.rebuildTaskStore && isRebuildable(error) ? false : throwLaunchError(error)),
  )
  const { snapshots, upgradeSnapshot = true, signal = new AbortController().signal } = request
  await beginUpgrade({
    path,
    version,
    upgrade: request.upgrade,
    log,
    signal,
    snapshotDirectory: upgradeSnapshot && snapshots !== undefined ? snapshots.directory : null,
    engine: () => requiredEngine(path, request.engine),
  }).catch(throwLaunchError)
  await endCopying(path)
  const data = await openDataDirectory({ path, version, userDirectory })
  if (data.wasUidDamaged)
    moduleLog(log, 'instance').warn(
      { file: join(data.path, 'instance-uid'), uid: data.instanceUid },
      'the file with the uid of the instance is damaged; rewriting it',
    )
  const { faults = new BackgroundFaults(moduleLog(log, 'instance')) } = request
  const opened = await openEngineIn(data.path, { ...request, faults })
  try {
    const { engine } = opened
    const { instanceUid } = data
    const { dumpDirectory } = request
    const from = await versionBefore(data.path)
    const setup: TasksSetup = {
      directory: data.path,
      isCompared,
      engine,
      log: moduleLog(log, 'tasks'),
      faults,
      limits: request.batch,
      keepsChanges: request.keepsChanges,
      uidClass: request.uidClass,
      storedTasksMax: request.storedTasksMax,
      exportIndex: request.exportIndex,
      ...(dumpDirectory !== undefined && {
        writeDump: dumperTo({ directory: dumpDirectory, version, instanceUid }),
      }),
      ...(snapshots !== undefined && {
        writeSnapshot: snapshotterTo({
          ...snapshots,
          name: basename(data.path),
          engine: opened.kind,
          version,
          instanceUid,
        }),
      }),
      embedders: request.embedders,
      rerankers: request.rerankers,
      aroundBatch: request.aroundBatch,
      ...(from !== null && { upgrade: { from, to: version } }),
    }
    let rebuilt: Rebuilt | null = null
    const queue = await openTasks(setup)
      .catch(async (error: unknown) => {
        if (!request.rebuildTaskStore || !isRebuildable(error)) throw error
        rebuilt = await rebuildTaskStore(data.path, engine)
        return openTasks({ ...setup, isCompared: false })
      })
      .catch(throwLaunchError)
    if (from !== null) await forgetVersionBefore(data.path)
    return {
      data,
      opened,
      queue,
      faults,
      rebuilt,
      async close() {
        await queue.close()
        await engine.close()
      },
    }
  } catch (error) {
    await opened.engine.close()
    throw error
  }
}

/** Returns true if rebuilding the task store can fix the error. */
const isRebuildable = (error: unknown): boolean =>
  error instanceof StoreUnusableError ||
  (error instanceof StoreError && error.reason === 'StoreUnusableError')

/** Throws a fault of the data directory as a `LaunchError`, which is shown in one line, and other errors unchanged. */
function throwLaunchError(error: unknown): never {
  const known = [StoreError, StoreUnusableError, DirectoryInUseError, UnreadableIndexError]
  const isKnown = error instanceof Error && known.some((kind) => error instanceof kind)
  if (!isKnown) throw error
  const fault = error instanceof StoreError && error.reason !== null ? error.reason : error.name
  throw new LaunchError(error.message, 1, { code: codeByFault[fault] ?? 'launch_failed' })
}

/** By the name of the error. */
const codeByFault: Readonly<Record<string, LaunchErrorCode>> = {
  DirectoryInUseError: 'directory_in_use',
  StoreUnusableError: 'directory_damaged',
  DamagedStoreError: 'directory_damaged',
  UnreadableIndexError: 'directory_damaged',
  StoreVersionError: 'directory_version',
}

/**
 * Opens the engine that wrote the data directory, or the requested one for a new directory.
 * @throws LaunchError if another engine wrote it
 */
export async function openEngineIn(path: string, request: EngineRequest): Promise<OpenedEngine> {
  const noted = await recordedEngine(path)
  const written = noted ?? (await engineInFiles(path, request.engine))
  if (noted === null && written !== null)
    moduleLog(request.log, 'instance').warn(
      { engine: written },
      'the file `engine` is missing or damaged; detected the engine from the index files',
    )
  const setup = {
    directory: join(path, INDEXES_DIRECTORY),
    log: moduleLog(request.log, 'engine'),
    faults: request.faults,
    indexingMemoryBytes: request.indexingMemoryBytes,
    indexingThreads: request.indexingThreads,
    searchThreads: request.searchThreads,
    cacheBytes: request.cacheBytes,
    followsFiles: request.followsFiles,
  }
  const opened = await openEngine(
    chosen(request.engine, written, path),
    setup,
    request.answerCacheBytes,
    request.wrapEngine,
  )
  try {
    if (noted === null && request.isReadOnly !== true)
      await writeFile(join(path, ENGINE_FILE), opened.kind, { flush: true })
  } catch (error) {
    await opened.engine.close()
    throw error
  }
  return written === null || request.engine !== 'auto' ? opened : { ...opened, why: reasonOfWriter(opened) }
}

/** The directory that holds a directory for each index. */
const INDEXES_DIRECTORY = 'indexes'

/** Names the engine that wrote the data directory. An engine cannot read files of the other engine. */
const ENGINE_FILE = 'engine'

/**
 * Returns the engine that wrote a data directory; null if it is new.
 * @throws LaunchError if another engine is requested
 */
async function requiredEngine(path: string, choice: EngineChoice): Promise<OpenedEngine['kind'] | null> {
  const written = (await recordedEngine(path)) ?? (await engineInFiles(path, choice))
  chosen(choice, written, path)
  return written
}

/** Returns the engine in the file `engine` of a data directory; null if the file is missing or damaged. */
export async function recordedEngine(directory: string): Promise<OpenedEngine['kind'] | null> {
  const text = await readFile(join(directory, ENGINE_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  const kind = text?.trim()
  return kind === 'native' || kind === 'fallback' ? kind : null
}

/** Records the engine that writes a data directory. */
export const recordEngine = (directory: string, kind: OpenedEngine['kind']): Promise<void> =>
  replaceFile(join(directory, ENGINE_FILE), kind)

/** File name patterns that identify the engine. */
const ownFiles: Readonly<Record<OpenedEngine['kind'], RegExp>> = {
  fallback: /^commits\.log$/,
  native: /^(commit|segment)-/,
}

/**
 * Detects the engine that wrote the indexes by the names of their files; null without indexes.
 * @throws LaunchError if the names do not identify an engine and the request does not name one
 */
async function engineInFiles(directory: string, choice: EngineChoice): Promise<OpenedEngine['kind'] | null> {
  const indexes = join(directory, INDEXES_DIRECTORY)
  const kinds = new Set<OpenedEngine['kind']>()
  let found = 0
  for (const name of await entriesOf(indexes)) {
    const files = await readdir(join(indexes, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOTDIR') return null
      throw error
    })
    if (files === null) continue
    found++
    for (const kind of ['fallback', 'native'] as const)
      if (files.some((file) => ownFiles[kind].test(file))) kinds.add(kind)
  }
  const [only = null] = kinds
  if (kinds.size === 1 || found === 0) return only
  if (choice !== 'auto') return null
  const what = kinds.size === 0 ? 'its index directories are empty' : 'both engines wrote indexes there'
  throw new LaunchError(
    `the file ${join(directory, ENGINE_FILE)} is missing or damaged, and ${what}; start with --engine native or --engine fallback, the one that wrote them, or restore a backup`,
    1,
  )
}

/**
 * Returns the engine to open: the engine that wrote the data, or the requested one for a new directory.
 * @throws LaunchError if another engine than the requested one wrote the data
 */
function chosen(choice: EngineChoice, written: OpenedEngine['kind'] | null, directory: string): EngineChoice {
  if (written === null || choice === written) return choice
  if (choice === 'auto') return written
  const wayOut = `start with --engine ${written}, or take a dump with it and import that into another --db-path`
  throw new LaunchError(
    `${directory} was written by the ${written} engine, not the ${choice} one; ${wayOut}`,
    1,
    { code: 'directory_engine' },
  )
}

const reasonOfWriter = ({ kind, why }: OpenedEngine): string =>
  kind === 'fallback' ? 'the data was written by it' : `the data was written by it; ${why}`
