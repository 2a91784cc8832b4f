/** What does a snapshot consist of? */
import type { StepProgress } from './step-progress.js'

/** The data directory of an instance, and the snapshot that is being made of it. */
export interface SnapshotSource {
  readonly startedAt: Date
  /**
   * Holds the instance at one point, with a copy of the task store at `storePath`, where nothing may be. Called once.
   * What happens afterwards, to tasks or documents, is not in the snapshot.
   */
  freeze(storePath: string): Promise<FrozenDirectory>
  /** Aborted when the task was canceled. */
  readonly signal: AbortSignal
  /** Enters a step. */
  step(name: string, place: StepProgress): void
  /** Sets the progress within the step. @param unit such as `index` */
  count(unit: string, finished: number, total: number): void
}

/** The data directory at one point. */
export interface FrozenDirectory {
  readonly indexes: readonly FrozenFiles[]
  /** Paths of the uploads that wait. */
  readonly uploads: readonly string[]
  /** Lets go of it. */
  release(): Promise<void>
}

/** The files of an index. */
export interface FrozenFiles {
  /** Name of its directory. */
  readonly id: string
  /** Copies them into a directory, which must not exist. @returns false if the index is damaged, and left out */
  copyTo(directory: string): Promise<boolean>
}

/**
 * Writes a snapshot, whole or not at all.
 * @throws ApiError `io_error` or `no_space_left_on_device` if it cannot be written
 */
export type WriteSnapshot = (source: SnapshotSource) => Promise<void>
