import type { Engine } from '../../engine/index.js'
import type { DumpOrigin } from './dump-version.js'

/** A request to import a dump. */
export interface RestoreRequest {
  /** The path of the dump. */
  readonly archive: string
  /** The data directory to fill. It holds only the files of the empty engine. */
  readonly directory: string
  /** The engine of that directory, without indexes. */
  readonly engine: Engine
  /** `major.minor.patch` of this build. */
  readonly version: string
  /** Aborting it makes the import reject soon with the reason of the signal. */
  readonly signal: AbortSignal
  /** Called when the dump is known to be readable, before anything is restored. */
  recognized(origin: DumpOrigin): void
  /** Called often. @param total 0 if unknown */
  progress(doing: string, finished: number, total: number): void
}
