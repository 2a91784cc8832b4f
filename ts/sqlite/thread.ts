/** Starts the threads of stores, one of them before its store is known. */
import { Worker } from 'node:worker_threads'

/**
 * Megabytes of the young generation of the thread's heap. Nearly all objects become garbage at once, and V8 would fill
 * its default of 48 MB before it collects them.
 */
const YOUNG_MB_MAX = 12

/** The thread that was started ahead, and its file. */
let waiting: { readonly file: string; readonly worker: Worker } | null = null

/**
 * Starts the thread of the next store to be opened, so that it loads its modules while the main thread loads its own.
 * Does not keep the process alive.
 */
export function startThread(file: URL): void {
  const worker = newThread(file)
  waiting = { file: file.href, worker }
  worker.unref()
  // If it fails, opening the store starts another thread and reports errors.
  worker.once('error', forget).once('exit', forget)
}

/** Returns a thread that opens a store once it receives the setup. */
export function takeThread(file: URL): Worker {
  if (waiting?.file !== file.href) return newThread(file)
  const { worker } = waiting
  worker.off('error', forget).off('exit', forget)
  waiting = null
  worker.ref()
  return worker
}

function forget(): void {
  waiting = null
}

const newThread = (file: URL): Worker =>
  new Worker(file, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX } })
