/** Servers in the test process, with the options of a command line. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { ExecutionContext } from 'ava'
import { serve } from '../../ts/cli/serve.js'
import { parseLaunchOptions } from '../../ts/launch/index.js'
import { openLogWithOutlets } from '../../ts/telemetry/index.js'
import type { TestBody } from '../support/server.js'

export interface Served {
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: TestBody }>
  /** Sends a write and waits for its task. */
  settle(method: string, path: string, body: unknown): Promise<TestBody>
  /** Called automatically at the end of the test. */
  stop(): Promise<void>
}

/** A new directory, removed when the test ends. */
export async function newDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/**
 * Starts a server with its data in `directory`.
 * @param cores number of cores of the machine that the options are computed for
 * @throws LaunchError if it does not start
 */
export async function startServed(
  t: ExecutionContext,
  directory: string,
  args: readonly string[],
  { env = {}, cores = 8 }: { readonly env?: Readonly<Record<string, string>>; readonly cores?: number } = {},
): Promise<Served> {
  const machine = { memoryBytes: 4e9, cores }
  const paths = [
    '--db-path',
    join(directory, 'data.ms'),
    '--dump-dir',
    directory,
    '--snapshot-dir',
    directory,
  ]
  const given = [...paths, '--http-addr', '127.0.0.1:0', ...args]
  const launch = parseLaunchOptions({ args: given, env, readFile: () => null, machine })
  if (launch.kind !== 'run') throw new Error(`the arguments ask for ${launch.kind}`)
  const destination = new Writable({ write: (_chunk, _encoding, done) => done() })
  const { log, outlets } = openLogWithOutlets({ level: 'OFF', mode: 'JSON', destination })
  const serving = await serve({
    options: launch.options,
    launch,
    configFile: null,
    machine,
    version: '0.0.0',
    build: { commitSha: 'unknown', commitDate: 'unknown' },
    userDirectory: join(directory, 'user'),
    log,
    outlets,
    startsAs: 'leader',
    signal: new AbortController().signal,
  })
  let stopped: Promise<void> | null = null
  const stop = (): Promise<void> => {
    stopped ??= serving.stop()
    return stopped
  }
  t.teardown(stop)
  const call: Served['call'] = async (method, path, body) => {
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body), headers }
    const answer = await fetch(serving.url + path, { method, ...sent })
    return { status: answer.status, body: (await answer.json()) as TestBody }
  }
  return {
    call,
    async settle(method, path, body) {
      const accepted = await call(method, path, body)
      t.is(accepted.status, 202, JSON.stringify(accepted.body))
      for (;;) {
        const task = (await call('GET', `/tasks/${accepted.body.taskUid}`)).body
        if (task.finishedAt !== null) return task
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    },
    stop,
  }
}
