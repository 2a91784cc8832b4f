import type { Services } from '../services.js'

/** Number of uploads whose outcome is awaited at the same time. Further uploads are not counted. */
const AWAITED_MAX = 100

/** Counts the uploads that created their index, once their tasks have ended. */
export class CreatedIndexes {
  readonly #services: Pick<Services, 'tasks' | 'usage'>
  #awaited = 0

  constructor(services: Pick<Services, 'tasks' | 'usage'>) {
    this.#services = services
  }

  /** Waits for the end of a task that creates its index unless an earlier task does. Never rejects. */
  async expect(
    indexUid: string,
    taskUid: number,
    event: 'documentsAdded' | 'documentsUpdated',
  ): Promise<void> {
    const { tasks, usage } = this.#services
    if (!usage.isOpen || this.#awaited >= AWAITED_MAX) return
    this.#awaited += 1
    try {
      const task = await tasks.wait(taskUid, null, { waitMs: Number.POSITIVE_INFINITY })
      const index = tasks.index(indexUid)
      // An index has the creation time of the batch that created it.
      if (task !== null && index !== null && index.createdAt === task.startedAt)
        usage.observe(event, { index_creation: true })
    } catch {
      // The task store failed. The queue reports it.
    } finally {
      this.#awaited -= 1
    }
  }
}
