/** How does a write end? */
import { ask, Failure } from '../api/client.ts'
import type { Task } from '../api/types.ts'

/** The longest wait of one request; the server allows 60 s. */
const WAIT_MS = 20_000

/** Sends a write and waits until its task has ended. @throws {Failure} for a refusal and for a task that failed */
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
