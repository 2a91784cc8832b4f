/** Enqueues tasks, waits for them and prints them. */

import { LaunchError } from '../../launch/index.js'
import type { OutboundRequest } from '../../outbound/index.js'
import { acceptedTask, endedTask, type Peer, type PeerTask } from '../../transfer/index.js'
import { type CommandOutput, coloured } from '../command/index.js'

/** Enqueues a task. @returns its uid */
export async function enqueued(
  peer: Peer,
  method: OutboundRequest['method'],
  path: string,
  body?: object,
): Promise<number> {
  const call = { isRepeatable: false, shape: acceptedTask, body }
  return (await peer.json<{ taskUid: number }>(method, path, call)).taskUid
}

interface TaskOptions {
  readonly json?: true | undefined
  /** True to wait until the task has ended. */
  readonly wait?: boolean
}

/**
 * Waits for a task and prints its result; reports a finding if it failed. Without waiting, prints that it is enqueued.
 */
export async function reportTask(
  peer: Peer,
  taskUid: number,
  { json, wait = true }: TaskOptions,
  output: CommandOutput,
): Promise<void> {
  if (!wait) {
    const hint = `task ${taskUid} is enqueued (siftd tasks watch ${taskUid})`
    output.line(json ? JSON.stringify({ taskUid, status: 'enqueued' }) : hint)
    return
  }
  printTask(await endedTask(peer, taskUid), json, output)
}

/** Prints a task that has ended, as JSON or as a line. */
export function printTask(task: PeerTask, json: true | undefined, output: CommandOutput): void {
  output.line(json ? JSON.stringify(task) : taskLine(task, output))
  if (task.status !== 'succeeded') output.finding()
}

const colours = { succeeded: 'green', failed: 'red', canceled: 'yellow' } as const

function taskLine({ uid, status, type, indexUid, details, error }: PeerTask, output: CommandOutput): string {
  const shownStatus = coloured(output, colours[status as keyof typeof colours] ?? 'dim', status)
  const index = indexUid === null ? '' : ` of ${indexUid}`
  const facts = Object.entries(details ?? {})
    .filter(([, value]) => typeof value === 'number' || (typeof value === 'string' && value !== ''))
    .map(([name, value]) => `${name} ${value}`)
  const reason = error ? `: ${error.code} ${error.message}` : ''
  return `task ${uid} ${shownStatus}: ${type}${index}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}${reason}`
}

/**
 * Returns the path of an index. Refuses uids that URLs leave out of a path: the request would reach another route, and
 * `documents delete '' --all` would delete the index `documents`.
 * @throws LaunchError
 */
export function pathOf(uid: string): string {
  if (['', '.', '..'].includes(uid)) throw new LaunchError(`\`${uid}\` is not the uid of an index`, 2)
  return `/indexes/${encodeURIComponent(uid)}`
}
