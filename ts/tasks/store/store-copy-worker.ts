/** The thread that reads a copy of a task store; see `store-copy.ts`. */
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { type DriverName, loadDriver, type Reply } from '../../sqlite/index.js'
import { type Request, writingCalls } from './records.js'
import { type Copying, Store } from './store.js'

/** The setup that the main thread passes to this thread. */
export interface StoreCopySetup {
  readonly path: string
  readonly driver: DriverName
}

if (!isMainThread && parentPort !== null) serve(workerData as StoreCopySetup, parentPort)

function serve(setup: StoreCopySetup, port: NonNullable<typeof parentPort>): void {
  // Errors of some builds of SQLite cannot be passed between threads, so opening is part of the first call.
  let store: Store | null = null
  port.on('message', (request: Request) => {
    port.postMessage(answered(() => (store ??= opened(setup)), request))
  })
}

/** A copy is not copied again. */
const refuse = (): never => {
  throw new Error('a copy of the task store is not copied')
}
const notCopied: Copying = { begin: refuse, open: refuse, end: refuse }

function opened({ path, driver }: StoreCopySetup): Store {
  return new Store(loadDriver(driver).driver.open(path), {
    isCompared: true,
    identity: null,
    reached: () => undefined,
    settle: () => true,
    copying: notCopied,
  })
}

function answered(copy: () => Store, { id, call, arguments: given }: Request): Reply {
  try {
    if (writingCalls[call] !== undefined) throw new Error(`${call} would change a copy of the task store`)
    const store = copy()
    // The types of `StoreReader.call` match arguments to calls. Messages lose these types.
    const method = store[call].bind(store) as (...parameters: readonly unknown[]) => unknown
    return { id, ok: true, result: method(...given) }
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { id, ok: false, fault: 'other', message: `${call}: ${text}` }
  }
}
