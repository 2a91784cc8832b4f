/** One operation, interrupted at one moment: is the old data whole, and does the operation end when asked again? */
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServerProcess, type Started } from '../../__test__/support/server-process.js'
import { type CallFault, changingCalls, Faults } from '../faults/library.js'
import { settled } from '../faults/load.js'
import type { TaskView } from '../faults/model.js'
import { brokenArchives, leftovers, shapesIn } from './files.js'
import type { Operation, Place } from './operations.js'
import { answersOf, listening, WAIT_MS_MAX, type World } from './world.js'

/** How an operation is interrupted: the process is killed, or its disk is full from a moment on. */
export const interruptions = ['killed', 'full'] as const
export type Interruption = (typeof interruptions)[number]

/** How an operation goes that nothing interrupts. */
export interface Usual {
  /** How many system calls it makes that change the disk. */
  readonly calls: number
  /** Kinds of files afterwards. */
  readonly shapes: ReadonlyMap<string, number>
}

export interface Setup {
  readonly world: World
  readonly operation: Operation
  /** The preloaded library. */
  readonly library: string
  /** An empty directory for the trial, removed unless there are problems. */
  readonly directory: string
}

export interface Verdict {
  /** Whether the interruption came before the operation had ended. */
  readonly isInterrupted: boolean
  /** What is not as it should be, one line each. */
  readonly problems: readonly string[]
}

/** How long a full disk lasts after the first call that it refused. */
const FULL_MS = 200

/** Lets an operation end and counts its system calls. @throws if it does not end well */
export async function usualRun(setup: Setup): Promise<Usual> {
  const trial = new Trial(setup)
  const { request } = setup.operation
  try {
    await trial.prepare()
    trial.faults.beginCount(changingCalls, trial.pattern)
    const server = await trial.listening(trial.faults.env)
    if (request !== null) {
      trial.faults.beginCount(changingCalls, trial.pattern)
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

/** @param moment how many of the counted system calls are carried out before the interruption */
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
    const fault: CallFault = { calls: changingCalls, error: kind, once: false, after: moment, pattern }
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

  /** Starts a server over the place. */
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

  /** What each server wrote to stderr. */
  get logs(): readonly string[] {
    return this.#logs.map((read) => read())
  }

  /** Interrupts the task that a request asks for. */
  async interruptTask(fault: CallFault, request: string): Promise<string[]> {
    const server = await this.listening(this.faults.env)
    this.faults.begin(fault)
    const asked = await server.call('POST', request).catch(() => null)
    if (fault.error === 'killed') {
      // The moment may not come, if this run needs fewer calls than the one that was counted.
      await Promise.race([server.exited, settled(server).catch(() => undefined)])
      this.faults.end()
      await server.kill()
      return []
    }
    if (asked?.status === 202) await this.#fullFor(server)
    const problems = await this.#differing(server, 'on the full disk')
    this.faults.end()
    await settled(server)
    if (asked?.status === 202) problems.push(...(await wrongEnd(server, asked.body)))
    else if (codeOf(asked?.body) !== 'no_space_left_on_device')
      problems.push(`the request was refused otherwise: ${JSON.stringify(asked)}`)
    return problems
  }

  /** Waits until the tasks are over, or until the disk has been full for a while. */
  async #fullFor(server: ServerProcess): Promise<void> {
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
      if (fault.error === 'full') await this.#fullFor(started.server)
      else await Promise.race([started.server.exited, settled(started.server, 2_000).catch(() => undefined)])
      this.faults.end()
      await started.server.kill()
      return []
    }
    this.faults.end()
    if (fault.error === 'killed') return started.code === null ? [] : [`ended with ${started.code}`]
    return [...oneLine(started.errors), ...this.#importLeft(started.errors)]
  }

  /** What an import that tells of its failure has left; a start may also fail behind an import that succeeded. */
  #importLeft(errors: string): string[] {
    const isLeft = errors.includes('siftd: --import-') && existsSync(this.place.data)
    return isLeft ? ['an import that failed has left a data directory'] : []
  }

  /** The operation is carried out once more, by the same server or by the next one. */
  async repeat(): Promise<string[]> {
    const { request } = this.#setup.operation
    const problems: string[] = []
    const isRestarted = this.#server === null || this.#server.hasEnded
    const server = isRestarted ? await this.listening() : this.#server!
    await settled(server)
    if (isRestarted) problems.push(...(await this.#differing(server, 'after the next start')))
    if (request !== null) {
      const { status, body } = await server.call('POST', request)
      if (status !== 202) problems.push(`asked again: ${status} ${JSON.stringify(body)}`)
      await settled(server)
      problems.push(...(await this.#differing(server, 'after it was asked for again')))
    }
    problems.push(...(await failedTasks(server)), ...(await stopped(server)))
    if (isRestarted) return problems
    const next = await this.listening()
    problems.push(...(await this.#differing(next, 'at the end')), ...(await stopped(next)))
    return problems
  }

  async #differing(server: ServerProcess, when: string): Promise<string[]> {
    const { answers } = this.#setup.world
    const found = await answersOf(server)
    if (found === answers) return []
    const at = [...answers].findIndex((character, position) => found[position] !== character)
    return [`answers differ ${when}: ${found.slice(Math.max(0, at - 100), at + 200)}`]
  }
}

const codeOf = (body: unknown): unknown => (body as { readonly code?: unknown } | undefined)?.code

/** A task on a full disk succeeds, or fails with the reason. */
async function wrongEnd(server: ServerProcess, asked: unknown): Promise<string[]> {
  const { taskUid } = asked as { readonly taskUid: number }
  const task = (await server.call('GET', `/tasks/${taskUid}`)).body as TaskView
  const isTold = task.status === 'succeeded' || task.error?.code === 'no_space_left_on_device'
  return isTold ? [] : [`the task ended otherwise: ${JSON.stringify(task)}`]
}

async function stopped(server: ServerProcess): Promise<string[]> {
  const code = await server.stop(WAIT_MS_MAX)
  return code === 0 ? [] : [`SIGTERM ended with ${code}: ${server.errors.slice(-600)}`]
}

/** Tasks that failed for another reason than the full disk. */
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
    : [`a start on a full disk ended otherwise than in one line: ${errors.slice(0, 800)}`]
}
