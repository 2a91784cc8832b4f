/** Writes to a few indexes, and what must have become of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../__test__/support/server-process.js'
import {
  applied,
  type Document,
  differing,
  lasting,
  type ModelIndex,
  PASSING,
  type TaskView,
  type Write,
} from './model.js'

/** What a client was told of a request. */
type Told =
  | { readonly kind: 'accepted'; readonly taskUid: number }
  | { readonly kind: 'refused'; readonly code: string }
  /** The connection broke before an answer came: either may be true. */
  | { readonly kind: 'unanswered' }

/** Ids of the documents, few enough that most writes meet documents of others. */
const IDS = 40
/** Longest time for the tasks of a trial on a busy machine. */
const SETTLE_MS_MAX = 180_000

/** What else goes on at the same server. */
export interface LoadAmong {
  /** Whether a task belongs to someone else who writes to it, and is not judged. */
  isOther?(task: TaskView): boolean
  /** Whether a cancelation that a client asked for explains why a task is canceled. */
  isCanceled?(task: TaskView): boolean
}

/** Everything that one trial asked for. */
export class Load {
  readonly #random: () => number
  readonly #isOther: (task: TaskView) => boolean
  readonly #isCanceled: (task: TaskView) => boolean
  readonly #sent = new Map<string, { readonly write: Write; told: Told }>()
  /** Uid → the task, as it was told when it was over. */
  readonly #finished = new Map<number, TaskView>()
  /** All tasks below this uid have been judged. */
  #judged = 0

  constructor(random: () => number, { isOther = () => false, isCanceled = () => false }: LoadAmong = {}) {
    this.#random = random
    this.#isOther = isOther
    this.#isCanceled = isCanceled
  }

