import { setTimeout as sleep } from 'node:timers/promises'
import { isCount, isText, maybe, object } from './answers.js'
import {
  CALL_MS_MAX,
  MESSAGE_CHARS_MAX,
  TASK_POLL_FIRST_MS,
  TASK_POLL_LAST_MS,
  TASK_WAIT_MS,
} from './limits.js'
import type { Peer } from './peer.js'
import { PeerError } from './peer-error.js'

/** The answer to a write. */
export const acceptedTask = { taskUid: isCount }

/** A task as in API answers. */
export interface PeerTask {
  readonly uid: number
  readonly status: string
  readonly type: string
  readonly indexUid: string | null
  readonly error?: { readonly message: string; readonly code: string; readonly type?: string } | null
  readonly details?: Readonly<Record<string, unknown>> | null
  readonly duration?: string | null
}

/** Waits until a task has ended, successfully or not. */
export async function endedTask(peer: Peer, taskUid: number): Promise<PeerTask> {
  for (let pause = TASK_POLL_FIRST_MS; ; pause = Math.min(pause * 1.5, TASK_POLL_LAST_MS)) {
    const task = await peer.json<PeerTask>('GET', `/tasks/${taskUid}?waitMs=${TASK_WAIT_MS}`, {
      timeoutMs: CALL_MS_MAX + TASK_WAIT_MS,
      shape: { status: isText, error: maybe(object({ message: isText, code: isText })) },
    })
    if (['succeeded', 'failed', 'canceled'].includes(task.status)) return task
    // A server that does not support `waitMs`, or has too many waiting clients, answers at once.
    await sleep(pause)
  }
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
  requireSucceeded(await endedTask(peer, taskUid), doing, advice)
}

/** @throws PeerError if the task failed or was canceled */
export function requireSucceeded({ status, error }: PeerTask, doing: string, advice: string): void {
  if (status === 'succeeded') return
  const reason = error ? `${error.code} ${error.message.slice(0, MESSAGE_CHARS_MAX)}` : status
  throw new PeerError(`${doing} failed: ${reason}; ${advice}`, null, error?.code ?? null)
}
