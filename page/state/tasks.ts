/** Waits for the tasks of writes. */
import { ask, Failure } from '../api/client.ts'
import type { Task } from '../api/types.ts'

/** Wait time per request. The server allows at most 60 s. */
const WAIT_MS = 20_000

/** Sends a write and waits for its task. @throws {Failure} if the write is refused or the task fails */
export async function settle(accepted: Promise<{ readonly taskUid: number }>): Promise<Task> {
  const { taskUid } = await accepted
  for (;;) {
    const task = await ask<Task>('GET', `/tasks/${taskUid}?waitMs=${WAIT_MS}`)
    if (task.status === 'enqueued' || task.status === 'processing') continue
    if (task.error !== null) throw new Failure(400, task.error.code, task.error.message)
    if (task.status === 'canceled') throw new Failure(400, 'canceled', `Task ${taskUid} was canceled.`)
    return task
  }
}
