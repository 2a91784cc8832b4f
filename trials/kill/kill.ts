import { type ChildProcess, fork } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { numbers } from '../../__test__/support/numbers.js'
import type { Task } from '../../ts/tasks/index.js'
import type {
  Answer,
  ChildSetup,
  FinalState,
  KillPoint,
  Operation,
  Question,
  TrialEngine,
} from './kill-child.js'

export interface Trial {
  readonly directory: string
  readonly engine: TrialEngine
  readonly kills: number
  /** Minimum number of batches before the trial ends. */
  readonly batches: number
  readonly seed: number
  /** Called before each kill. False ends the trial early. Default: always true. */
  readonly shouldContinue?: () => boolean
  /** `SVC_TASK_STORE_DRIVER` of the child. */
  readonly driver?: string
}

export interface TrialReport {
  readonly kills: Readonly<Record<KillPoint, number>>
  readonly acknowledged: number
  /** Tasks that were durable but not acknowledged when the process died. */
  readonly unacknowledged: number
  readonly batches: number
  /** Number of webhook calls, and of tasks delivered more than once, which is allowed. */
  readonly calls: number
  readonly repeated: number
  /** A line for each violation. */
  readonly problems: readonly string[]
}

/** Number of concurrent callers. */
const CALLERS = 6
/** Maximum lifetime of a child that is killed at a random moment. */
const LIFE_MS = 400
/** A child that has not reached its kill point is killed after this time. */
const LIFE_MS_MAX = 5_000

/**
 * Loads a queue while its process is killed repeatedly, then compares every task and document with the result of a
 * process that never died.
 */
export async function killTrial(trial: Trial): Promise<TrialReport> {
  const random = numbers(trial.seed)
  const load = new Load(random)
  const receiver = new Receiver(random)
  const receiverUrl = await receiver.open()
  const kills: Record<KillPoint, number> = { prepare: 0, commit: 0, committed: 0, any: 0 }
  const points: readonly KillPoint[] = ['any', 'committed', 'commit', 'any', 'committed', 'prepare']
  const shouldContinue = trial.shouldContinue ?? (() => true)
  for (let kill = 0; kill < trial.kills && shouldContinue(); kill++) {
    const killAt = points[kill % points.length] ?? 'any'
    const child = await Child.start(trial, receiverUrl, killAt, Math.floor(random() * 4))
    const life = killAt === 'any' ? random() * LIFE_MS : LIFE_MS_MAX
    const timer = setTimeout(() => child.kill(), life)
    await Promise.all(Array.from({ length: CALLERS }, () => callUntilDeath(child, load)))
    clearTimeout(timer)
    kills[killAt]++
  }
  const last = await Child.start(trial, receiverUrl, 'any', 0)
  let state = await last.finalState()
  await last.close()
  while (state.batches < trial.batches) {
    const more = await Child.start(trial, receiverUrl, 'any', 0)
    for (let i = state.batches; i < trial.batches; i++) await load.send(more)
    state = await more.finalState()
    await more.close()
  }
  receiver.close()
  const { problems, ...counts } = load.judge(state)
  const { calls, repeated } = receiver
  return {
    kills,
    batches: state.batches,
    ...counts,
    calls,
    repeated,
    problems: [...problems, ...receiver.judge(state)],
  }
}

/** The receiver of the trial's webhook. Some of its answers are errors. */
class Receiver {
  readonly #random: () => number
  readonly #server: Server
  /** Task uid → the task as first delivered, in order of arrival. */
  readonly #delivered = new Map<number, Task>()
  calls = 0
  repeated = 0

  constructor(random: () => number) {
    this.#random = random
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        this.calls++
        const fails = this.#random() < 0.02
        if (!fails) this.#take(gunzipSync(Buffer.concat(chunks)).toString())
        response.writeHead(fails ? 503 : 200).end()
      })
    })
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #take(body: string): void {
    for (const line of body.trimEnd().split('\n')) {
      const task = JSON.parse(line) as Task
      if (this.#delivered.has(task.uid)) this.repeated++
      else this.#delivered.set(task.uid, task)
    }
  }

  /** Checks that every task was delivered unchanged, and batches in order. */
  judge({ tasks }: FinalState): string[] {
    const problems: string[] = []
    for (const task of tasks) {
      const delivered = this.#delivered.get(task.uid)
      if (delivered === undefined) problems.push(`task ${task.uid}: not delivered to the webhook`)
      else if (JSON.stringify(delivered) !== JSON.stringify(task)) {
        problems.push(`task ${task.uid}: delivered to the webhook as ${JSON.stringify(delivered)}`)
      }
    }
    if (this.#delivered.size > tasks.length) problems.push('the webhook received tasks that do not exist')
    let last: Task | null = null
    for (const task of this.#delivered.values()) {
      if (last !== null && (task.finishedAt ?? '') < (last.finishedAt ?? ''))
        problems.push(`batch ${task.batchUid} was delivered after ${last.batchUid}, which ended later`)
      last = task
    }
    return problems
  }
}

