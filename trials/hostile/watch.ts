/**
 * Watches a server from outside: how long it does not answer `/health`, and how much memory it uses.
 *
 * A worker thread polls every 20 ms. A stop is the time that the server's main thread ran without answering, plus
 * the time it slept if the machine had idle processors. Time that it waited for a processor and the delay of our own
 * timer do not count, so a busy machine reports no more stops than an idle one.
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

/** Observations since the last `take`. */
export interface Observation {
  /** Longest stop, in milliseconds. */
  readonly stopMs: number
  /** Longest time to an answer, for any reason. */
  readonly slowestMs: number
  /** Largest delay of our own timer. */
  readonly lateMs: number
  /** Polls without an answer. */
  readonly lost: number
  /** Peak of anonymous memory, in bytes; 0 where the system does not report it. */
  readonly anonymousMax: number
}

export interface Watch {
  /** Returns the observations since the last call. */
  take(): Promise<Observation>
  close(): Promise<void>
}

export async function startWatch(watched: Watched): Promise<Watch> {
  const worker = new Worker(new URL('./watch-worker.js', import.meta.url), { workerData: watched })
  await once(worker, 'online')
  // Calls run in turn, because the worker answers one message at a time.
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

/** A server that only answers, to measure the noise of the machine. */
const BARE = `
const server = require('node:http').createServer((_, answer) => answer.end('{}'))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

/** Watches a bare server for `ms` milliseconds. The result is the measurement error of later figures. */
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
