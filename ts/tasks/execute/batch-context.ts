/** The inputs and results of executing a batch. */
import type { Embedders, VectorSpool } from '../../embedding/index.js'
import type { Engine, RunScript, Step } from '../../engine/index.js'
import type { ErrorBody } from '../../errors/index.js'
import type { Rerankers } from '../../reranking/index.js'
import type { SettingsThread } from '../../settings/index.js'
import type { Catalogue } from '../catalogue/catalogue.js'
import type { CatalogueFile } from '../catalogue/catalogue-file.js'
import type { StoredRules } from '../catalogue/stored-rules.js'
import type { Clock } from '../clock.js'
import type { Counters } from '../listing/details.js'
import type { EmbedderCounts } from '../listing/view.js'
import type { Spool } from '../spool.js'
import type { CatalogueRow, EndingTask, Relabel } from '../store/records.js'
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

/** A running batch, as an observer sees it. */
interface ObservedBatch {
  readonly batchUid: number
  /** null: its tasks concern no single index. */
  readonly indexUid: string | null
  readonly taskUids: ReadonlySet<number>
  /** The steps so far, with their beginning. */
  readonly entered: readonly { readonly name: string; readonly at: Micros }[]
}

/** Runs a batch, to observe it. */
export type AroundBatch = (batch: ObservedBatch, run: () => Promise<void>) => Promise<void>

/** The services that executing a batch uses. */
export interface BatchContext {
  /** Absent: nothing observes batches. */
  readonly aroundBatch?: AroundBatch | undefined
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
  readonly rerankers: Pick<Rerankers, 'requireModels'>
  /** Received vectors that are not yet committed. */
  readonly vectorSpool: VectorSpool
  readonly settingsThread: SettingsThread
  readonly runScript: RunScript
  /** The file that lists the indexes, used to rebuild a lost task store. */
  readonly names: CatalogueFile
}

/** A batch that is being executed. */
export interface Run {
  readonly batchUid: number
  readonly startedAt: Micros
  /** Resolves once the start of the batch is recorded. If that fails, the batch is interrupted. */
  readonly begun: Promise<void>
  /**
   * Must be called before an index changes, because another batch may be reading it. Resolves to true once the batch
   * may change the index, which holds until its outcome is recorded; to false if the batch was interrupted.
   */
  mayCommit(): Promise<boolean>
  /**
   * Runs `read` while no batch is between the commit of one of these indexes and the record of its outcome.
   * @param names uids of indexes; null: all indexes, which makes the task store consistent with them too
   */
  holdCommits<T>(names: readonly string[] | null, read: () => Promise<T>): Promise<T>
  /** Aborted when a cancelation matches one of the tasks, or when the process is about to stop. */
  readonly signal: AbortSignal
  /** Enters a step, for progress and trace. @param progress default: the usual progress of a step with this name */
  step(name: string, progress?: StepProgress): void
  /** Sets the progress within the step. @param unit such as `document` */
  count(unit: string, finished: number, total: number): void
  /** Records a failed commit of an index. A failing disk may have stored it although it reported an error. */
  commitFailed(index: string): void
  /** Shows the progress that `inner` returns. It is called whenever a client reads the progress. */
  follow(inner: () => Promise<readonly Step[] | null>): void
  readonly requests: EmbedderCounts
  /** Resolves once the interrupted preparations of this index are rolled back. */
  released(index: string): Promise<void>
  /** Registers the rollback of an interrupted preparation. The batch does not wait for it. */
  leave(index: string, release: Promise<void>): void
}

/** The batch was interrupted before its commit. None of its changes are visible. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** How one task ended. Counters are set only if it succeeded. */
export interface Outcome {
  readonly task: EndingTask
  readonly status: 'succeeded' | 'failed' | 'canceled'
  readonly error: ErrorBody | null
  readonly counters: Counters | null
  readonly canceledBy: number | null
  readonly newIndexUid: string | null
}

/** Everything a batch did, recorded in one transaction. */
export interface Effects {
  readonly finishedAt: Micros
  readonly outcomes: readonly Outcome[]
  readonly written: readonly CatalogueRow[]
  readonly removed: readonly string[]
  readonly relabels: readonly Relabel[]
  readonly deletedTasks: readonly number[]
  /** Index directories that can be removed once the effects are recorded. */
  readonly dropped: readonly string[]
}
