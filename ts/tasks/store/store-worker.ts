/** The thread of the task store, so that syncs do not block the main thread. Passes requests to `GroupCommit`. */
import { rmSync } from 'node:fs'
import { isMainThread, MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { type BackgroundFault, endThread, type ReportFault, reasonOf } from '../../engine/index.js'
import { DiskReserve, type DriverName, GroupCommit, loadDriverAhead, type Reply } from '../../sqlite/index.js'
import { STORE_SHARE_FOR_TASKS } from '../limits.js'
import { openStore, type WorkerSetup } from './open-store.js'
import { reservePath } from './paths.js'
import { type Request, storeRules } from './records.js'

/** The first message of this thread. */
export type Opened =
  | {
      readonly ok: true
      readonly driver: DriverName
      readonly reasons: readonly string[]
      /** Why the store could not be checked; null if it was. */
      readonly uncheckedReason: string | null
    }
  | { readonly ok: false; readonly name: string; readonly message: string }

/** Later messages of this thread: answers to requests, and faults of background work. */
export type StoreMessage = readonly Reply[] | 'closed' | { readonly fault: BackgroundFault }

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  port.once('message', (setup: WorkerSetup) => void serve(setup, port))
  loadDriverAhead()
}

async function serve(setup: WorkerSetup, port: NonNullable<typeof parentPort>): Promise<void> {
  let opened: Awaited<ReturnType<typeof openStore>>
  try {
    opened = await openStore(setup)
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    port.postMessage({ ok: false, name, message } satisfies Opened)
    endThread(port)
    return
  }
  const { store, checkpoints, close } = opened
  const reserve = new DiskReserve(reservePath(setup.directory), setup.reserveBytes)
  const report: ReportFault = (fault) => port.postMessage({ fault } satisfies StoreMessage)
  const groupCommit = new GroupCommit({
    ...{ store, rules: storeRules, reserve },
    ordinaryBytesMax: setup.storeBytesMax * STORE_SHARE_FOR_TASKS,
    removeFile: (path) => removeUpload(path, report),
  })
  port.on('message', (first: Request | 'close') => {
    const requests: Request[] = []
    let closing = false
    for (
      let message: { message: Request | 'close' } | undefined = { message: first };
      message !== undefined;
    ) {
      if (message.message === 'close') closing = true
      else requests.push(message.message)
      message = waitingMessage(port)
    }
    port.postMessage(groupCommit.execute(requests) satisfies StoreMessage)
    try {
      checkpoints.whenLong()
    } catch (error) {
      groupCommit.checkpointFailed(error)
      report({ kind: 'task_store_checkpoint', index: null, file: checkpoints.path, reason: reasonOf(error) })
    }
    if (closing) {
      close()
      port.postMessage('closed' satisfies StoreMessage)
      endThread(port)
    }
  })
  const { name, reasons, uncheckedReason } = opened
  port.postMessage({ ok: true, driver: name, reasons, uncheckedReason } satisfies Opened)
}

/** Returns a message that has arrived already; undefined without one, and in runtimes that cannot look for one. */
function waitingMessage(
  port: NonNullable<typeof parentPort>,
): { readonly message: Request | 'close' } | undefined {
  // The port to the parent is no MessagePort in Deno. Requests are then not grouped.
  return port instanceof MessagePort ? receiveMessageOnPort(port) : undefined
}

function removeUpload(path: string, report: ReportFault): void {
  try {
    rmSync(path, { force: true })
  } catch (error) {
    // The task of this upload has ended. The next start removes uploads that no task refers to.
    report({ kind: 'upload_removal', index: null, file: path, reason: reasonOf(error) })
  }
}
