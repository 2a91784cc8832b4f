/** What does carrying out a batch get, and what does it return? */
import type { Embedders, PaidVectorStore } from '../../embedders/index.js'
import type { Engine, RunScript, Step } from '../../engine/index.js'
import type { ErrorBody } from '../../errors/index.js'
import type { SettingsThread } from '../../settings/index.js'
import type { Catalogue } from '../catalogue/catalogue.js'
import type { CatalogueFile } from '../catalogue/catalogue-file.js'
import type { StoredRules } from '../catalogue/stored-rules.js'
import type { Clock } from '../clock.js'
import type { Counters } from '../listing/details.js'
import type { EmbedderCounts } from '../listing/view.js'
import type { Spool } from '../spool.js'
import type { CatalogueRow, PendingTask, Relabel } from '../store/records.js'
import type { StoreClient } from '../store/store-client.js'
import type { Micros } from '../time.js'
import type { WriteDump } from './dump-source.js'
import type { ExportIndex } from './export.js'
import type { WriteSnapshot } from './snapshot-source.js'
import type { StepProgress } from './step-progress.js'

/** The log of the instance. */
export interface TaskLog {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** The parts of the instance that carrying out a batch uses. */
export interface BatchContext {
  readonly engine: Engine
  readonly store: StoreClient
  readonly spool: Spool
  readonly catalogue: Catalogue
  readonly rules: StoredRules
  readonly exportIndex: ExportIndex
  readonly writeDump: WriteDump
  readonly writeSnapshot: WriteSnapshot
  readonly log: TaskLog
  readonly clock: Clock
  readonly embedders: Embedders
  /** Vectors that no commit holds yet. */
  readonly paidVectors: PaidVectorStore
  readonly settingsThread: SettingsThread
  readonly runScript: RunScript
  /** The list of indexes outside the store, from which a lost store is rebuilt. */
  readonly names: CatalogueFile
}

/** The batch being carried out. */
export interface Run {
  readonly batchUid: number
  readonly startedAt: Micros
  /** Resolves once the beginning of the batch is recorded. If that fails, the batch is interrupted. */
  readonly begun: Promise<void>
  /**
   * Asked before anything of an index changes, since another batch may be reading it as it is. Resolves once the batch
   * may change it, until its outcome is recorded; false if it was interrupted.
   */
  mayCommit(): Promise<boolean>
  /**
   * Runs `read` while no batch is between the commit of one of these indexes and the record of its outcome.
   * @param names uids of indexes; null: all, and the task store too is at one point then
   */
  keepOut<T>(names: readonly string[] | null, read: () => Promise<T>): Promise<T>
  /** Aborted when a cancelation matched one of the tasks, and when the process is about to stop. */
  readonly signal: AbortSignal
  /** Enters a step, for progress and trace. @param progress absent: that of a usual step of this name */
  step(name: string, progress?: StepProgress): void
  /** Sets the progress within the step. @param unit such as `document` */
  count(unit: string, finished: number, total: number): void
  /** Notes a failed commit of an index, which a failing disk may have stored although it reported an error. */
  commitFailed(index: string): void
  /** Takes the progress within the step from `inner`, which is asked whenever a client reads the progress. */
  follow(inner: () => Promise<readonly Step[] | null>): void
  /** Counts requests to embedders. */
  readonly requests: EmbedderCounts
  /** Resolves once the preparations that interrupted batches left on this index are undone. */
  released(index: string): Promise<void>
  /** Hands over the undoing of an interrupted preparation, which the batch does not wait for. */
  leave(index: string, release: Promise<void>): void
}

/** A batch was interrupted before its commit; nothing of it is visible. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** How one task ended; counters only if it succeeded. */
export interface Outcome {
  readonly task: PendingTask
  readonly status: 'succeeded' | 'failed' | 'canceled'
  readonly error: ErrorBody | null
  readonly counters: Counters | null
  readonly canceledBy: number | null
  readonly newIndexUid: string | null
}

/** Everything a batch did, to be recorded in one transaction. */
export interface Effects {
  readonly finishedAt: Micros
  readonly outcomes: readonly Outcome[]
  readonly written: readonly CatalogueRow[]
  readonly removed: readonly string[]
  readonly relabels: readonly Relabel[]
  readonly deletedTasks: readonly number[]
  /** Directories of indexes that can be removed once the effects are recorded. */
  readonly dropped: readonly string[]
}
