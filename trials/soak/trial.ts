/** Starts a server many times on one data directory, and checks after each cycle that all its answers still hold. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { numbers } from '../../__test__/support/numbers.js'
import { ServerProcess } from '../../__test__/support/server-process.js'
import { type CallFault, type CallKind, Faults } from '../faults/library.js'
import { Load } from '../faults/load.js'
import type { TaskView } from '../faults/model.js'
import { Cancelations, isCancelation } from './cancelations.js'
import { judgeDates, jump } from './clock.js'
import type { SoakDisk } from './disk.js'
import { Receiver } from './receiver.js'
import { isRegisterTask, Registers } from './registers.js'
import { TaskHistory } from './task-history.js'

export interface SoakSetup {
  readonly engine: string
  readonly seed: number
  /** Threads that answer. Default: the default of the server. */
  readonly httpThreads?: number | undefined
  readonly disk: SoakDisk
  /** Path of the preloaded library; null if no calls fail. */
  readonly library: string | null
  /** Returns true to begin another cycle. */
  shouldContinue(cycles: number): boolean
  /** Called after each cycle. */
  report(cycle: SoakCycle): void
}

export interface SoakCycle {
  readonly number: number
  /** Description of the injected fault and how the server ended. */
  readonly story: string
  /** Resident memory of the server before it ended, in MiB; null if unknown. */
  readonly residentMib: number | null
  readonly problems: readonly string[]
}

/** Timeouts are long, because a trial may run on a busy machine with lowest priority. */
const START_MS_MAX = 300_000
const STOP_MS_MAX = 180_000
const WRITES = 24
/** Maximum time before and after an injected fault. */
const QUIET_MS = 1_500
/** Maximum duration of a fault. */
const FAULT_MS = 1_000

const failures: readonly (readonly [readonly CallKind[], CallFault['error']])[] = [
  [['write'], 'EIO'],
  [['write'], 'ENOSPC'],
  [['write'], 'short'],
  [['sync'], 'EIO'],
  [['rename', 'unlink'], 'EIO'],
  [['write', 'sync', 'rename', 'unlink', 'truncate', 'open', 'mkdir', 'allocate'], 'EIO'],
]
const places = ['/indexes/*', '/tasks/*', '/update_files*', '/*'] as const

/** Returns true for tasks that neither the load nor the registers judge. */
const isDump = ({ type }: TaskView): boolean => type === 'dumpCreation' || type === 'snapshotCreation'

/** Runs cycles until `shouldContinue` returns false. @returns all problems, and counts of the work */
export async function soak(setup: SoakSetup): Promise<{
  readonly problems: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}> {
  const random = numbers(setup.seed)
  const cancelations = new Cancelations(random)
  const load = new Load(random, {
    isOther: (task) => isRegisterTask(task) || isDump(task) || isCancelation(task),
    isCanceled: (task) => cancelations.explains(task),
  })
  const receiver = await Receiver.open(random)
  const [registers, history] = [new Registers(), new TaskHistory()]
  const problems: string[] = []
  for (let number = 0; setup.shouldContinue(number); number++) {
    const cycle = await cycleOf(number, {
      ...setup,
      random,
      load,
      registers,
      cancelations,
      receiver,
      history,
    })
    problems.push(...cycle.problems.map((problem) => `cycle ${number} (${cycle.story}): ${problem}`))
    setup.report(cycle)
    // Later cycles would report the same problem again.
    if (cycle.problems.length > 0) break
  }
  await receiver.close()
  const counts = { ...load.counts, ...registers.counts, ...cancelations.counts, webhookCalls: receiver.calls }
  return { problems, counts }
}

interface Cycle extends SoakSetup {
  readonly random: () => number
  readonly load: Load
  readonly registers: Registers
  readonly cancelations: Cancelations
  readonly receiver: Receiver
  readonly history: TaskHistory
}

