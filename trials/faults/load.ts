/** Sends random writes to a few indexes and compares tasks and documents with a model. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../__test__/support/server-process.js'
import {
  applied,
  type Document,
  differences,
  type ModelIndex,
  permanentIndexes,
  type TaskView,
  TRANSIENT_INDEX,
  type Write,
} from './model.js'

/** The outcome of a request as its client sees it. */
type Outcome =
  | { readonly kind: 'accepted'; readonly taskUid: number }
  | { readonly kind: 'refused'; readonly code: string }
  /** The connection broke before the answer. The write may or may not have been accepted. */
  | { readonly kind: 'unanswered' }

/** Number of document ids, small enough that most writes hit existing documents. */
const IDS = 40
/** Timeout for the tasks of a trial on a busy machine. */
const SETTLE_MS_MAX = 180_000

/** Other activity on the same server. */
export interface OtherActivity {
  /** Returns true if a task belongs to another writer. Such tasks are not judged. */
  isOther?(task: TaskView): boolean
  /** Returns true if a client's cancelation explains why a task is canceled. */
  isCanceled?(task: TaskView): boolean
}

/** All writes of a trial. */
export class Load {
  readonly #random: () => number
  readonly #isOther: (task: TaskView) => boolean
  readonly #isCanceled: (task: TaskView) => boolean
  readonly #sent = new Map<string, { readonly write: Write; outcome: Outcome }>()
  /** Uid → the finished task as first reported. */
  readonly #finished = new Map<number, TaskView>()
  /** All tasks below this uid have been judged. */
  #judged = 0

  constructor(random: () => number, { isOther = () => false, isCanceled = () => false }: OtherActivity = {}) {
    this.#random = random
    this.#isOther = isOther
    this.#isCanceled = isCanceled
  }

