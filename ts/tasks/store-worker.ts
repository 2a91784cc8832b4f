/**
 * The thread that owns the task store: no sync of the disk ever stops the main thread.
 * What it does with requests is told in `desk.ts`.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isMainThread, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { Desk } from './desk.js'
import { type DriverName, loadDriver, storeFault } from './driver.js'
import { claim, DirectoryInUseError } from './lock.js'
import type { Request } from './records.js'
import { Reserve } from './reserve.js'
import { Store, StoreUnusableError } from './store.js'

/** What the main thread starts this one with. */
export interface WorkerSetup {
  readonly path: string
  readonly driver: DriverName | null
  /** See `RESERVE_BYTES` and `STORE_BYTES_MAX`. */
  readonly reserveBytes: number
  readonly storeBytesMax: number
}

/** The first message of this thread. */
export type Opened =
  | { readonly ok: true; readonly driver: DriverName; readonly reasons: readonly string[] }
  | { readonly ok: false; readonly name: string; readonly message: string }

if (!isMainThread && parentPort !== null) void serve(workerData as WorkerSetup, parentPort)

async function serve(
  { path, driver, reserveBytes, storeBytesMax }: WorkerSetup,
  port: NonNullable<typeof parentPort>,
): Promise<void> {
  let opened: { store: Store; release: () => void; name: DriverName; reasons: readonly string[] }
  try {
    opened = await openStore(path, driver)
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    port.postMessage({ ok: false, name, message } satisfies Opened)
    port.close()
    return
  }
  const { store, release } = opened
  const reserve = new Reserve(`${dirname(path)}/reserve`, reserveBytes)
  const desk = new Desk(store, reserve, storeBytesMax, removeFile)
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
    port.postMessage(desk.carryOut(requests))
    if (closing) {
      store.close()
      release()
      port.postMessage('closed')
      port.close()
    }
  })
  port.postMessage({ ok: true, driver: opened.name, reasons: opened.reasons } satisfies Opened)
}

function removeFile(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Nobody needs it, and the next start removes what no task refers to.
  }
}

async function openStore(path: string, forced: DriverName | null) {
  const { driver, reasons } = loadDriver(forced ?? undefined)
  mkdirSync(dirname(path), { recursive: true })
  const release = await claim(`${dirname(path)}/lock`)
  try {
    const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    return { store: new Store(driver.open(path), path, bytes), release, name: driver.name, reasons }
  } catch (error) {
    release()
    if (error instanceof StoreUnusableError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    switch (storeFault(error)) {
      case 'busy':
        throw new DirectoryInUseError(`the task store ${path} is in use by another process; stop it first`)
      case 'corrupt':
        throw new StoreUnusableError(
          `the task store ${path} is damaged (${reason}); restore a snapshot, or move the data directory away`,
        )
      default:
        throw new Error(`cannot open the task store ${path}: ${reason}`, { cause: error })
    }
  }
}
