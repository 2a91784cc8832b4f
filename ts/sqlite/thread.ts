/** Starts the threads of stores, one of them before its store is known. */
import { Worker, workerData } from 'node:worker_threads'
import { type DriverName, loadDriver } from './driver.js'

/**
 * Megabytes of the young generation of the thread's heap. Nearly all objects become garbage at once, and V8 would fill
 * its default of 48 MB before it collects them.
 */
const YOUNG_MB_MAX = 12

/** The thread that was started ahead, and its file. */
let waiting: { readonly file: string; readonly worker: Worker } | null = null

/** Work of a thread before it receives its setup. */
interface Ahead {
  /** The build of SQLite to load; null: the first that works. */
  readonly driver: DriverName | null
}

/**
 * Starts the thread of the next store to be opened, so that it loads its modules and SQLite while the main thread loads
 * its own modules. Does not keep the process alive.
 * @param driver the only build of SQLite to try; null: the first that works
 */
export function startThread(file: URL, driver: DriverName | null): void {
  const worker = newThread(file, { driver })
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

/** Loads SQLite in a thread that was started ahead. */
export function loadDriverAhead(): void {
  const ahead = workerData as Ahead | null | undefined
  if (!ahead) return
  try {
    loadDriver(ahead.driver ?? undefined)
  } catch {
    // Opening the store tries again and reports the reasons.
  }
}

const newThread = (file: URL, ahead: Ahead | null = null): Worker =>
  new Worker(file, { workerData: ahead, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX } })
