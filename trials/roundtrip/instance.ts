import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDaemon, type TestDaemon } from '../../__test__/support/daemon.js'

export const masterKey = 'roundtrip-master-key-of-a-trial'

/** Registers cleanup functions, as an ava test does. */
export type Cleanup = Parameters<typeof startDaemon>[0]

/** A server in a separate process, with a master key. */
export interface Instance {
  readonly engine: string
  readonly url: string
  /** Contains its data, dumps and snapshots. */
  readonly directory: string
  /** Sends a request. @returns the answer as text @throws Error for an error status */
  text(method: string, path: string, body?: unknown, type?: string): Promise<string>
  json<T>(method: string, path: string, body?: unknown): Promise<T>
  /** Duration of its start, including imports, in milliseconds. */
  readonly startMs: number
  kill(): Promise<void>
}

/** @param args additional options, such as an archive to import */
export async function startInstance(
  cleanup: Cleanup,
  engine: string,
  args: readonly string[] = [],
): Promise<Instance> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-roundtrip-'))
  const began = performance.now()
  const daemon: TestDaemon = await startDaemon(cleanup, join(directory, 'data.ms'), [
    ...['--engine', engine, '--master-key', masterKey, '--log-level', 'ERROR'],
    ...['--dump-dir', join(directory, 'dumps'), '--snapshot-dir', join(directory, 'snapshots')],
    ...args,
  ])
  const startMs = performance.now() - began
  const url = `http://127.0.0.1:${daemon.port}`
  const text: Instance['text'] = async (method, path, body, type = 'application/json') => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${masterKey}`, ...(body !== undefined && { 'content-type': type }) },
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    })
    const found = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${found.slice(0, 500)}`)
    return found
  }
  return {
    engine,
    url,
    directory,
    text,
    json: async (...call) => JSON.parse(await text(...call)),
    startMs,
    kill: daemon.kill,
  }
}

/** Waits for a task. @throws Error if it fails */
export async function succeeded(instance: Instance, taskUid: number): Promise<TaskFacts> {
  const task = await ended(instance, taskUid)
  if (task.status !== 'succeeded') throw new Error(JSON.stringify(task))
  return task
}

export async function ended({ json }: Instance, taskUid: number): Promise<TaskFacts> {
  for (let pause = 5; ; pause = Math.min(pause * 1.5, 500)) {
    const task = await json<TaskFacts>('GET', `/tasks/${taskUid}`)
    if (task.status !== 'enqueued' && task.status !== 'processing') return task
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

export interface TaskFacts {
  readonly uid: number
  readonly status: string
  readonly type: string
  readonly indexUid: string | null
  readonly details: Readonly<Record<string, unknown>> | null
}
