import type { BackgroundFaults } from './background-faults.js'

/** The part of a logger that engines use. */
export interface EngineLog {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** Options for opening an engine. */
export interface EngineSetup {
  /** Absolute path of the directory that holds one directory per index; created when absent. */
  readonly directory: string
  readonly log: EngineLog
  /** Counts faults of background work. Absent: faults are only logged. */
  readonly faults?: BackgroundFaults | undefined
  /** Bytes that indexing may use, in addition to mapped files. */
  readonly indexingMemoryBytes: number
  /** Threads that indexing may use, at least one. */
  readonly indexingThreads: number
  /** Threads that search, on the fallback engine; absent: one. The native engine has one per core. */
  readonly searchThreads?: number | undefined
  /** Cache size in bytes for all indexes together; 0 disables the cache. Absent: `CACHE_BYTES_MIN`. */
  readonly cacheBytes?: number | undefined
  /**
   * True if another process writes the index files. This process then only reads them, takes new commits by `adopt`,
   * and changes nothing below `directory` except by `drop`. Absent: this process writes the files.
   */
  readonly followsFiles?: boolean | undefined
  /** Paths of word dictionaries. Absent: those of installed packages. */
  readonly dictionaries?: readonly string[]
}
