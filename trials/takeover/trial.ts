/**
 * Two servers with data directories of their own take over one bucket from each other, while clients write and calls to the
 * bucket fail. Rules held here:
 * 1. With `--bucket-ack bucket` every document whose addition was answered with 202 is found after any number of takeovers.
 * 2. A writer that slept through a takeover follows the other one, and answers no write with 202 any more.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { freePort } from '../../__test__/support/daemon.js'
import { startFaultProxy } from '../../__test__/support/fault-proxy.js'
import { numbers } from '../../__test__/support/numbers.js'
import { program } from '../../__test__/support/program.js'
import { accessKeyId, bucket, secretAccessKey } from '../../__test__/support/store-servers.js'

export interface TakeoverSetup {
  readonly engine: string
  readonly seed: number
  readonly rounds: number
  /** Origin of a store that looks at no signature. */
  readonly store: string
  /** An empty directory. */
  readonly directory: string
  /** Asked before each round; false ends the trial early. Default: true. */
  readonly goesOn?: () => boolean
  report(line: string): void
}

/** How a round ends for the server that writes. */
const ENDS = ['killed', 'stopped', 'asleep'] as const

const CLIENTS = 4

/** @returns what was wrong, a line each */
export async function takeovers(setup: TakeoverSetup): Promise<readonly string[]> {
  const { engine, seed, rounds, store, directory, report } = setup
  const lot = numbers(seed)
  const proxy = await startFaultProxy({ store, lot: numbers(seed + 1), failing: 0.1, delayMs: 20 })
  const problems: string[] = []
  const acknowledged = new Set<number>()
  let next = 0
  let writer: Server | null = null
  try {
    for (let round = 0; round < rounds && (setup.goesOn?.() ?? true); round++) {
      const before: Server | null = writer
      const end = ENDS[Math.floor(lot() * ENDS.length)]!
      const clients = before === null ? null : load(before, () => next++, acknowledged)
      if (clients !== null) await pause(300 + lot() * 2_000)
      if (before !== null) {
        if (end === 'killed') await before.kill()
        if (end === 'stopped') await before.stop()
        if (end === 'asleep') before.signal('SIGSTOP')
      }
      if (end !== 'asleep') await clients?.end()
      writer = await started(engine, join(directory, `${round % 2}`), proxy.origin)
      // From its first base on, which is there before anything is acknowledged, another server can take over.
      if (before === null) await firstDocument(writer, next++, acknowledged)
      if (end === 'asleep' && before !== null) {
        // It goes on as if nothing had happened.
        before.signal('SIGCONT')
        await pause(lot() * 1_000)
        await clients?.end()
        const late = await before.add([{ id: -1 }])
        if (late === 202)
          problems.push(`round ${round}: a writer that slept took a document after the takeover`)
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
    report([...proxy.counts].map(([fate, count]) => `${fate} ${count}`).join(', '))
  } finally {
    await writer?.kill()
    await proxy.close()
  }
  return problems
}

interface Server {
  /** @returns the status; null: no answer */
  add(documents: readonly object[]): Promise<number | null>
  call(path: string): Promise<unknown>
  signal(name: NodeJS.Signals): void
  kill(): Promise<void>
  stop(): Promise<void>
}

/** Starts a server that takes over, and waits until it has: one that the bucket does not answer in time starts without it. */
async function started(engine: string, data: string, endpoint: string): Promise<Server> {
  for (;;) {
    const server = await begun(engine, data, endpoint)
    if (server !== null) return server
  }
}

/** @returns null if it had no data and too many of its calls failed, so that it ended: an operator starts it again */
async function begun(engine: string, data: string, endpoint: string): Promise<Server | null> {
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
  let log = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    log = `${log}${chunk}`.slice(-10_000)
  })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const ended = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await gone
  }
  const origin = `http://127.0.0.1:${port}`
  while (!(await hasTakenOver(origin))) {
    if (child.exitCode === 1 && log.includes('needs the bucket at its start')) return null
    if (child.exitCode !== null) throw new Error(`a server ended with ${child.exitCode}: ${log}`)
    await pause(30)
  }
  return {
    add: (documents) =>
      fetch(`${origin}/indexes/things/documents`, {
        method: 'POST',
        body: JSON.stringify(documents),
        headers: { 'content-type': 'application/json' },
      }).then(
        ({ status }) => status,
        () => null,
      ),
    call: async (path) => (await fetch(`${origin}${path}`)).json(),
    signal: (name) => void child.kill(name),
    kill: () => ended('SIGKILL'),
    stop: () => ended('SIGTERM'),
  }
}

async function hasTakenOver(origin: string): Promise<boolean> {
  try {
    const { replication } = (await (await fetch(`${origin}/health`)).json()) as {
      readonly replication?: { readonly role: string; readonly position: number | null }
    }
    return replication?.role === 'writer' && replication.position !== null
  } catch {
    return false
  }
}

async function firstDocument(server: Server, id: number, acknowledged: Set<number>): Promise<void> {
  while ((await server.add([{ id, text: 'the first thing' }])) !== 202) await pause(50)
  acknowledged.add(id)
}

/** Clients that add documents until they are ended. */
function load(server: Server, nextId: () => number, acknowledged: Set<number>) {
  let isOn = true
  const client = async (): Promise<void> => {
    while (isOn) {
      const id = nextId()
      const status = await server.add([{ id, text: `thing ${id}` }])
      if (status === 202) acknowledged.add(id)
      else await pause(50)
    }
  }
  const running = Promise.all(Array.from({ length: CLIENTS }, client))
  return {
    end: async () => {
      isOn = false
      await running
    },
  }
}

/** Acknowledged documents that a server does not have once its tasks have ended. */
async function missingIn(server: Server, acknowledged: ReadonlySet<number>): Promise<readonly number[]> {
  for (;;) {
    const { total } = (await server.call('/tasks?statuses=enqueued,processing&limit=1')) as { total: number }
    if (total === 0) break
    await pause(50)
  }
  const found = new Set<number>()
  for (let offset = 0; acknowledged.size > 0; offset += 1000) {
    const page = (await server.call(`/indexes/things/documents?fields=id&limit=1000&offset=${offset}`)) as {
      results?: readonly { id: number }[]
    }
    for (const { id } of page.results ?? []) found.add(id)
    if ((page.results?.length ?? 0) < 1000) break
  }
  return [...acknowledged].filter((id) => !found.has(id))
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
