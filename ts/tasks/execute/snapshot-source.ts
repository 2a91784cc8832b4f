/** What does a snapshot consist of? */
import type { Engine } from '../../engine/index.js'
import type { IndexEntry } from '../tasks.js'
import type { StepProgress } from './step-progress.js'

/**
 * The data directory of the instance at one point. While it is read, no other batch commits, and
 * tasks that arrive after the task store has been copied are not in the snapshot.
 */
export interface SnapshotSource {
  readonly engine: Pick<Engine, 'snapshot' | 'damage'>
  readonly startedAt: Date
  /** Ascending by uid. */
  readonly indexes: readonly Pick<IndexEntry, 'uid' | 'id'>[]
  /** Copies the task store to `path`, without the tasks of this snapshot. Called first. */
  copyStore(path: string): Promise<void>
  /** Paths of the uploads that wait. Called after `copyStore`, whose copy may need fewer of them. */
  uploads(): Promise<readonly string[]>
  /** Aborted when the task was canceled. */
  readonly signal: AbortSignal
  /** Enters a step. */
  step(name: string, place: StepProgress): void
  /** Sets the progress within the step. @param unit such as `index` */
  count(unit: string, finished: number, total: number): void
  /** Reports an index that is not in the snapshot. @param damage why */
  leaveOut(index: Pick<IndexEntry, 'uid' | 'id'>, damage: string): void
}

/**
 * Writes a snapshot, whole or not at all.
 * @throws ApiError `io_error` or `no_space_left_on_device` if it cannot be written
 */
export type WriteSnapshot = (source: SnapshotSource) => Promise<void>
