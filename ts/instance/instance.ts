import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { dumperTo } from '../backup/index.js'
import type { Embedders } from '../embedders/index.js'
import { BackgroundFaults, type EngineChoice, type OpenedEngine, openEngine } from '../engine/index.js'
import { LaunchError } from '../settings/index.js'
import {
  DirectoryInUseError,
  type ExportIndex,
  giveUpReserve,
  isDiskFull,
  type OpenedTasks,
  openTasks,
  type Rebuilt,
  rebuildTaskStore,
  requireCompleteStore,
  StoreError,
  StoreUnusableError,
  type TasksSetup,
} from '../tasks/index.js'
import type { Logger } from '../telemetry/index.js'
import { type DataDirectory, entriesOf, openDataDirectory } from './data-directory.js'

/** Which engine is to work on a data directory, and with what. */
export interface EngineRequest {
  readonly engine: EngineChoice
  readonly indexingMemoryBytes: number
  readonly indexingThreads: number
  /** Bytes of answers kept until their index changes. Absent: none are kept. */
  readonly answerCacheBytes?: number
  readonly log: Logger
  /** Where faults of work in the background are counted. Absent: they are logged alone. */
  readonly faults?: BackgroundFaults
}

export interface InstanceRequest extends EngineRequest {
  readonly directory: string
  readonly version: string
  readonly upgrade: boolean
  /** Whether a task store that is damaged or incomplete is made anew. */
  readonly rebuildTaskStore: boolean
  /** Directory of per-user configuration. */
  readonly userDirectory: string
  /** null: no limit but the task room's own. */
  readonly batch: { readonly tasksMax: number | null; readonly payloadBytesMax: number | null }
  /** Absent: exports fail by a code. */
  readonly exportIndex?: ExportIndex
  /** Where dumps go. Absent: they fail by a code. */
  readonly dumpDirectory?: string
  /** Absent: documents that need vectors fail by a code. */
  readonly embedders?: Embedders
}

/** A data directory with its engine and queue, without any way in. */
export interface Instance {
  readonly data: DataDirectory
  readonly opened: OpenedEngine
  readonly queue: OpenedTasks
  /** Faults of the engine's and the queue's work in the background. */
  readonly faults: BackgroundFaults
  /** null: the task store is the one that was there. */
  readonly rebuilt: Rebuilt | null
  /** Closes the queue, then the engine. */
  close(): Promise<void>
}

/**
 * Opens what the daemon and the in-process entry share. The queue waits for its `start`.
 * @throws LaunchError if the task store is damaged, incomplete or in use; then nothing was touched
 */
export async function openInstance(request: InstanceRequest): Promise<Instance> {
  try {
    return await openOnce(request)
  } catch (error) {
    if (!isDiskFull(error) || !giveUpReserve(resolve(request.directory))) throw error
    request.log.warn(
      { err: error },
      'the disk is full: its reserve is given up, so that the server can start',
    )
    return openOnce(request)
  }
}

