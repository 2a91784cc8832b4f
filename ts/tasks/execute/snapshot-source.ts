/** The contents of a snapshot. */
import type { StepProgress } from './step-progress.js'

/** The data directory of an instance that is being copied to a snapshot. */
export interface SnapshotSource {
  readonly startedAt: Date
  /**
   * Freezes the state of the instance and copies the task store to `storePath`, which must not exist. Called once.
   * Later changes to tasks or documents are not in the snapshot.
   */
  freeze(storePath: string): Promise<FrozenDirectory>
  /** Aborted when the task is canceled. */
  readonly signal: AbortSignal
  /** Enters a step. */
  step(name: string, place: StepProgress): void
  /** Sets the progress within the step. @param unit such as `index` */
  count(unit: string, finished: number, total: number): void
}

/** The frozen state of a data directory. */
export interface FrozenDirectory {
  readonly indexes: readonly FrozenFiles[]
  /** Paths of the waiting uploads. */
  readonly uploads: readonly string[]
  /** Releases the frozen state. */
  release(): Promise<void>
}

/** The files of an index. */
interface FrozenFiles {
  /** Name of its directory. */
  readonly id: string
  /** Copies them to a directory that must not exist. @returns false if the index is damaged and therefore left out */
  copyTo(directory: string): Promise<boolean>
}

/**
 * Writes a complete snapshot or nothing.
 * @throws ApiError `io_error` or `no_space_left_on_device` if it cannot be written
 */
export type WriteSnapshot = (source: SnapshotSource) => Promise<void>
