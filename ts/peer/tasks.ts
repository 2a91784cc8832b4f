import { setTimeout as sleep } from 'node:timers/promises'
import { MESSAGE_CHARS_MAX, TASK_POLL_FIRST_MS, TASK_POLL_LAST_MS } from './limits.js'
import type { Peer } from './peer.js'
import { PeerError } from './peer-error.js'

interface Task {
  readonly status: string
  readonly error?: { readonly message: string; readonly code: string } | null
}

/**
 * Waits until a task has succeeded.
 * @param doing what the task does, for the message
 * @param advice what to do if it fails
 * @throws PeerError if it failed or was canceled
 */
export async function finishedTask(
  peer: Peer,
  { taskUid }: { readonly taskUid: number },
  doing: string,
  advice: string,
): Promise<void> {
  for (let pause = TASK_POLL_FIRST_MS; ; pause = Math.min(pause * 1.5, TASK_POLL_LAST_MS)) {
    const { status, error } = await peer.json<Task>('GET', `/tasks/${taskUid}`)
    if (status === 'succeeded') return
    if (status === 'failed' || status === 'canceled') {
      const reason = error ? `${error.code} ${error.message.slice(0, MESSAGE_CHARS_MAX)}` : status
      throw new PeerError(`${doing} failed: ${reason}; ${advice}`, null, error?.code ?? null)
    }
    await sleep(pause)
  }
}
