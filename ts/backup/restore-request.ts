import type { Engine } from '../engine/index.js'

/** A dump to be imported, and where to. */
export interface RestoreRequest {
  /** The dump. */
  readonly archive: string
  /** A data directory in the making, empty but for what the engine has made. */
  readonly directory: string
  /** Open over that directory, empty. */
  readonly engine: Engine
  /** Once aborted, the import ends soon by rejecting with its reason. */
  readonly signal: AbortSignal
  /** Told often. `total` is 0 for what cannot be foreseen. */
  progress(doing: string, finished: number, total: number): void
}
