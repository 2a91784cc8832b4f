/**
 * The thread that owns the task store: no sync of the disk ever stops the main thread.
 * What it does with requests is told in `desk.ts`.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isMainThread, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { BackgroundFault, ReportFault } from '../../engine/index.js'
import { type Driver, type DriverName, loadDriver, storeFault } from './driver.js'
import { GroupCommit } from './group-commit.js'
import { claim, DirectoryInUseError } from './lock.js'
import { MarkWriter } from './mark.js'
import type { Reply, Request } from './records.js'
import { Reserve, reservePath } from './reserve.js'
import { DamagedStoreError, Store, StoreVersionError } from './store.js'
import {
  markPath,
  objection,
  refusal,
  StoreUnusableError,
  type Survey,
  storePath,
  survey,
  wholeFile,
} from './survey.js'

/** What the main thread starts this one with. */
export interface WorkerSetup {
  /** The data directory. */
  readonly directory: string
  /** Whether the directory is being made, so that there need not be a store for the indexes in it. */
  readonly isNew: boolean
  readonly driver: DriverName | null
  /** See `RESERVE_BYTES` and `STORE_BYTES_MAX`. */
  readonly reserveBytes: number
  readonly storeBytesMax: number
}

/** Version of the tables from which on a store has a mark. */
const FIRST_MARKED_VERSION = 5

/** The first message of this thread. */
export type Opened =
  | {
      readonly ok: true
      readonly driver: DriverName
      readonly reasons: readonly string[]
      /** Why it cannot be told whether the store is complete, null if it can. */
      readonly doubt: string | null
    }
  | { readonly ok: false; readonly name: string; readonly message: string }

/** The messages after that; a fault comes unasked. */
export type StoreMessage = readonly Reply[] | 'closed' | { readonly fault: BackgroundFault }

if (!isMainThread && parentPort !== null) void serve(workerData as WorkerSetup, parentPort)

async function serve(setup: WorkerSetup, port: NonNullable<typeof parentPort>): Promise<void> {
  let opened: Awaited<ReturnType<typeof openStore>>
  try {
    opened = await openStore(setup)
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    port.postMessage({ ok: false, name, message } satisfies Opened)
    port.close()
    return
  }
  const { store, close } = opened
  const reserve = new Reserve(reservePath(setup.directory), setup.reserveBytes)
  const desk = new GroupCommit(store, reserve, setup.storeBytesMax, (path) =>
    removeUpload(path, (fault) => port.postMessage({ fault } satisfies StoreMessage)),
  )
  port.on('message', (first: Request | 'close') => {
    const requests: Request[] = []
    let closing = false
    for (
      let message: { message: Request | 'close' } | undefined = { message: first };
      message !== undefined;
    ) {
      if (message.message === 'close') closing = true
      else requests.push(message.message)
      message = receiveMessageOnPort(port) as typeof message
    }
    port.postMessage(desk.carryOut(requests) satisfies StoreMessage)
    if (closing) {
      close()
      port.postMessage('closed' satisfies StoreMessage)
      port.close()
    }
  })
  const { name, reasons, doubt } = opened
  port.postMessage({ ok: true, driver: name, reasons, doubt } satisfies Opened)
}

function removeUpload(path: string, report: ReportFault): void {
  try {
    rmSync(path, { force: true })
  } catch (error) {
    // The task of this upload is finished; the next start removes uploads that no task refers to.
    const reason = error instanceof Error ? error.message : String(error)
    report({ kind: 'upload_removal', index: null, file: path, reason })
  }
}

async function openStore({ directory, isNew, driver: forced }: WorkerSetup) {
  const { driver, reasons } = loadDriver(forced ?? undefined)
  const path = storePath(directory)
  mkdirSync(dirname(path), { recursive: true })
  const release = await claim(join(dirname(path), 'lock'))
  try {
    const found = survey(directory)
    const reason = isNew ? null : objection(found)
    if (reason !== null) throw refusal(directory, reason)
    const { store, mark } = openMarked(driver, directory, found)
    return {
      store,
      name: driver.name,
      reasons,
      doubt: doubtOf(found),
      close() {
        const isSettled = store.settle()
        store.close()
        mark.close(isSettled ? wholeFile(path) : null)
        release()
      },
    }
  } catch (error) {
    release()
    if (error instanceof StoreUnusableError || error instanceof StoreVersionError) throw error
    if (error instanceof DamagedStoreError) throw refusal(directory, error.message)
    const reason = error instanceof Error ? error.message : String(error)
    switch (storeFault(error)) {
      case 'busy':
        throw new DirectoryInUseError(`the task store ${path} is in use by another process; stop it first`)
      case 'corrupt':
        throw refusal(directory, `is damaged (${reason})`)
      default:
        throw new Error(`cannot open the task store ${path}: ${reason}`, { cause: error })
    }
  }
}

/** Opens the store, and the mark that every transaction of it is told from then on. */
function openMarked(driver: Driver, directory: string, { mark: found }: Survey) {
  const path = storePath(directory)
  let mark: MarkWriter | null = null
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const connection = driver.open(path)
  try {
    const store = new Store(connection, {
      path,
      bytes,
      identity: typeof found === 'object' ? found.store : null,
      reached: (sequence) => mark?.reach(sequence),
    })
    mark = new MarkWriter(markPath(directory), {
      store: store.identity,
      sequence: store.sequence,
      closed: null,
    })
    if (bytes === 0) for (const made of [dirname(path), directory]) syncNames(made)
    return { store, mark }
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Windows refuses to open a directory; its file systems journal names by themselves. */
function syncNames(directory: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Stores of earlier versions have no mark. */
function doubtOf({ header, mark }: Survey): string | null {
  if (typeof mark === 'object' || typeof header !== 'object' || header.version === 0) return null
  if (mark === 'damaged') return 'the file `mark` beside the task store is damaged'
  return header.version < FIRST_MARKED_VERSION ? null : 'the file `mark` beside the task store is missing'
}
