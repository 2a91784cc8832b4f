/** The threads of task stores, and the one that is started before its store is known. */
import { Worker } from 'node:worker_threads'

/**
 * Megabytes of the young generation of the thread's heap. Nearly all of its objects are garbage at once, and V8 fills
 * its default of 48 MB before it collects them.
 */
const YOUNG_MB_MAX = 12

let waiting: Worker | null = null

/**
 * Starts the thread of the store that is opened next, so that it loads its modules while the main thread loads its own. It
 * keeps no process alive.
 */
export function startStoreThread(): void {
  const worker = newThread()
  waiting = worker
  worker.unref()
  // Another one is started when the store is opened, and its end is told there.
  worker.once('error', forget).once('exit', forget)
}

/** A thread that opens the store whose setup it is sent. */
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
