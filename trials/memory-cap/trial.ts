/** Loads documents into a server over HTTP while a separate process measures its peak memory. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ServerProcess } from '../../__test__/support/server-process.js'
import { untilIdle } from '../../benchmark/measure.js'
import type { Load } from './allowance.js'
import { uploads } from './documents.js'
import { type Memory, memoryOf } from './memory.js'

const START_MS_MAX = 60_000
const STOP_MS_MAX = 60_000
const INDEX = 'documents'

export interface MemoryTrial extends Load {
  /** Size of an upload. */
  readonly uploadBytes: number
  readonly seed: number
  /** An empty directory for the data. */
  readonly directory: string
}

export interface MemoryVerdict {
  /** Memory of the server before the first upload. */
  readonly idle: Memory
  readonly peak: Memory
  /** Number of documents in the index at the end. */
  readonly documents: number
}

/** @throws Error if the server does not start, refuses an upload, or fails a task */
export async function memoryTrial(trial: MemoryTrial): Promise<MemoryVerdict> {
  const started = await ServerProcess.start({
    data: join(trial.directory, 'data'),
    engine: trial.engine,
    startMsMax: START_MS_MAX,
    args: [
      ['--max-indexing-memory', String(trial.indexingBytes)],
      ['--cache-size', String(trial.cacheBytes)],
      ['--log-level', 'WARN'],
    ].flat(),
  })
  if (started.kind !== 'listening')
    throw new Error(`the server did not start: ${started.kind}: ${started.errors}`)
  const { server } = started
  const pid = server.pid!
  try {
    await configure(server)
    await untilIdle(pid)
    const idle = memoryOf(pid)
    const watch = fork(fileURLToPath(new URL('./watch-main.js', import.meta.url)), [String(pid)])
    try {
      const documents = await load(server, trial)
      // Merging continues after the last task.
      await untilIdle(pid)
      const answered = once(watch, 'message')
      watch.send('peak')
      const [peak] = (await answered) as [Memory]
      return { idle, peak, documents }
    } finally {
      watch.kill()
    }
  } finally {
    await server.stop(STOP_MS_MAX)
  }
}

async function configure(server: ServerProcess): Promise<void> {
  await accepted(server, 'POST', '/indexes', { uid: INDEX, primaryKey: 'id' })
  await ended(
    server,
    await accepted(server, 'PATCH', `/indexes/${INDEX}/settings`, {
      filterableAttributes: ['year', 'genres'],
      sortableAttributes: ['year'],
    }),
  )
}

/** Sends all uploads without waiting for each task, then waits for them. @returns the number of documents */
async function load(server: ServerProcess, { documentBytes, uploadBytes, seed }: MemoryTrial) {
  let last = 0
  for (const upload of uploads(documentBytes, uploadBytes, seed))
    last = await accepted(server, 'POST', `/indexes/${INDEX}/documents`, upload.toString())
  await ended(server, last)
  const { body: failed } = await server.call('GET', '/tasks?statuses=failed,canceled&limit=1')
  const { results } = failed as { readonly results: readonly unknown[] }
  if (results.length > 0) throw new Error(`a task failed: ${JSON.stringify(results[0])}`)
  const { body } = await server.call('GET', `/indexes/${INDEX}/stats`)
  return (body as { readonly numberOfDocuments: number }).numberOfDocuments
}

/** @returns the uid of the task */
async function accepted(server: ServerProcess, method: string, path: string, body: unknown): Promise<number> {
  const contentType = typeof body === 'string' ? 'application/x-ndjson' : 'application/json'
  const answer = await server.call(method, path, body, { contentType })
  if (answer.status !== 202)
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return (answer.body as { readonly taskUid: number }).taskUid
}

async function ended(server: ServerProcess, taskUid: number): Promise<void> {
  for (;;) {
    const { body } = await server.call('GET', `/tasks/${taskUid}`)
    const { status } = body as { readonly status: string }
    if (status === 'succeeded') return
    if (status === 'failed' || status === 'canceled')
      throw new Error(`task ${taskUid}: ${JSON.stringify(body)}`)
    await sleep(100)
  }
}
