/**
 * Two servers with separate data directories take over one bucket from each other, while clients write and calls to
 * the bucket fail. Rules tested here:
 * 1. With `--bucket-ack bucket` every document acknowledged with 202 exists after any number of takeovers.
 * 2. A writer that was suspended during a takeover becomes a follower and answers no further write with 202.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { startFaultProxy } from '../../__test__/support/fault-proxy.js'
import { numbers } from '../../__test__/support/numbers.js'
import { freePort } from '../../__test__/support/ports.js'
import { program } from '../../__test__/support/program.js'
import { accessKeyId, bucket, secretAccessKey } from '../../__test__/support/store-servers.js'
import { percentile } from '../percentile.js'

export interface TakeoverSetup {
  readonly engine: string
  readonly seed: number
  readonly rounds: number
  /** Origin of an object store that does not check signatures. */
  readonly store: string
  /** An empty directory. */
  readonly directory: string
  /** Longest delay of a call to the bucket. Default: 20. */
  readonly delayMs?: number
  /** Share of the calls to the bucket that fail. Default: 0.1. */
  readonly failing?: number
  /** Called before each round. False ends the trial early. Default: always true. */
  readonly shouldContinue?: () => boolean
  report(line: string): void
}

/** How a round ends for the current writer. */
const ENDS = ['killed', 'stopped', 'asleep'] as const

const CLIENTS = 4
/** Longest pause of a client between two writes. Each round has its own. */
const PAUSE_MS_MAX = 200
/** A wait that takes longer ends the trial with an error. */
const PATIENCE_MS = 120_000
const STARTS_MAX = 20

/** @returns a line for each problem */
export async function takeovers(setup: TakeoverSetup): Promise<readonly string[]> {
  const { engine, seed, rounds, store, directory, report } = setup
  const random = numbers(seed)
  const proxy = await startFaultProxy({
    store,
    lot: numbers(seed + 1),
    failing: setup.failing ?? 0.1,
    delayMs: setup.delayMs ?? 20,
  })
  const problems: string[] = []
  const acknowledged = new Set<number>()
  const times: number[] = []
  const children = new Set<ChildProcess>()
  let next = 0
  let writer: Server | null = null
  try {
    for (let round = 0; round < rounds && (setup.shouldContinue?.() ?? true); round++) {
      const before: Server | null = writer
      const end = ENDS[Math.floor(random() * ENDS.length)]!
      const clients =
        before === null ? null : load(before, () => next++, acknowledged, random() * PAUSE_MS_MAX)
      if (clients !== null) await pause(300 + random() * 2_000)
      if (before !== null) {
        if (end === 'killed') await before.kill()
        if (end === 'stopped') await before.stop()
        if (end === 'asleep') before.signal('SIGSTOP')
      }
      if (end !== 'asleep') await clients?.end()
      const began = performance.now()
      writer = await started(children, [engine, join(directory, `${round % 2}`), proxy.origin])
      if (before !== null) times.push(performance.now() - began)
      // The first acknowledged document implies a first checkpoint, from which another server can take over.
      if (before === null) await firstDocument(writer, next++, acknowledged)
      if (end === 'asleep' && before !== null) {
        // The suspended writer continues as if nothing had happened.
        before.signal('SIGCONT')
        await pause(random() * 1_000)
        await clients?.end()
        const late = await before.add([{ id: -1 }])
        if (late === 202)
          problems.push(`round ${round}: a suspended writer accepted a document after the takeover`)
        await before.kill()
      }
      const missing = await missingIn(writer, acknowledged)
      if (missing.length > 0)
        problems.push(
          `round ${round} (${end}): ${missing.length} acknowledged documents are missing: ${missing.slice(0, 5)}`,
        )
      report(
        `${round}: ${before === null ? 'begun' : end}, ${acknowledged.size} acknowledged, ${missing.length} missing`,
      )
    }
    if (times.length > 0)
      report(
        `start to leader: p50 ${Math.round(percentile(times, 0.5)!)} ms, p99 ${Math.round(percentile(times, 0.99)!)} ms`,
      )
    report([...proxy.counts].map(([fate, count]) => `${fate} ${count}`).join(', '))
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await proxy.close()
  }
  return problems
}

interface Server {
  /** @returns the status, or null without an answer */
  add(documents: readonly object[]): Promise<number | null>
  call(path: string): Promise<unknown>
  signal(name: NodeJS.Signals): void
  kill(): Promise<void>
  stop(): Promise<void>
  /** Repeats `step` until it is true. @throws Error with the end of the log after `PATIENCE_MS` */
  until(what: string, step: () => Promise<boolean>): Promise<void>
}

/** Engine, data directory, endpoint of the bucket. */
type Start = readonly [engine: string, data: string, endpoint: string]

/**
 * Starts a server and waits until it has taken over. Repeats a start that fails because of the bucket.
 * @param children gets its process
 */
