/**
 * The thread that owns the task store: no sync of the disk ever stops the main thread.
 *
 * All requests that have arrived while the disk was busy are carried out together: the writes in their
 * order of arrival as one transaction with one sync, then the reads.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isMainThread, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type DriverName, loadDriver, storeFault } from './driver.js'
import { claim, DirectoryInUseError } from './lock.js'
import { type Reply, type Request, type StoreCall, writingCalls } from './records.js'
import { type Settled, Store, StoreUnusableError } from './store.js'

/** What the main thread starts this one with. */
export interface WorkerSetup {
  readonly path: string
  readonly driver: DriverName | null
}

/** The first message of this thread. */
export type Opened =
  | { readonly ok: true; readonly driver: DriverName; readonly reasons: readonly string[] }
  | { readonly ok: false; readonly name: string; readonly message: string }

if (!isMainThread && parentPort !== null) void serve(workerData as WorkerSetup, parentPort)

async function serve({ path, driver }: WorkerSetup, port: NonNullable<typeof parentPort>): Promise<void> {
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
    port.postMessage(carryOut(store, requests))
    if (closing) {
      store.close()
      release()
      port.postMessage('closed')
      port.close()
    }
  })
  port.postMessage({ ok: true, driver: opened.name, reasons: opened.reasons } satisfies Opened)
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

function carryOut(store: Store, requests: readonly Request[]): readonly Reply[] {
  const writes = requests.filter(({ call }) => writingCalls[call] !== undefined)
  const reads = requests.filter(({ call }) => writingCalls[call] === undefined)
  const replies: Reply[] = []
  if (writes.length > 0) {
    const durable = writes.some(({ call }) => writingCalls[call] === 'durable')
    const settled = store.transaction(
      writes.map((request) => () => perform(store, request)),
      durable,
    )
    settled.forEach((result, position) => {
      const request = writes[position]
      if (request !== undefined) replies.push(reply(request, result))
    })
  }
  for (const request of reads) {
    try {
      replies.push(reply(request, { ok: true, value: perform(store, request) }))
    } catch (error) {
      replies.push(reply(request, { ok: false, error }))
    }
  }
  return replies
}

function perform(store: Store, request: Request): unknown {
  // The main thread's types fit the arguments to the call; see `StoreClient.call`.
  const call = store[request.call].bind(store) as (...parameters: readonly unknown[]) => unknown
  return call(...request.arguments)
}

function reply({ id, call }: { id: number; call: StoreCall }, result: Settled<unknown>): Reply {
  if (result.ok) return { id, ok: true, result: result.value }
  const fault = storeFault(result.error) === 'full' ? 'full' : 'other'
  const text =
    result.error instanceof Error ? (result.error.stack ?? result.error.message) : String(result.error)
  return { id, ok: false, fault, message: `${call}: ${text}` }
}
