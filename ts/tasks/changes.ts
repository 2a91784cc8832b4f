/** Notifies listeners in this process of changes to tasks and batches. The store holds their current state. */

export interface TaskChange {
  readonly taskUids: readonly number[]
  /** The batch that began with these tasks, ended or was re-queued; null if the tasks were just enqueued. */
  readonly batchUid: number | null
  /** True if the tasks have ended. */
  readonly hasEnded: boolean
}

/** Notifies listeners of each change after the store has recorded it. */
export class TaskChanges {
  readonly #listeners = new Set<(change: TaskChange) => void>()

  emit(change: TaskChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  /** Calls `listener` on each later change. Returns a function that removes the listener. */
  listen(listener: (change: TaskChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
