/** What is carrying out a batch given, and what does it give back? */
import type { Embedders } from '../../embedders/index.js'
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
import type { StepProgress } from './step-progress.js'

/** Where our own faults are told. */
export interface TaskLog {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** What carrying out a batch needs of the instance. */
export interface BatchContext {
  readonly engine: Engine
  readonly store: StoreClient
  readonly spool: Spool
  readonly catalogue: Catalogue
  readonly rules: StoredRules
  readonly exportIndex: ExportIndex
  readonly writeDump: WriteDump
  readonly log: TaskLog
  readonly clock: Clock
  readonly embedders: Embedders
  readonly settingsThread: SettingsThread
  readonly runScript: RunScript
  /** The names of the indexes outside the store, for when it is lost. */
  readonly names: CatalogueFile
}

/** One batch on its way. */
export interface Run {
  readonly batchUid: number
  readonly startedAt: Micros
  /** Aborted when a cancelation matched one of the tasks, and when the process is about to stop. */
  readonly signal: AbortSignal
  /** Says what is being done now, for progress and trace. @param progress absent: as batches usually go */
  step(name: string, progress?: StepProgress): void
  /** How far the step has come, for progress. @param unit such as `document` */
  count(unit: string, finished: number, total: number): void
  /** Says that a commit of an index failed, which a failing disk may have kept all the same. */
  commitFailed(index: string): void
  /** Takes over how far the step has come, asked when a client wants to see progress. */
  follow(inner: () => Promise<readonly Step[] | null>): void
  /** What embedders were asked for it. */
  readonly requests: EmbedderCounts
  /** Resolves once no prepared batch of an interrupted run is left on that index. */
  released(index: string): Promise<void>
  /** Hands over an interrupted preparation that has to be undone. */
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
  /** Engine directories that nothing refers to once the effects are recorded. */
  readonly dropped: readonly string[]
}
