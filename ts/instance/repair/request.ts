/** The request for a repair, and its report. */
import type { Engine } from '../../engine/index.js'
import type { TaskLog } from '../../tasks/index.js'

export interface RepairRequest {
  /** A data directory that no other process has open. */
  readonly directory: string
  /** The engine, open on the indexes of the directory. */
  readonly engine: Engine
  /** True if an index with missing data is rebuilt from its readable data, instead of being set aside. */
  readonly acceptLoss: boolean
  readonly log: TaskLog
  /** Called often. @param total 0 if unknown */
  progress(doing: string, finished: number, total: number): void
  /** Called after each repair. */
  told(repair: Repair): void
}

/** A damage, and its repair. */
export interface Repair {
  /** The uid of an index; null for damage outside the indexes. */
  readonly indexUid: string | null
  /** The damages found, one per line. */
  readonly damages: readonly string[]
  /** The repairs made, one per line. */
  readonly done: readonly string[]
  /** Lost data and remaining manual work, one per line; empty: everything was restored. */
  readonly losses: readonly string[]
}
