/**
 * Watches a server from outside: how long it does not answer `/health`, and what memory it takes.
 *
 * A thread of its own asks every 20 ms. A stop is counted as the time for which the server's first thread ran
 * without answering; what it slept counts too if the machine had processors to spare. What it waited for a
 * processor, and what our own timer was late by, is no stop of the server: so a busy machine finds nothing that a
 * quiet one would not.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

export interface Watched {
  readonly pid: number
  readonly port: number
  readonly path: string
}

/** What was seen since the last look. */
export interface Observation {
  /** The longest stop, in milliseconds. */
  readonly stopMs: number
  /** The longest time to an answer, whatever the reason. */
  readonly slowestMs: number
  /** The most by which our own timer was late. */
  readonly lateMs: number
  /** Questions without an answer. */
  readonly lost: number
  /** The most anonymous memory, in bytes; 0 where the system does not tell. */
  readonly anonymousMax: number
}

export interface Watch {
  /** What was seen since the last call. */
  take(): Promise<Observation>
  close(): Promise<void>
}

export async function startWatch(watched: Watched): Promise<Watch> {
  const worker = new Worker(new URL('./watch-worker.js', import.meta.url), { workerData: watched })
  await once(worker, 'online')
  // Takers are served in turn: the thread answers one message by one.
  let last: Promise<unknown> = Promise.resolve()
  const take = async (): Promise<Observation> => {
    worker.postMessage('take')
    const [seen] = await once(worker, 'message')
    return seen as Observation
  }
  return {
    take() {
      const taken = last.then(take)
      last = taken.catch(() => undefined)
      return taken
    },
    async close() {
      await worker.terminate()
    },
  }
}

/** A server that does nothing but answer, to see what the machine makes of that. */
const BARE = `
const server = require('node:http').createServer((_, answer) => answer.end('{}'))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

/** What is seen of a bare server in `ms` milliseconds: the error of every later figure. */
export async function calibrate(ms: number): Promise<Observation> {
  const child = spawn(process.execPath, ['-e', BARE], { stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const [line] = await once(child.stdout, 'data')
    const watch = await startWatch({ pid: child.pid ?? 0, port: Number(String(line)), path: '/' })
    await pause(ms / 10)
    await watch.take()
    await pause(ms)
    const seen = await watch.take()
    await watch.close()
    return seen
  } finally {
    child.kill('SIGKILL')
  }
}
