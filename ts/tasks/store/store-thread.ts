import type { Worker } from 'node:worker_threads'
import { startThread, takeThread } from '../../sqlite/index.js'

const file = new URL('./store-worker.js', import.meta.url)

/** See `startThread`. */
export const startStoreThread = (): void => startThread(file)

/** See `takeThread`. */
export const takeStoreThread = (): Worker => takeThread(file)
