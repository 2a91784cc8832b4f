import type { Worker } from 'node:worker_threads'
import { type DriverName, startThread, takeThread } from '../../sqlite/index.js'

const file = new URL('./store-worker.js', import.meta.url)

/** See `startThread`. */
export const startStoreThread = (driver: DriverName | null): void => startThread(file, driver)

/** See `takeThread`. */
export const takeStoreThread = (): Worker => takeThread(file)
