/** Which tasks and batches have just changed? Listeners in this process are told; the store knows how they stand. */

export interface TaskChange {
  readonly taskUids: readonly number[]
  /** The batch that began with these tasks, ended or went back to the queue; null: the tasks have arrived. */
  readonly batchUid: number | null
  /** Whether the tasks have ended. */
  readonly hasEnded: boolean
}

/** Tells listeners of each change after the store has recorded it. */
export class TaskChanges {
  readonly #listeners = new Set<(change: TaskChange) => void>()

  tell(change: TaskChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  /** Calls `listener` with each change from now on. Returns how to stop that. */
  listen(listener: (change: TaskChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
