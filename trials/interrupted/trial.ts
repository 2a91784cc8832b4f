/** Interrupts one operation, then checks that the old data is intact and the operation can be repeated. */
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServerProcess, type Started } from '../../__test__/support/server-process.js'
import { type CallFault, diskChangingCalls, Faults } from '../faults/library.js'
import { settled } from '../faults/load.js'
import type { TaskView } from '../faults/model.js'
import { brokenArchives, leftovers, shapesIn } from './files.js'
import type { Operation, Place } from './operations.js'
import { answersOf, listening, WAIT_MS_MAX, type World } from './world.js'

/** Ways to interrupt an operation: kill the process, or make its disk full from a moment on. */
export const interruptions = ['killed', 'full'] as const
export type Interruption = (typeof interruptions)[number]

/** Measurements of an uninterrupted operation. */
export interface Usual {
  /** Number of system calls that change the disk. */
  readonly calls: number
  /** Number of files afterwards, by kind. */
  readonly shapes: ReadonlyMap<string, number>
}

export interface Setup {
  readonly world: World
  readonly operation: Operation
  /** Path of the preloaded library. */
  readonly library: string
  /** An empty directory for the trial, removed unless there are problems. */
  readonly directory: string
}

export interface Verdict {
  /** True if the interruption came before the operation ended. */
  readonly isInterrupted: boolean
  /** A line for each problem. */
  readonly problems: readonly string[]
}

/** How long the disk stays full after the first refused call. */
const FULL_MS = 200

/** Runs an operation without interruption and counts its system calls. @throws if it fails */
export async function usualRun(setup: Setup): Promise<Usual> {
  const trial = new Trial(setup)
  const { request } = setup.operation
  try {
    await trial.prepare()
    trial.faults.beginCount(diskChangingCalls, trial.pattern)
    const server = await trial.listening(trial.faults.env)
    if (request !== null) {
      trial.faults.beginCount(diskChangingCalls, trial.pattern)
      await server.call('POST', request)
    }
    await settled(server)
    trial.faults.end()
    if ((await server.stop(WAIT_MS_MAX)) !== 0) throw new Error(server.errors)
    return { calls: trial.faults.counted, shapes: await shapesIn(trial.place.root) }
  } finally {
    await trial.remove()
  }
}