async function callUntilDeath(child: Child, load: Load): Promise<void> {
  while (await load.send(child));
}

/** Operations sent to the child, and their outcomes. */
class Load {
  readonly #random: () => number
  readonly #sent = new Map<string, Operation>()
  readonly #acknowledged = new Map<string, number>()

  constructor(random: () => number) {
    this.#random = random
  }

  /** Sends an operation. @returns true if the child answered before it died */
  async send(child: Child): Promise<boolean> {
    const name = `operation ${this.#sent.size}`
    const operation = this.#next(this.#sent.size)
    this.#sent.set(name, operation)
    const taskUid = await child.enqueue(name, operation)
    if (taskUid !== null) this.#acknowledged.set(name, taskUid)
    return taskUid !== null
  }

  #next(serial: number): Operation {
    const dice = this.#random()
    if (dice < 0.05) return { kind: 'drop', index: 'passing' }
    if (dice < 0.15) return { kind: 'add', index: 'passing', ids: [`p${serial}`] }
    const index = dice < 0.6 ? 'left' : 'right'
    if (dice < 0.2) return { kind: 'settings', index, word: `w${serial}` }
    const earlier = [...this.#acknowledged.keys()].map((name) => this.#sent.get(name))
    const target = earlier[Math.floor(this.#random() * earlier.length)]
    if (this.#random() < 0.4 && target?.kind === 'add' && target.index !== 'passing') {
      return { kind: 'delete', index: target.index, ids: target.ids.slice(0, 2) }
    }
    return { kind: 'add', index, ids: [0, 1, 2].map((n) => `d${serial}-${n}`) }
  }

  /** Applies the same operations to a model in order of their task uids, and compares. */
  judge(state: FinalState): Pick<TrialReport, 'acknowledged' | 'unacknowledged' | 'problems'> {
    const problems: string[] = []
    const expect = (holds: boolean, problem: string) => {
      if (!holds) problems.push(problem)
    }
    const seen = new Set<string>()
    const model = new Map<string, Set<string>>()
    const dropping = new Set(
      state.tasks.filter(({ type }) => type === 'indexDeletion').map((task) => task.batchUid),
    )
    let uid = 0
    for (const task of state.tasks) {
      const name = task.customMetadata ?? ''
      const operation = this.#sent.get(name)
      const label = `task ${task.uid} (${name})`
      expect(task.uid === uid++, `${label}: the uid before it is missing`)
      expect(!seen.has(name), `${label}: exists twice`)
      seen.add(name)
      if (operation === undefined) problems.push(`${label}: no client sent it`)
      else problems.push(...differences(label, task, applied(model, operation), dropping.has(task.batchUid)))
    }
    for (const [name, taskUid] of this.#acknowledged) {
      expect(
        state.tasks[taskUid]?.customMetadata === name,
        `${name}: was acknowledged as ${taskUid} and is lost`,
      )
    }
    for (const index of new Set([...model.keys(), ...Object.keys(state.documents)])) {
      const found = state.documents[index]?.map(({ id }) => String(id)).sort() ?? []
      const wanted = [...(model.get(index) ?? [])].sort()
      expect(found.join() === wanted.join(), `${index}: ${found.length} documents, ${wanted.length} expected`)
      expect(model.has(index), `${index}: exists although it was deleted`)
    }
    for (const document of Object.values(state.documents).flat()) {
      // Only the fake engine counts writes.
      expect((document.writes ?? 1) === 1, `document ${document.id}: was written ${document.writes} times`)
    }
    expect(state.spooled.length === 0, `left in the spool: ${state.spooled.join()}`)
    expect(
      state.strays.length === 0,
      `directories that match no index, or the reverse: ${state.strays.join()}`,
    )
    const acknowledged = this.#acknowledged.size
    return { acknowledged, unacknowledged: state.tasks.length - acknowledged, problems }
  }
}

/** Expected end of a task. */
interface Expected {
  readonly code: string | null
  readonly counters: Readonly<Record<string, number>>
}

function applied(model: Map<string, Set<string>>, operation: Operation): Expected {
  const { kind, index } = operation
  const documents = model.get(index) ?? new Set<string>()
  if (kind === 'add' || kind === 'settings') model.set(index, documents)
  switch (operation.kind) {
    case 'add': {
      for (const id of operation.ids) documents.add(id)
      const n = operation.ids.length
      return { code: null, counters: { receivedDocuments: n, indexedDocuments: n } }
    }
    case 'settings':
      return { code: null, counters: {} }
    case 'delete': {
      const removed = operation.ids.filter((id) => documents.delete(id)).length
      return { code: null, counters: { providedIds: operation.ids.length, deletedDocuments: removed } }
    }
    case 'drop': {
      const exists = model.delete(index)
      const removed = exists ? documents.size : 0
      return { code: exists ? null : 'index_not_found', counters: { deletedDocuments: removed } }
    }
  }
}

function differences(label: string, task: Task, expected: Expected, isDropping: boolean): string[] {
  const problems: string[] = []
  if ((task.error?.code ?? null) !== expected.code) {
    problems.push(`${label}: ended ${task.status} with ${task.error?.code}, expected ${expected.code}`)
  }
  if (task.status !== (expected.code === null ? 'succeeded' : 'failed')) {
    problems.push(`${label}: is ${task.status}`)
  }
  // In a batch with an index deletion, other tasks count 0 and the deletion counts the documents from before the batch.
  for (const [counter, value] of isDropping ? [] : Object.entries(expected.counters)) {
    const found = task.details?.[counter]
    if (found !== value) problems.push(`${label}: ${counter} is ${found}, expected ${value}`)
  }
  return problems
}

/** Handle of a child process. */
class Child {
  readonly #process: ChildProcess
  readonly #waiting = new Map<string, (taskUid: number | null) => void>()
  #onState: (state: FinalState) => void = () => undefined
  #broken: (error: Error) => void = () => undefined
  #dead = false
  readonly exited: Promise<void>

  private constructor(child: ChildProcess, ready: () => void, broken: (error: Error) => void) {
    this.#process = child
    this.#broken = broken
    child.on('message', (message: Answer) => {
      switch (message.kind) {
        case 'ready':
          ready()
          break
        case 'enqueued':
          this.#waiting.get(message.name)?.(message.taskUid)
          this.#waiting.delete(message.name)
          break
        case 'state':
          this.#onState(message.state)
          break
        case 'broken':
          this.#broken(new Error(message.message))
      }
    })
    this.exited = new Promise((resolve) => {
      child.on('exit', () => {
        this.#dead = true
        for (const answer of this.#waiting.values()) answer(null)
        this.#waiting.clear()
        broken(new Error('the child ended before it was ready'))
        resolve()
      })
    })
  }

  static async start(trial: Trial, receiver: string, killAt: KillPoint, passes: number): Promise<Child> {
    const { directory, engine, driver } = trial
    const setup: ChildSetup = { directory, engine, killAt, passes, receiver }
    const env = { ...process.env, ...(driver === undefined ? {} : { SVC_TASK_STORE_DRIVER: driver }) }
    // execArgv is empty because the trial may run in a test worker, whose flags must not reach the child.
    const path = fileURLToPath(new URL('./kill-child.js', import.meta.url))
    const child = fork(path, [JSON.stringify(setup)], { env, execArgv: [] })
    let started: Child | undefined
    await new Promise<void>((resolve, reject) => {
      started = new Child(child, resolve, reject)
    })
    if (started === undefined) throw new Error('unreachable: the child is ready')
    return started
  }

  /** @returns the task's uid, or null if the process died first */
  enqueue(name: string, operation: Operation): Promise<number | null> {
    if (this.#dead) return Promise.resolve(null)
    return new Promise((resolve) => {
      this.#waiting.set(name, resolve)
      this.#ask({ ask: 'enqueue', name, operation })
    })
  }

  finalState(): Promise<FinalState> {
    return new Promise((resolve, reject) => {
      this.#onState = resolve
      this.#broken = reject
      this.#ask({ ask: 'state' })
    })
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  async close(): Promise<void> {
    this.#ask({ ask: 'close' })
    await this.exited
  }

  #ask(question: Question): void {
    // A send fails only if the process ended, which the exit event reports.
    if (this.#process.connected) this.#process.send(question, () => undefined)
  }
}
