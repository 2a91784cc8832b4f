/** The engine in pure TypeScript: same answers as the native engine, but slower, with the rules in readable code. */
import { CACHE_BYTES_MIN, machine } from '../../launch/index.js'
import { BackgroundFaults } from '../background-faults.js'
import type { Engine } from '../engine.js'
import { guarding } from '../guarded.js'
import type { FallbackOptions } from './engine.js'
import { engineOf } from './worker/calls.js'
import { EngineWorker, type FallbackLog } from './worker/engine-worker.js'
import { SearchThreads } from './worker/search-threads.js'

const silent = { warn: () => undefined }

/** Bytes in memory per byte of documents and vectors in a copy of an index. Source: docs/memory.md. */
const COPY_FACTOR = 10
/** The part of the memory for copies of indexes. */
const COPIES_PART = 1 / 4

/** Opens the engine for all indexes below `directory`, which is created if missing. */
export function openFallback({
  directory,
  cacheBytes = CACHE_BYTES_MIN,
  followsFiles = false,
  dictionaries,
  searchThreads = 1,
  log,
  faults = new BackgroundFaults(log),
}: FallbackOptions & {
  readonly log: FallbackLog
  readonly faults?: BackgroundFaults | undefined
  /** See `EngineSetup`. */
  readonly searchThreads?: number | undefined
}): Promise<Engine> {
  const options = {
    directory,
    cacheBytes: Math.floor(cacheBytes / searchThreads),
    followsFiles,
    dictionaries,
  }
  const worker = new EngineWorker(options, log, faults)
  const searches = new SearchThreads({
    writer: worker,
    copies: searchThreads - 1,
    start: () => {
      log.debug?.({ searchThreads }, 'another thread of the fallback engine starts to search')
      // The writing thread reports the same faults.
      return new EngineWorker({ ...options, isCopy: true }, log, new BackgroundFaults(silent))
    },
    copiedBytesMax: (machine().memoryBytes * COPIES_PART) / COPY_FACTOR,
  })
  return Promise.resolve(guarding(engineOf(worker, searches), log, followsFiles))
}
