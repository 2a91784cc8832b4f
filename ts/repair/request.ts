/** What a repair is asked to do, and what it tells. */
import type { Engine } from '../engine/index.js'
import type { TaskLog } from '../tasks/index.js'

export interface RepairRequest {
  /** A data directory that no other process has open. */
  readonly directory: string
  /** Open over its indexes. */
  readonly engine: Engine
  /** Whether an index that lacks something is rebuilt from what can be read, instead of being set aside. */
  readonly acceptLoss: boolean
  readonly log: TaskLog
  /** Called often. @param total 0 if it is not known */
  progress(doing: string, finished: number, total: number): void
  /** Called after each repair. */
  told(repair: Repair): void
}

/** A damage, and what was done about it. */
export interface Repair {
  /** The uid of an index; null for what belongs to none. */
  readonly indexUid: string | null
  /** The damages found, a line each. */
  readonly damages: readonly string[]
  /** What was done, a line each. */
  readonly done: readonly string[]
  /** What is lost or has to be done by hand, a line each; none: everything is as before the damage. */
  readonly losses: readonly string[]
}