async function cycleOf(number: number, setup: Cycle): Promise<SoakCycle> {
  const { disk, library, load, registers, cancelations, receiver, random } = setup
  const data = join(disk.path, 'data')
  const faults = library === null ? null : new Faults(library, disk.control)
  const problems: string[] = []
  const end = new AbortController()
  let residentMib: number | null = null
  let story = ''
  try {
    const hours = faults === null || random() < 0.5 ? Promise.resolve([]) : jump(faults, random, end.signal)
    const server = await start(setup, data, faults?.env)
    if (number === 0) {
      await receiver.subscribe(server)
      await load.begin(server)
    }
    receiver.beginTrouble()
    const work = [
      load.run(server, WRITES),
      registers.run(server, end.signal),
      cancelations.run(server, end.signal),
      search(server, random, end.signal, problems),
      backUp(server, random),
    ]
    await sleep(random() * QUIET_MS)
    story = await injectFault(setup, data, faults)
    await sleep(random() * QUIET_MS)
    residentMib = await residentMibOf(server)
    if (server.hasEnded)
      problems.push(
        `the server ended unexpectedly, by ${server.endedBy ?? server.exitCode}: ${server.errors.slice(-800)}`,
      )
    const isKilled = random() < 0.7
    story += isKilled ? '; killed' : '; stopped'
    await load.remember(server).catch(() => undefined)
    if (isKilled) await server.kill()
    else problems.push(...(await stopped(server)))
    end.abort()
    await Promise.all(work)
    const jumps = await hours
    if (jumps.length > 0) story += `; clock at ${jumps.join(', ')} h`
    await disk.free()

    const healthy = await start(setup, data)
    problems.push(...(await judge(healthy, setup)), ...(await stopped(healthy)))
  } catch (error) {
    problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  end.abort()
  return { number, story, residentMib, problems }
}

/** Waits until all tasks ended, then compares the state with everything that clients and the receiver saw. */
async function judge(server: ServerProcess, setup: Cycle): Promise<string[]> {
  const { load, registers, cancelations, receiver, history, random } = setup
  const { tasks, added, problems } = await history.read(server)
  return [
    ...problems,
    // First, because the load needs to know which cancelations explain canceled tasks.
    ...cancelations.judge(tasks),
    ...(await load.judgeTasks(server, tasks)),
    ...(await registers.judge(server)),
    ...(await receiver.judge(tasks)),
    ...(await judgeDates(server, tasks, { added: added.length, random })),
  ]
}

/** @throws if the server does not listen */
async function start(
  { engine, disk, httpThreads }: SoakSetup,
  data: string,
  env: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  // The webhook receiver is on this machine.
  const networks = ['--experimental-allowed-ip-networks', '127.0.0.0/8']
  const args = ['--log-level', 'WARN', '--dump-dir', join(disk.path, 'dumps'), ...networks]
  const started = await ServerProcess.start({
    ...{ data, engine, httpThreads, startMsMax: START_MS_MAX, args, env },
  })
  if (started.kind === 'listening') return started.server
  const by = started.kind === 'ended' ? `ended by ${started.signal ?? started.code}` : started.kind
  throw new Error(`the server did not start: ${by}: ${started.errors.slice(0, 1_500)}`)
}

/** Makes calls fail, fills the disk, or does nothing. @returns a description */
async function injectFault({ random, disk }: Cycle, data: string, faults: Faults | null): Promise<string> {
  const dice = random()
  if (dice < 0.3) return 'nothing failed'
  if (dice < 0.45 && disk.reason === null) {
    await disk.fill()
    await sleep(random() * FAULT_MS)
    await disk.free()
    return 'the disk was full'
  }
  if (faults === null) return 'nothing failed'
  const [calls, error] = failures[Math.floor(random() * failures.length)]!
  const place = places[Math.floor(random() * places.length)]!
  const after = Math.floor(random() ** 2 * 30)
  faults.begin({ calls, error, once: random() < 0.4, after, pattern: `${data}${place}` })
  await sleep(random() * FAULT_MS)
  faults.end()
  return `${error} of ${calls.join('+')} on ${place}`
}

/** Searches until the signal aborts. Each answer must be hits or an error that the API defines. */
async function search(
  server: ServerProcess,
  random: () => number,
  signal: AbortSignal,
  problems: string[],
): Promise<void> {
  while (!signal.aborted && !server.hasEnded) {
    const index = ['left', 'right', 'passing', 'registers'][Math.floor(random() * 4)]
    const q = ['', 'begin', 'w1', 'wr', 'left'][Math.floor(random() * 5)]
    const answer = await server
      .call('POST', `/indexes/${index}/search`, { q, limit: 5 })
      .catch((error: unknown) => (error as Error).name)
    if (answer === 'TimeoutError') problems.push('a search was not answered')
    if (typeof answer === 'string') continue
    const { hits, code } = answer.body as { readonly hits?: readonly unknown[]; readonly code?: string }
    if (answer.status === 200 ? !Array.isArray(hits) : code === undefined)
      problems.push(
        `a search was answered with ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`,
      )
    await sleep(5)
  }
}

/** Requests a dump occasionally. */
async function backUp(server: ServerProcess, random: () => number): Promise<void> {
  if (random() < 0.2) await server.call('POST', '/dumps').catch(() => null)
}

async function stopped(server: ServerProcess): Promise<string[]> {
  const code = await server.stop(STOP_MS_MAX)
  return code === 0 ? [] : [`exit code ${code} after SIGTERM: ${server.errors.slice(-600)}`]
}

/** Returns the resident memory in MiB, or null. Linux only. */
async function residentMibOf({ pid }: ServerProcess): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kibibytes === undefined ? null : Math.round(Number(kibibytes) / 1024)
}