/** @param moment number of counted system calls before the interruption */
export async function interruptedRun(
  setup: Setup,
  usual: Usual,
  kind: Interruption,
  moment: number,
): Promise<Verdict> {
  const trial = new Trial(setup)
  const problems: string[] = []
  try {
    await trial.prepare()
    const { pattern } = trial
    const fault: CallFault = { calls: diskChangingCalls, error: kind, once: false, after: moment, pattern }
    problems.push(
      ...(setup.operation.request === null
        ? await trial.interruptStart(fault)
        : await trial.interruptTask(fault, setup.operation.request)),
    )
    problems.push(...(await brokenArchives(trial.place)))
    problems.push(...(await trial.repeat()))
    problems.push(...(await brokenArchives(trial.place)))
    problems.push(...leftovers(await shapesIn(trial.place.root), usual.shapes))
  } catch (error) {
    problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  const isInterrupted = trial.faults.hits > 0
  await trial.end()
  if (problems.length === 0) await trial.remove()
  else await writeFile(join(setup.directory, 'log'), trial.logs.join('\n'))
  return { isInterrupted, problems }
}

class Trial {
  readonly place: Place
  readonly faults: Faults
  readonly pattern: string
  readonly #setup: Setup
  readonly #control: string
  #server: ServerProcess | null = null
  readonly #logs: (() => string)[] = []

  constructor(setup: Setup) {
    this.#setup = setup
    const root = join(setup.directory, 'place')
    this.place = {
      root,
      data: join(root, 'data.ms'),
      dumps: join(root, 'dumps'),
      snapshots: join(root, 'snapshots'),
    }
    this.pattern = `${root}/*`
    this.#control = join(setup.directory, 'control')
    this.faults = new Faults(setup.library, this.#control)
  }

  async prepare(): Promise<void> {
    await this.#setup.operation.prepare(this.#setup.world, this.place)
  }

  async end(): Promise<void> {
    await this.#server?.kill()
  }

  async remove(): Promise<void> {
    await this.end()
    await rm(this.place.root, { recursive: true, force: true })
    await rm(this.#control, { force: true })
  }

  /** Starts a server on the trial's directories. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<Started> {
    const { world, operation } = this.#setup
    const { data, dumps, snapshots } = this.place
    const directories = ['--dump-dir', dumps, '--snapshot-dir', snapshots]
    const args = [...directories, '--log-level', 'WARN', ...operation.args(world)]
    const started = await ServerProcess.start({
      data,
      engine: world.engine,
      args,
      env,
      startMsMax: WAIT_MS_MAX,
    })
    if (started.kind === 'listening') this.#server = started.server
    this.#logs.push(() => (started.kind === 'listening' ? started.server.errors : started.errors))
    return started
  }

  /** @throws if the server does not listen */
  async listening(env: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
    return listening(await this.start(env))
  }

  /** Stderr of each server so far. */
  get logs(): readonly string[] {
    return this.#logs.map((read) => read())
  }

  /** Interrupts the task of a request. */
  async interruptTask(fault: CallFault, request: string): Promise<string[]> {
    const server = await this.listening(this.faults.env)
    this.faults.begin(fault)
    const asked = await server.call('POST', request).catch(() => null)
    if (fault.error === 'killed') {
      // The kill may never happen if this run makes fewer calls than the counted one.
      await Promise.race([server.exited, settled(server).catch(() => undefined)])
      this.faults.end()
      await server.kill()
      return []
    }
    if (asked?.status === 202) await this.#waitOnFullDisk(server)
    const problems = await this.#differences(server, 'on the full disk')
    this.faults.end()
    await settled(server)
    if (asked?.status === 202) problems.push(...(await unexpectedEnd(server, asked.body)))
    else if (codeOf(asked?.body) !== 'no_space_left_on_device')
      problems.push(`unexpected refusal: ${JSON.stringify(asked)}`)
    return problems
  }

  /** Waits until the tasks end or the disk has been full for `FULL_MS`. */
  async #waitOnFullDisk(server: ServerProcess): Promise<void> {
    for (;;) {
      const wait = this.faults.hits > 0 ? FULL_MS : 20
      const isOver = await settled(server, wait).then(
        () => true,
        () => false,
      )
      if (isOver || wait === FULL_MS) return
    }
  }

  /** Interrupts a start that imports, restores or upgrades. */
  async interruptStart(fault: CallFault): Promise<string[]> {
    this.faults.begin(fault)
    const started = await this.start(this.faults.env)
    if (started.kind === 'hung') return [`the start hung: ${started.errors.slice(-600)}`]
    if (started.kind === 'listening') {
      if (fault.error === 'full') await this.#waitOnFullDisk(started.server)
      else await Promise.race([started.server.exited, settled(started.server, 2_000).catch(() => undefined)])
      this.faults.end()
      await started.server.kill()
      return []
    }
    this.faults.end()
    if (fault.error === 'killed') return started.code === null ? [] : [`ended with ${started.code}`]
    return [...oneLine(started.errors), ...this.#importLeft(started.errors)]
  }

  /** Reports a data directory left by a failed import. A start may also fail after a successful import. */
  #importLeft(errors: string): string[] {
    const isLeft = errors.includes('siftd: --import-') && existsSync(this.place.data)
    return isLeft ? ['a failed import left a data directory'] : []
  }

  /** Repeats the operation with the same server or a new one. */
  async repeat(): Promise<string[]> {
    const { request } = this.#setup.operation
    const problems: string[] = []
    const isRestarted = this.#server === null || this.#server.hasEnded
    const server = isRestarted ? await this.listening() : this.#server!
    await settled(server)
    if (isRestarted) problems.push(...(await this.#differences(server, 'after the next start')))
    if (request !== null) {
      const { status, body } = await server.call('POST', request)
      if (status !== 202) problems.push(`repeated request: ${status} ${JSON.stringify(body)}`)
      await settled(server)
      problems.push(...(await this.#differences(server, 'after the repetition')))
    }
    problems.push(...(await failedTasks(server)), ...(await stopped(server)))
    if (isRestarted) return problems
    const next = await this.listening()
    problems.push(...(await this.#differences(next, 'at the end')), ...(await stopped(next)))
    return problems
  }

  async #differences(server: ServerProcess, when: string): Promise<string[]> {
    const { answers } = this.#setup.world
    const found = await answersOf(server)
    if (found === answers) return []
    const at = [...answers].findIndex((character, position) => found[position] !== character)
    return [`answers differ ${when}: ${found.slice(Math.max(0, at - 100), at + 200)}`]
  }
}

const codeOf = (body: unknown): unknown => (body as { readonly code?: unknown } | undefined)?.code

/** Reports a task on a full disk that neither succeeded nor failed for lack of space. */
async function unexpectedEnd(server: ServerProcess, asked: unknown): Promise<string[]> {
  const { taskUid } = asked as { readonly taskUid: number }
  const task = (await server.call('GET', `/tasks/${taskUid}`)).body as TaskView
  const isExpected = task.status === 'succeeded' || task.error?.code === 'no_space_left_on_device'
  return isExpected ? [] : [`unexpected end of the task: ${JSON.stringify(task)}`]
}

async function stopped(server: ServerProcess): Promise<string[]> {
  const code = await server.stop(WAIT_MS_MAX)
  return code === 0 ? [] : [`exit code ${code} after SIGTERM: ${server.errors.slice(-600)}`]
}

/** Reports tasks that failed for another reason than the full disk. */
async function failedTasks(server: ServerProcess): Promise<string[]> {
  const { body } = await server.call('GET', '/tasks?statuses=failed,canceled&limit=1000')
  const { results } = body as { readonly results: readonly TaskView[] }
  return results
    .filter(({ error }) => error?.code !== 'no_space_left_on_device')
    .map((task) => `a task failed: ${JSON.stringify(task)}`)
}

function oneLine(errors: string): string[] {
  const lines = errors.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
  return lines.length === 1 && lines[0]!.startsWith('siftd: ')
    ? []
    : [`a start on a full disk did not end with a one-line message: ${errors.slice(0, 800)}`]
}
