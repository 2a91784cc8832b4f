import type { BackgroundFaults } from './background-faults.js'
import type { Engine } from './engine.js'

/** The part of a logger that engines use. */
export interface EngineLog {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** What an engine needs to open. */
export interface EngineSetup {
  /** Absolute path of the directory that holds one directory per index; created when absent. */
  readonly directory: string
  readonly log: EngineLog
  /** Where faults of work in the background are counted. Absent: they are logged alone. */
  readonly faults?: BackgroundFaults | undefined
  /** Bytes that indexing may use beside mapped files. */
  readonly indexingMemoryBytes: number
  /** Threads that indexing may use, at least one. */
  readonly indexingThreads: number
  /** Bytes of what is cached for all indexes together; 0 caches nothing. Absent: `CACHE_BYTES_MIN`. */
  readonly cacheBytes?: number
  /**
   * Whether another process writes the files of the indexes: this one then reads them, changes nothing below `directory`
   * but by `drop`, and takes new commits by `adopt`. Absent: it writes them itself.
   */
  readonly followsFiles?: boolean
}

/** How `fallback/` and `native/` open theirs. `addon`: the loaded native module; null for the fallback. */
export type OpenEngine = (setup: EngineSetup) => Promise<Engine>
export type OpenNativeEngine = (addon: unknown, setup: EngineSetup) => Promise<Engine>
