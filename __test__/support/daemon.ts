import { type ChildProcess, spawn } from 'node:child_process'
import type { ExecutionContext } from 'ava'
import { freePort } from './ports.js'
import { program } from './program.js'
import type { TestBody } from './server.js'
import { askToStop, stopChannel } from './stopping.js'

export interface Reply {
  readonly status: number
  readonly body: TestBody
}

/** The program in a separate process, as `npx siftd` runs it. */
export interface TestDaemon {
  call(method: string, path: string, body?: unknown): Promise<Reply>
  readonly port: number
  readonly pid: number
  /** Returns its log so far. */
  log(): string
  /** Returns true if it has ended for any reason. */
  ended(): boolean
  /** Kills it, as a power failure would. */
  kill(): Promise<void>
  /** Asks it to stop and waits until it ends. @returns its exit code, null if a signal ended it */
  stop(): Promise<number | null>
  /** Sends a signal without waiting. */
  signal(name: NodeJS.Signals): void
}

/**
 * Starts a daemon with a data directory and waits until it answers. Kills it when the test ends.
 * @param args options, or returns them for its port
 * @param env variables in addition to those of the tests
 * @param stderr a file for its log, or how to treat the pipe. Default: the pipe is read
 */
export async function startDaemon(
  t: Pick<ExecutionContext, 'teardown'>,
  data: string,
  args: readonly string[] | ((port: number) => readonly string[]),
  env: NodeJS.ProcessEnv = {},
  stderr: number | 'closed' | 'unread' | 'read' = 'read',
): Promise<TestDaemon> {
  const port = await freePort()
  const given = [
    '--db-path',
    data,
    '--http-addr',
    `127.0.0.1:${port}`,
    ...(typeof args === 'function' ? args(port) : args),
  ]
  const child: ChildProcess = spawn(process.execPath, [program, ...given], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', typeof stderr === 'number' ? stderr : 'pipe', ...stopChannel],
  })
  let log = ''
  if (stderr === 'closed') child.stderr?.destroy()
  if (stderr === 'read')
    child.stderr?.on('data', (chunk: Buffer) => {
      log += chunk.toString()
    })
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  const stop = async () => {
    askToStop(child)
    return gone
  }
  t.teardown(kill)
  const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body), headers }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...sent })
    return { status: answer.status, body: (await answer.json()) as TestBody }
  }
  // A follower without its bucket answers 503 here but serves searches.
  while (![200, 503].includes((await call('GET', '/health').catch(() => null))?.status ?? 0)) {
    if (child.exitCode !== null) throw new Error(`the daemon exited with ${child.exitCode}: ${log}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    call,
    port,
    pid: child.pid ?? 0,
    log: () => log,
    ended: () => child.exitCode !== null || child.signalCode !== null,
    kill,
    stop,
    signal: (name) => void child.kill(name),
  }
}