  /** Number of requests by outcome. */
  get counts(): Readonly<Record<Outcome['kind'], number>> {
    const counts = { accepted: 0, refused: 0, unanswered: 0 }
    for (const { outcome } of this.#sent.values()) counts[outcome.kind]++
    return counts
  }

  /** Creates the indexes, before any fault. */
  async begin(server: ServerProcess): Promise<void> {
    await server.call('PATCH', '/experimental-features', { editDocumentsByFunction: true })
    for (const index of permanentIndexes) {
      const documents = this.#documents(12, `begin ${index}`)
      await this.#send(server, { kind: 'add', index, documents })
    }
    await settled(server)
  }

  /** Sends `writes` writes, some concurrently, with pauses in which batches run. */
  async run(server: ServerProcess, writes: number): Promise<void> {
    for (let left = writes; left > 0; ) {
      const together = Math.min(left, 1 + Math.floor(this.#random() * 6))
      await Promise.all(Array.from({ length: together }, () => this.#send(server, this.#next())))
      left -= together
      if (this.#random() < 0.5) await sleep(this.#random() * 60)
    }
  }

  /** Remembers the finished tasks as the server reports them now. */
  async remember(server: ServerProcess): Promise<void> {
    for (const task of await tasksOf(server, this.#judged)) {
      if (isOver(task) && !this.#isOther(task)) this.#finished.set(task.uid, task)
    }
  }

  async #send(server: ServerProcess, write: Write): Promise<void> {
    const name = `write ${this.#sent.size}`
    const entry: { readonly write: Write; outcome: Outcome } = { write, outcome: { kind: 'unanswered' } }
    this.#sent.set(name, entry)
    const [method, path, body] = requestOf(write)
    const query = `?customMetadata=${encodeURIComponent(name)}`
    const answer = await server.call(method, `${path}${query}`, body).catch(() => null)
    if (answer === null) return
    const { taskUid, code } = answer.body as { taskUid?: number; code?: string }
    entry.outcome =
      answer.status === 202 && taskUid !== undefined
        ? { kind: 'accepted', taskUid }
        : { kind: 'refused', code: code ?? String(answer.status) }
  }

  #next(): Write {
    const dice = this.#random()
    const index = permanentIndexes[Math.floor(this.#random() * permanentIndexes.length)]!
    const name = `w${this.#sent.size}`
    if (dice < 0.03) return { kind: 'swap' }
    if (dice < 0.07) return { kind: 'drop', index: TRANSIENT_INDEX }
    if (dice < 0.13) return { kind: 'add', index: TRANSIENT_INDEX, documents: this.#documents(2, name) }
    if (dice < 0.2) return { kind: 'clear', index }
    if (dice < 0.27) return { kind: 'settings', index, word: name }
    if (dice < 0.35) return { kind: 'edit', index }
    if (dice < 0.45) return { kind: 'delete', index, ids: [this.#id(), this.#id(), this.#id()] }
    if (dice < 0.6) return { kind: 'update', index, documents: this.#documents(3, name) }
    // The large uploads go to the spool, the small ones into the task store.
    return { kind: 'add', index, documents: this.#documents(dice < 0.74 ? 30 : 3, name) }
  }

  #id(): number {
    return Math.floor(this.#random() * IDS)
  }

  #documents(count: number, name: string): Document[] {
    const ids = new Set(Array.from({ length: count }, () => this.#id()))
    return [...ids].map((id) => ({ id, n: 0, text: `${name} `.repeat(count > 20 ? 40 : 1) }))
  }

  /**
   * Waits for all tasks, applies them to a model in order, and compares the server with the model.
   * @returns a line for each problem
   */
  async judge(server: ServerProcess): Promise<string[]> {
    await settled(server)
    return this.judgeTasks(server, await tasksOf(server))
  }

  /** Like `judge`, with all tasks of a server that has no unfinished task. */
  async judgeTasks(server: ServerProcess, tasks: readonly TaskView[]): Promise<string[]> {
    const problems = [...this.#misplaced(tasks.filter((task) => !this.#isOther(task)))]
    const model = new Map<string, ModelIndex>()
    const batches = new Map<number | null, TaskView[]>()
    for (const task of tasks) {
      const together = batches.get(task.batchUid)
      if (together === undefined) batches.set(task.batchUid, [task])
      else together.push(task)
    }
    const context = {
      ofBatch: (uid: number | null) => batches.get(uid) ?? [],
      isCanceled: this.#isCanceled,
    }
    for (const [at, task] of tasks.entries()) {
      if (task.uid !== at) problems.push(`task ${task.uid}: is listed at position ${at}`)
      const before = this.#finished.get(task.uid)
      if (before !== undefined && finalTaskText(before) !== finalTaskText(task)) {
        problems.push(
          `task ${task.uid} changed after it finished: ${JSON.stringify(before)}, now ${JSON.stringify(task)}`,
        )
      }
      if (this.#isOther(task)) continue
      const write = this.#writeOf(task)
      if (write === null) problems.push(`task ${task.uid}: no client sent this write`)
      else problems.push(...applied(model, write, task, context))
    }
    for (const index of [...permanentIndexes, TRANSIENT_INDEX])
      problems.push(...(await differences(server, index, model)))
    this.#judged = tasks.length
    return problems
  }

  /** Reports lost accepted writes, refused writes with a task, and duplicate tasks. */
  *#misplaced(tasks: readonly TaskView[]): Generator<string> {
    const found = new Map<string, number>()
    for (const task of tasks) {
      const name = this.#nameOf(task)
      if (name === null) continue
      if (found.has(name)) yield `${name}: is task ${found.get(name)} and ${task.uid}`
      found.set(name, task.uid)
    }
    for (const [name, { write, outcome }] of this.#sent) {
      const uid = found.get(name)
      const label = `${name} (${write.kind})`
      if (outcome.kind === 'accepted' && uid !== outcome.taskUid) {
        yield `${label}: was accepted as task ${outcome.taskUid} and is ${uid ?? 'lost'}`
      }
      if (outcome.kind === 'refused' && uid !== undefined) {
        yield `${label}: was refused with ${outcome.code} but is task ${uid}`
      }
    }
    for (const kind of ['swap', 'drop'] as const) {
      const unnamed = tasks.filter((task) => task.type === unnamedTypes[kind] && this.#nameOf(task) === null)
      const unanswered = [...this.#sent.values()].filter(
        ({ write, outcome }) => write.kind === kind && outcome.kind === 'unanswered',
      )
      if (unnamed.length > unanswered.length)
        yield `task ${unnamed[0]?.uid} (${kind}): no client sent this write`
    }
    const uids = new Set(tasks.map(({ uid }) => uid))
    for (const uid of this.#finished.keys()) {
      if (!uids.has(uid)) yield `task ${uid}: was finished and is lost`
    }
  }

  /** Returns the name of a task's write; null for a swap or index deletion whose answer was lost. */
  #nameOf({ uid, customMetadata, type, details }: TaskView): string | null {
    if (customMetadata !== undefined) return customMetadata
    for (const [name, { write, outcome }] of this.#sent) {
      if (outcome.kind === 'accepted' && outcome.taskUid === uid) return name
      const isSettings = write.kind === 'settings' && type === 'settingsUpdate'
      if (isSettings && JSON.stringify(details?.stopWords) === JSON.stringify([write.word])) return name
    }
    return null
  }

  #writeOf(task: TaskView): Write | null {
    const name = this.#nameOf(task)
    if (name !== null) return this.#sent.get(name)?.write ?? null
    if (task.type === unnamedTypes.swap) return { kind: 'swap' }
    return task.type === unnamedTypes.drop ? { kind: 'drop', index: TRANSIENT_INDEX } : null
  }
}

/** Types of tasks that do not store `customMetadata`. */
const unnamedTypes = { swap: 'indexSwap', drop: 'indexDeletion' } as const

/** Waits until no task is enqueued or processing. @throws after `msMax` */
export async function settled(server: ServerProcess, msMax = SETTLE_MS_MAX): Promise<void> {
  const end = Date.now() + msMax
  while (Date.now() < end) {
    const { body } = await server.call('GET', '/tasks?statuses=enqueued,processing&limit=1')
    if ((body as { total?: number }).total === 0) return
    await sleep(20)
  }
  throw new Error(`tasks are still waiting after ${msMax} ms`)
}

/** Returns the tasks from uid `first`, ascending. @throws if they cannot be listed */
export async function tasksOf(server: ServerProcess, first = 0): Promise<readonly TaskView[]> {
  const tasks: TaskView[] = []
  for (let from: number | null = first; from !== null; ) {
    const { status, body } = await server.call('GET', `/tasks?limit=10000&reverse=true&from=${from}`)
    if (status !== 200) throw new Error(`GET /tasks: ${status} ${JSON.stringify(body)}`)
    const page = body as { readonly results: readonly TaskView[]; readonly next: number | null }
    tasks.push(...page.results)
    from = page.next
  }
  return tasks
}

/** Returns the final parts of a task as JSON. Excludes index uids, which a later swap of indexes changes. */
export const finalTaskText = (task: TaskView): string =>
  JSON.stringify({ ...task, indexUid: null, ...(task.type === unnamedTypes.swap && { details: null }) })

const isOver = ({ status }: TaskView): boolean => status !== 'enqueued' && status !== 'processing'

function requestOf(write: Write): readonly [method: string, path: string, body?: unknown] {
  const path = 'index' in write ? `/indexes/${write.index}` : ''
  switch (write.kind) {
    case 'add':
      return ['POST', `${path}/documents`, write.documents]
    case 'update':
      return ['PUT', `${path}/documents`, write.documents]
    case 'delete':
      return ['POST', `${path}/documents/delete-batch`, write.ids]
    case 'clear':
      return ['DELETE', `${path}/documents`]
    case 'edit':
      return ['POST', `${path}/documents/edit`, { function: 'doc.n += 1' }]
    case 'settings':
      return ['PATCH', `${path}/settings`, { stopWords: [write.word] }]
    case 'swap':
      return ['POST', '/swap-indexes', [{ indexes: [...permanentIndexes] }]]
    case 'drop':
      return ['DELETE', path]
  }
}
