/** Reads a copy of a task store, made by `StoreClient.copyTo`, in its own thread. */
import { Worker } from 'node:worker_threads'
import { type DriverName, PendingRequests, type Reply, StoreError } from '../../sqlite/index.js'
import type { StoreCalls } from './records.js'
import { failureOf, type StoreClient } from './store-client.js'
import type { StoreCopySetup } from './store-copy-worker.js'

/** An open copy. Refuses calls that write. */
export interface StoreReader {
  readonly call: StoreClient['call']
  close(): Promise<void>
}

/** Opens a copy. Calls reject if it cannot be opened. */
export function openStoreCopy(path: string, driver: DriverName): StoreReader {
  const workerData: StoreCopySetup = { path, driver }
  const worker = new Worker(new URL('./store-copy-worker.js', import.meta.url), { workerData })
  const exchange = new PendingRequests<StoreCalls>((request) => worker.postMessage(request), failureOf)
  worker.on('message', (reply: Reply) => exchange.receive([reply]))
  worker.on('error', (error) => exchange.fail(error instanceof Error ? error : new StoreError(String(error))))
  worker.on('exit', () => exchange.fail(new StoreError('the copy of the task store is closed')))
  return {
    call: exchange.call,
    async close() {
      await worker.terminate()
    },
  }
}
