/** Makes the system calls of one server fail under load, and checks afterwards that its answers were true. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { numbers } from '../../__test__/support/numbers.js'
import { ServerProcess, type Started } from '../../__test__/support/server-process.js'
import { type CallFault, type CallKind, Faults } from './library.js'
import { Load, settled } from './load.js'

export interface FaultTrial {
  readonly engine: string
  readonly seed: number
  readonly number: number
  /** Threads that answer. Default: the default of the server. */
  readonly httpThreads?: number | undefined
  /** Path of the preloaded library; null for a trial with kills only. */
  readonly library: string | null
  /** Directory for the data of the trial. */
  readonly directory: string
}

export interface FaultVerdict {
  readonly number: number
  /** Description of what failed and how the server ended. */
  readonly story: string
  /** Number of failed calls. */
  readonly hits: number
  /** Number of requests by outcome. */
  readonly counts: Readonly<Record<string, number>>
  /** A line for each problem. */
  readonly problems: readonly string[]
}

const START_MS_MAX = 60_000
const STOP_MS_MAX = 30_000
/** Timeout of /health on a busy machine. */
const HEALTH_MS_MAX = 15_000
/** How long to wait for tasks after a fault. Tasks that need a restart are checked after it. */
const RECOVERY_MS = 1_500

/** Servers killed in a trial with kills only. */
export const KILLS = 5
/** Maximum time from the start of the load to the kill. */
const LIFE_MS_MAX = 500

/** Combinations of calls and errors. Common ones are listed more than once. */
const failures: readonly (readonly [readonly CallKind[], CallFault['error']])[] = [
  [['write'], 'EIO'],
  [['write'], 'ENOSPC'],
  [['write', 'allocate', 'truncate', 'mkdir', 'open'], 'ENOSPC'],
  [['write'], 'short'],
  [['sync'], 'EIO'],
  [['sync'], 'ENOSPC'],
  [['sync', 'unlink'], 'EIO'],
  [['sync', 'truncate'], 'EIO'],
  [['rename'], 'EIO'],
  [['unlink'], 'EIO'],
  [['open'], 'EMFILE'],
  [['open'], 'EIO'],
  [['mkdir', 'rename', 'unlink'], 'EIO'],
  [['mmap'], 'ENOMEM'],
  [['read'], 'EIO'],
  [['write', 'sync', 'rename', 'unlink', 'truncate', 'open', 'mkdir', 'allocate', 'read'], 'EIO'],
]
/** Path patterns in the data directory that faults apply to. */
const places = ['/indexes/*', '/tasks/*', '/update_files*', '/*', '/indexes/*', '/tasks/tasks.db*'] as const