  /** Counts of requests by what was told of them. */
  get counts(): Readonly<Record<Told['kind'], number>> {
    const counts = { accepted: 0, refused: 0, unanswered: 0 }
    for (const { told } of this.#sent.values()) counts[told.kind]++
    return counts
  }

  /** Makes the indexes, before anything fails. */
  async begin(server: ServerProcess): Promise<void> {
    await server.call('PATCH', '/experimental-features', { editDocumentsByFunction: true })
    for (const index of lasting) {
      const documents = this.#documents(12, `begin ${index}`)
      await this.#send(server, { kind: 'add', index, documents })
    }
    await settled(server)
  }

  /** Sends so many writes, some of them side by side, with pauses in which batches run. */
  async run(server: ServerProcess, writes: number): Promise<void> {
    for (let left = writes; left > 0; ) {
      const together = Math.min(left, 1 + Math.floor(this.#random() * 6))
      await Promise.all(Array.from({ length: together }, () => this.#send(server, this.#next())))
      left -= together
      if (this.#random() < 0.5) await sleep(this.#random() * 60)
    }
  }

  /** Remembers what is told of tasks that are over. */
  async remember(server: ServerProcess): Promise<void> {
    for (const task of await tasksOf(server, this.#judged)) {
      if (isOver(task) && !this.#isOther(task)) this.#finished.set(task.uid, task)
    }
  }

  async #send(server: ServerProcess, write: Write): Promise<void> {
    const name = `write ${this.#sent.size}`
    const entry: { readonly write: Write; told: Told } = { write, told: { kind: 'unanswered' } }
    this.#sent.set(name, entry)
    const [method, path, body] = requestOf(write)
    const query = `?customMetadata=${encodeURIComponent(name)}`
    const answer = await server.call(method, `${path}${query}`, body).catch(() => null)
    if (answer === null) return
    const { taskUid, code } = answer.body as { taskUid?: number; code?: string }
    entry.told =
      answer.status === 202 && taskUid !== undefined
        ? { kind: 'accepted', taskUid }
        : { kind: 'refused', code: code ?? String(answer.status) }
  }

  #next(): Write {
    const dice = this.#random()
    const index = lasting[Math.floor(this.#random() * lasting.length)]!
    const name = `w${this.#sent.size}`
    if (dice < 0.03) return { kind: 'swap' }
    if (dice < 0.07) return { kind: 'drop', index: PASSING }
    if (dice < 0.13) return { kind: 'add', index: PASSING, documents: this.#documents(2, name) }
    if (dice < 0.2) return { kind: 'clear', index }
    if (dice < 0.27) return { kind: 'settings', index, word: name }
    if (dice < 0.35) return { kind: 'edit', index }
    if (dice < 0.45) return { kind: 'delete', index, ids: [this.#id(), this.#id(), this.#id()] }
    if (dice < 0.6) return { kind: 'update', index, documents: this.#documents(3, name) }
    // Every third upload is too long to lie in the task store.
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
   * Applies to a model what the tasks of a server tell, in their order, and compares.
   * @returns what is not as it should be, one line each
   */
  async judge(server: ServerProcess): Promise<string[]> {
    await settled(server)
    return this.judgeBy(server, await tasksOf(server))
  }

  /** The same with all tasks of a server that has none left to do. */
  async judgeBy(server: ServerProcess, tasks: readonly TaskView[]): Promise<string[]> {
    const problems = [...this.#misplaced(tasks.filter((task) => !this.#isOther(task)))]
    const model = new Map<string, ModelIndex>()
    const batches = new Map<number | null, TaskView[]>()
    for (const task of tasks) {
      const together = batches.get(task.batchUid)
      if (together === undefined) batches.set(task.batchUid, [task])
      else together.push(task)
    }
    const among = {
      ofBatch: (uid: number | null) => batches.get(uid) ?? [],
      isCanceled: this.#isCanceled,
    }
    for (const [at, task] of tasks.entries()) {
      if (task.uid !== at) problems.push(`task ${task.uid}: stands at ${at}`)
      const before = this.#finished.get(task.uid)
      if (before !== undefined && toldOf(before) !== toldOf(task)) {
        problems.push(
          `task ${task.uid} is told otherwise: ${JSON.stringify(before)}, now ${JSON.stringify(task)}`,
        )
      }
      if (this.#isOther(task)) continue
      const write = this.#writeOf(task)
      if (write === null) problems.push(`task ${task.uid}: no write asked for it`)
      else problems.push(...applied(model, write, task, among))
    }
    for (const index of [...lasting, PASSING]) problems.push(...(await differing(server, index, model)))
    this.#judged = tasks.length
    return problems
  }

  /** Accepted writes that are gone, refused ones that are there, and any that are there twice. */
  *#misplaced(tasks: readonly TaskView[]): Generator<string> {
    const found = new Map<string, number>()
    for (const task of tasks) {
      const name = this.#nameOf(task)
      if (name === null) continue
      if (found.has(name)) yield `${name}: is task ${found.get(name)} and ${task.uid}`
      found.set(name, task.uid)
    }
    for (const [name, { write, told }] of this.#sent) {
      const uid = found.get(name)
      const label = `${name} (${write.kind})`
      if (told.kind === 'accepted' && uid !== told.taskUid) {
        yield `${label}: was accepted as task ${told.taskUid} and is ${uid ?? 'lost'}`
      }
      if (told.kind === 'refused' && uid !== undefined) {
        yield `${label}: was refused with ${told.code} and is task ${uid} all the same`
      }
    }
    for (const kind of ['swap', 'drop'] as const) {
      const unnamed = tasks.filter((task) => task.type === unnamedTypes[kind] && this.#nameOf(task) === null)
      const unanswered = [...this.#sent.values()].filter(
        ({ write, told }) => write.kind === kind && told.kind === 'unanswered',
      )
      if (unnamed.length > unanswered.length)
        yield `task ${unnamed[0]?.uid} (${kind}): no accepted write asked for it`
    }
    const uids = new Set(tasks.map(({ uid }) => uid))
    for (const uid of this.#finished.keys()) {
      if (!uids.has(uid)) yield `task ${uid}: was over and is gone`
    }
  }

  /** Which write a task is of, null for a swap or a deletion of an index whose answer was not received. */
  #nameOf({ uid, customMetadata, type, details }: TaskView): string | null {
    if (customMetadata !== undefined) return customMetadata
    for (const [name, { write, told }] of this.#sent) {
      if (told.kind === 'accepted' && told.taskUid === uid) return name
      const isSettings = write.kind === 'settings' && type === 'settingsUpdate'
      if (isSettings && JSON.stringify(details?.stopWords) === JSON.stringify([write.word])) return name
    }
    return null
  }

  #writeOf(task: TaskView): Write | null {
    const name = this.#nameOf(task)
    if (name !== null) return this.#sent.get(name)?.write ?? null
    if (task.type === unnamedTypes.swap) return { kind: 'swap' }
    return task.type === unnamedTypes.drop ? { kind: 'drop', index: PASSING } : null
  }
}

/** Types of the tasks that carry no text of their request. */
const unnamedTypes = { swap: 'indexSwap', drop: 'indexDeletion' } as const

/** Waits until no task is left to do. @throws if that takes too long */
export async function settled(server: ServerProcess, msMax = SETTLE_MS_MAX): Promise<void> {
  const end = Date.now() + msMax
  while (Date.now() < end) {
    const { body } = await server.call('GET', '/tasks?statuses=enqueued,processing&limit=1')
    if ((body as { total?: number }).total === 0) return
    await sleep(20)
  }
  throw new Error(`tasks are still waiting after ${msMax} ms`)
}

/** The tasks from a uid on, ascending. @throws if they cannot be listed */
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

/** What is told of a task for good: a swap of indexes exchanges their uids in all tasks before it. */
export const toldOf = (task: TaskView): string =>
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
      return ['POST', '/swap-indexes', [{ indexes: [...lasting] }]]
    case 'drop':
      return ['DELETE', path]
  }
}
