/** Starts the threads of task stores, one of them before its store is known. */
import { Worker } from 'node:worker_threads'

/**
 * Megabytes of the young generation of the thread's heap. Nearly all objects become garbage at once, and V8 would fill
 * its default of 48 MB before it collects them.
 */
const YOUNG_MB_MAX = 12

let waiting: Worker | null = null

/**
 * Starts the thread of the next store to be opened, so that it loads its modules while the main thread loads its own.
 * Does not keep the process alive.
 */
export function startStoreThread(): void {
  const worker = newThread()
  waiting = worker
  worker.unref()
  // If it fails, opening the store starts another thread and reports errors.
  worker.once('error', forget).once('exit', forget)
}

/** Returns a thread that opens a store once it receives the setup. */
export function takeStoreThread(): Worker {
  const taken = waiting ?? newThread()
  taken.off('error', forget).off('exit', forget)
  waiting = null
  taken.ref()
  return taken
}

function forget(): void {
  waiting = null
}

const newThread = (): Worker =>
  new Worker(new URL('./store-worker.js', import.meta.url), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX },
  })