async function openOnce(request: InstanceRequest): Promise<Instance> {
  const { log, version, upgrade, userDirectory } = request
  await requireCompleteStore(resolve(request.directory)).catch((error: unknown) => {
    if (!request.rebuildTaskStore || !isUnusable(error)) asLaunchError(error)
  })
  const data = await openDataDirectory({ path: request.directory, version, upgrade, userDirectory })
  const { faults = new BackgroundFaults(log) } = request
  const opened = await openEngineIn(data.path, { ...request, faults })
  try {
    const { engine } = opened
    const { instanceUid } = data
    const { dumpDirectory } = request
    const setup: TasksSetup = {
      directory: data.path,
      engine,
      log,
      faults,
      limits: request.batch,
      ...(request.exportIndex !== undefined && { exportIndex: request.exportIndex }),
      ...(dumpDirectory !== undefined && {
        writeDump: dumperTo({ directory: dumpDirectory, version, instanceUid }),
      }),
      ...(request.embedders !== undefined && { embedders: request.embedders }),
    }
    let rebuilt: Rebuilt | null = null
    const queue = await openTasks(setup)
      .catch(async (error: unknown) => {
        if (!request.rebuildTaskStore || !isUnusable(error)) throw error
        rebuilt = await rebuildTaskStore(data.path, engine)
        return openTasks(setup)
      })
      .catch(asLaunchError)
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

/** Whether a new task store is the way out. */
const isUnusable = (error: unknown): boolean =>
  error instanceof StoreUnusableError ||
  (error instanceof StoreError && error.reason === 'StoreUnusableError')

/** What the user of a data directory can do something about is one line. */
function asLaunchError(error: unknown): never {
  const isKnown =
    error instanceof StoreError || error instanceof StoreUnusableError || error instanceof DirectoryInUseError
  throw isKnown ? new LaunchError(error.message, 1) : error
}

/**
 * Opens the engine of a data directory, the one that wrote it or, if it is new, the one asked for.
 * @throws LaunchError if another one is asked for
 */
export async function openEngineIn(path: string, request: EngineRequest): Promise<OpenedEngine> {
  const noted = await engineOf(path)
  const written = noted ?? (await engineInFiles(path, request.engine))
  if (noted === null && written !== null)
    request.log.warn(
      { engine: written },
      'the file `engine` is missing or damaged; the indexes tell who wrote them',
    )
  const setup = {
    directory: join(path, INDEXES_DIRECTORY),
    log: request.log,
    faults: request.faults,
    indexingMemoryBytes: request.indexingMemoryBytes,
    indexingThreads: request.indexingThreads,
  }
  const opened = await openEngine(chosen(request.engine, written, path), setup, request.answerCacheBytes)
  try {
    if (noted === null) await writeFile(join(path, ENGINE_FILE), opened.kind, { flush: true })
  } catch (error) {
    await opened.engine.close()
    throw error
  }
  return written === null || request.engine !== 'auto' ? opened : { ...opened, why: whyKept(opened) }
}

/** Holds a directory for each index. */
const INDEXES_DIRECTORY = 'indexes'

/** Names the engine whose files lie in the data directory: the two do not read each other's. */
const ENGINE_FILE = 'engine'

async function engineOf(directory: string): Promise<OpenedEngine['kind'] | null> {
  const text = await readFile(join(directory, ENGINE_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  const kind = text?.trim()
  return kind === 'native' || kind === 'fallback' ? kind : null
}

/** Files that only one of the engines writes. */
const ownFiles: Readonly<Record<OpenedEngine['kind'], RegExp>> = {
  fallback: /^commits\.log$/,
  native: /^(commit|segment)-/,
}

/**
 * The engine that wrote the indexes, told by their files; null if there are none.
 * @throws LaunchError if they do not tell and no engine is asked for
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
  const what = kinds.size === 0 ? 'its index directories are empty' : 'its indexes are of both'
  throw new LaunchError(
    `the file ${join(directory, ENGINE_FILE)} is missing or damaged, and ${what}; start with --engine native or --engine fallback, whichever wrote them, or restore a backup`,
    1,
  )
}

/**
 * The engine to open: the one that wrote the data, whatever would be taken for a new directory.
 * @throws LaunchError if the other one is asked for
 */
function chosen(choice: EngineChoice, written: OpenedEngine['kind'] | null, directory: string): EngineChoice {
  if (written === null || choice === written) return choice
  if (choice === 'auto') return written
  const wayOut = `start with --engine ${written}, or take a dump with it and import that into another --db-path`
  throw new LaunchError(
    `${directory} was written by the ${written} engine, not the ${choice} one; ${wayOut}`,
    1,
  )
}

const whyKept = ({ kind, why }: OpenedEngine): string =>
  kind === 'fallback' ? 'the data was written by it' : `the data was written by it; ${why}`