async function started(children: Set<ChildProcess>, start: Start): Promise<Server> {
  for (let attempt = 1; attempt <= STARTS_MAX; attempt++) {
    const server = await begun(children, start)
    if (server !== null) return server
  }
  throw new Error(`a server did not reach the bucket in ${STARTS_MAX} starts`)
}

/** @returns null if the server had no data and exited because too many of its calls failed */
async function begun(children: Set<ChildProcess>, [engine, data, endpoint]: Start): Promise<Server | null> {
  const port = await freePort()
  const options = [
    ...['--db-path', data, '--http-addr', `127.0.0.1:${port}`, '--engine', engine, '--log-level', 'WARN'],
    ...['--bucket', `s3://${bucket}/takeovers`, '--bucket-endpoint', endpoint, '--bucket-ack', 'bucket'],
    ...[
      '--experimental-allowed-ip-networks',
      '127.0.0.0/8',
      '--bucket-take-over',
      '--bucket-interval',
      '100',
    ],
  ]
  const child: ChildProcess = spawn(process.execPath, [program, ...options], {
    env: { ...process.env, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  children.add(child)
  let log = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    log = `${log}${chunk}`.slice(-10_000)
  })
  let end: string | null = null
  child.once('exit', (code, signal) => {
    children.delete(child)
    end = `exited with ${code ?? signal}`
  })
  const late = (what: string): never => {
    child.kill('SIGKILL')
    throw new Error(`a server has not ${what} within ${PATIENCE_MS / 1000} s: ${log}`)
  }
  const until = async (what: string, step: () => Promise<boolean>): Promise<void> => {
    for (const limit = performance.now() + PATIENCE_MS; !(await step()); await pause(30))
      if (performance.now() > limit) late(what)
  }
  const ended = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await until(`ended by ${signal}`, async () => end !== null)
  }
  const origin = `http://127.0.0.1:${port}`
  /** @returns null without an answer */
  const answer = async (path: string, init: RequestInit = {}): Promise<Response | null> => {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    try {
      return await fetch(`${origin}${path}`, { ...init, signal })
    } catch {
      return signal.aborted ? late(`answered ${path}`) : null
    }
  }
  await until('taken over', async () => end !== null || (await hasTakenOver(await answer('/health'))))
  if (end !== null) {
    if (log.includes('needs the bucket at its start')) return null
    throw new Error(`a server ${end}: ${log}`)
  }
  return {
    add: async (documents) => {
      const body = JSON.stringify(documents)
      const headers = { 'content-type': 'application/json' }
      const response = await answer('/indexes/things/documents', { method: 'POST', body, headers })
      await response?.body?.cancel()
      return response?.status ?? null
    },
    call: async (path) => (await answer(path))?.json() ?? null,
    signal: (name) => void child.kill(name),
    kill: () => ended('SIGKILL'),
    stop: () => ended('SIGTERM'),
    until,
  }
}

async function hasTakenOver(health: Response | null): Promise<boolean> {
  if (health === null) return false
  const { replication } = (await health.json()) as {
    readonly replication?: { readonly role: string; readonly position: number | null }
  }
  return replication?.role === 'writer' && replication.position !== null
}

async function firstDocument(server: Server, id: number, acknowledged: Set<number>): Promise<void> {
  const add = async () => (await server.add([{ id, text: 'the first thing' }])) === 202
  await server.until('accepted a first document', add)
  acknowledged.add(id)
}

/** Starts clients that add documents until `end` is called. */
function load(server: Server, nextId: () => number, acknowledged: Set<number>, pauseMs: number) {
  let isOn = true
  const client = async (): Promise<void> => {
    while (isOn) {
      const id = nextId()
      const status = await server.add([{ id, text: `thing ${id}` }])
      if (status === 202) acknowledged.add(id)
      await pause(status === 202 ? pauseMs : 50)
    }
  }
  const running = Promise.all(Array.from({ length: CLIENTS }, client))
  // An error is thrown by `end`.
  running.catch(() => undefined)
  return {
    end: async () => {
      isOn = false
      await running
    },
  }
}

/** Waits until all tasks ended. @returns the acknowledged documents that the server does not have */
async function missingIn(server: Server, acknowledged: ReadonlySet<number>): Promise<readonly number[]> {
  await server.until('ended all tasks', async () => {
    const path = '/tasks?statuses=enqueued,processing&limit=1'
    return ((await server.call(path)) as { total: number } | null)?.total === 0
  })
  const found = new Set<number>()
  for (let offset = 0; acknowledged.size > 0; offset += 1000) {
    const path = `/indexes/things/documents?fields=id&limit=1000&offset=${offset}`
    const page = (await server.call(path)) as { readonly results?: readonly { id: number }[] } | null
    for (const { id } of page?.results ?? []) found.add(id)
    if ((page?.results?.length ?? 0) < 1000) break
  }
  return [...acknowledged].filter((id) => !found.has(id))
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