/** Runs the trial with a number. The same number and seed send the same writes and faults. */
export async function faultTrial(setup: FaultTrial): Promise<FaultVerdict> {
  const { engine, number, library, httpThreads } = setup
  const random = numbers(setup.seed * 1_000_003 + number)
  const data = join(setup.directory, `data-${number}`)
  await rm(data, { recursive: true, force: true })
  const faults = library === null ? null : new Faults(library, join(setup.directory, `control-${number}`))
  const load = new Load(random)
  const problems: string[] = []
  const story: string[] = []
  const start = (env: NodeJS.ProcessEnv = {}): Promise<Started> =>
    ServerProcess.start({
      ...{ data, engine, httpThreads, startMsMax: START_MS_MAX },
      ...{ args: ['--log-level', 'WARN'], env },
    })
  let hits = 0
  try {
    if (faults === null) {
      story.push(`${KILLS} kills`)
      problems.push(...(await killRepeatedly(start, load, random)))
    } else {
      const server = listening(await start(faults.env))
      const watch = watchHealth(server)
      await load.begin(server)
      const fault = chosenFault(random, data)
      story.push(shown(fault, data))
      faults.begin(fault)
      await load.run(server, 24)
      faults.end()
      hits = faults.hits
      await load.run(server, 6)
      const patience = random() < 0.5 ? RECOVERY_MS : 0
      await settled(server, patience).catch(() => undefined)
      await load.remember(server)
      problems.push(...(await watch.end()))
      story.push(random() < 0.5 ? 'killed' : 'stopped')
      if (story.at(-1) === 'killed') await server.kill()
      else problems.push(...(await stopped(server)))
      if (random() < 0.25) {
        const again = chosenFault(random, data)
        story.push(`started with ${shown(again, data)}`)
        faults.begin(again)
        problems.push(...(await judgeStart(await start(faults.env), load)))
        faults.end()
      }
    }
    const healthy = listening(await start())
    problems.push(...(await load.judge(healthy)))
    problems.push(...(await stopped(healthy)))
  } catch (error) {
    problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  if (problems.length === 0) await rm(data, { recursive: true, force: true })
  return { number, story: story.join('; '), hits, counts: load.counts, problems }
}

/** @throws if a server does not start */
function listening(started: Started): ServerProcess {
  if (started.kind === 'listening') return started.server
  throw new Error(`the server did not start: ${started.kind}: ${started.errors.slice(0, 1_500)}`)
}

/** A start while calls fail must exit with a one-line message, or serve the same tasks as before. */
async function judgeStart(started: Started, load: Load): Promise<string[]> {
  if (started.kind === 'hung') return ['a start with faults hung']
  if (started.kind === 'ended') {
    const lines = started.errors.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
    const isOneLine = lines.length === 1 && lines[0]!.startsWith('siftd: ')
    return isOneLine
      ? []
      : [`a start with faults exited with ${started.code}: ${started.errors.slice(0, 800)}`]
  }
  const { server } = started
  await settled(server, RECOVERY_MS).catch(() => undefined)
  await load.remember(server)
  return stopped(server)
}

async function stopped(server: ServerProcess): Promise<string[]> {
  const code = await server.stop(STOP_MS_MAX)
  return code === 0 ? [] : [`exit code ${code} after SIGTERM: ${server.errors.slice(-600)}`]
}

/** Kills servers at random moments under load. */
async function killRepeatedly(
  start: () => Promise<Started>,
  load: Load,
  random: () => number,
): Promise<string[]> {
  const problems: string[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    const server = listening(await start())
    const watch = watchHealth(server)
    if (kill === 0) await load.begin(server)
    const loaded = load.run(server, 40)
    await sleep(random() * LIFE_MS_MAX)
    problems.push(...(await watch.end()))
    await load.remember(server)
    await server.kill()
    await loaded
  }
  return problems
}

function chosenFault(random: () => number, data: string): CallFault {
  const [calls, error] = failures[Math.floor(random() * failures.length)]!
  const place = places[Math.floor(random() * places.length)]!
  return {
    calls,
    error,
    once: random() < 0.4,
    // Favours early calls, because a batch makes most of its calls early.
    after: Math.floor(random() ** 2 * 30),
    pattern: `${data}${place}`,
  }
}

function shown({ calls, error, once, after, pattern }: CallFault, data: string): string {
  const extent = once ? 'one call' : 'all calls'
  return `${error} of ${calls.join('+')} on ${pattern.slice(data.length)}, ${extent} after ${after}`
}

/** Polls /health until ended. */
function watchHealth(server: ServerProcess): { end(): Promise<string[]> } {
  const wait = new AbortController()
  const problems: string[] = []
  const asking = (async () => {
    while (!wait.signal.aborted) {
      const before = Date.now()
      const status = await server.call('GET', '/health').then(
        (answer) => answer.status,
        (error: unknown) => String(error),
      )
      const took = Date.now() - before
      if (server.hasEnded)
        problems.push(`the server exited by itself with ${server.exitCode}: ${server.errors.slice(-800)}`)
      else if (status !== 200) problems.push(`/health answered ${status}`)
      else if (took > HEALTH_MS_MAX) problems.push(`/health took ${took} ms`)
      if (problems.length > 0) return
      await sleep(100, null, { signal: wait.signal }).catch(() => null)
    }
  })()
  return {
    async end() {
      wait.abort()
      await asking
      return problems
    },
  }
}
