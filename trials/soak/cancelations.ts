/** Cancels random tasks at random moments, and checks the cancelations and the canceled tasks. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../__test__/support/server-process.js'
import type { TaskView } from '../faults/model.js'

/** Maximum pause between two cancelations. */
const PAUSE_MS_MAX = 400
/** Cancelations by uid choose among this many of the newest waiting tasks. */
const NEWEST = 12
/** Cancelations by type cancel all waiting tasks of one of these types. */
const types = ['documentAdditionOrUpdate', 'documentEdition', 'settingsUpdate', 'dumpCreation'] as const

/** The tasks that a cancelation selects. */
type Selection =
  | { readonly kind: 'uids'; readonly uids: ReadonlySet<number> }
  | { readonly kind: 'type'; readonly type: string }

export const isCancelation = ({ type }: TaskView): boolean => type === 'taskCancelation'

export class Cancelations {
  readonly #random: () => number
  /** Filter text, as in `originalFilter` of tasks → selection. */
  readonly #sent = new Map<string, Selection>()
  /** Uid of an accepted cancelation → its filter text. */
  readonly #accepted = new Map<number, string>()
  /** Cancelations by uid, among the tasks of the last `judge`. */
  #cancelations: ReadonlyMap<number, TaskView> = new Map()
  /** Number of canceled tasks at the last `judge`. */
  #canceled = 0

  constructor(random: () => number) {
    this.#random = random
  }

  get counts(): { readonly cancelations: number; readonly canceled: number } {
    return { cancelations: this.#sent.size, canceled: this.#canceled }
  }

  /** Cancels until the signal aborts or the server ends. */
  async run(server: ServerProcess, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !server.hasEnded) {
      await sleep(this.#random() * PAUSE_MS_MAX)
      await this.#cancel(server).catch(() => undefined)
    }
  }

  async #cancel(server: ServerProcess): Promise<void> {
    const selection = await this.#selection(server)
    const text =
      selection.kind === 'uids'
        ? `?uids=${encodeURIComponent([...selection.uids].join(','))}`
        : `?statuses=enqueued&types=${selection.type}`
    this.#sent.set(text, selection)
    const { status, body } = await server.call('POST', `/tasks/cancel${text}`)
    if (status === 200) this.#accepted.set((body as { readonly taskUid: number }).taskUid, text)
  }

  async #selection(server: ServerProcess): Promise<Selection> {
    const type = types[Math.floor(this.#random() * types.length * 2)]
    if (type !== undefined) return { kind: 'type', type }
    const { body } = await server.call('GET', `/tasks?statuses=enqueued,processing&limit=${NEWEST}`)
    const { results } = body as { readonly results: readonly TaskView[] }
    const some = results.filter(() => this.#random() < 0.4).map(({ uid }) => uid)
    // A random uid makes it unlikely that two cancelations have the same selection.
    return { kind: 'uids', uids: new Set([...some, Math.floor(this.#random() * 1e9)]) }
  }

  /**
   * Compares the cancelations with the requests and with the canceled tasks.
   * @param tasks all tasks of a server, all ended
   */
  judge(tasks: readonly TaskView[]): string[] {
    this.#cancelations = new Map(tasks.filter(isCancelation).map((task) => [task.uid, task]))
    const counts = new Map<number | null, number>()
    for (const { status, canceledBy } of tasks)
      if (status === 'canceled') counts.set(canceledBy, (counts.get(canceledBy) ?? 0) + 1)
    this.#canceled = [...counts.values()].reduce((sum, count) => sum + count, 0)
    const problems: string[] = []
    for (const [uid, text] of this.#accepted)
      if (this.#cancelations.get(uid)?.details?.originalFilter !== text)
        problems.push(`cancelation ${uid} of ${text} was accepted and is ${JSON.stringify(tasks[uid])}`)
    for (const { uid, status, details } of this.#cancelations.values()) {
      if (!this.#sent.has(String(details?.originalFilter)))
        problems.push(`cancelation ${uid} of ${details?.originalFilter}: no client sent it`)
      const count = counts.get(uid) ?? 0
      const reported = status === 'succeeded' ? details?.canceledTasks : 0
      if (count !== reported)
        problems.push(`cancelation ${uid} is ${status}, reports ${reported} and canceled ${count}`)
    }
    return problems
  }

  /** Returns true if a cancelation known from the last `judge` explains why a task is canceled. */
  explains({ uid, type, canceledBy }: TaskView): boolean {
    const cancelation = canceledBy === null ? undefined : this.#cancelations.get(canceledBy)
    if (cancelation === undefined || cancelation.uid < uid || cancelation.status !== 'succeeded') return false
    const selection = this.#sent.get(String(cancelation.details?.originalFilter))
    if (selection?.kind === 'uids') return selection.uids.has(uid)
    return selection?.type === type
  }
}
