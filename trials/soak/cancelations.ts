/** Cancels tasks at any moment: which tasks may be canceled, and which cancelations must there be? */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../__test__/support/server-process.js'
import type { TaskView } from '../faults/model.js'

/** Longest pause between two cancelations. */
const PAUSE_MS_MAX = 400
/** Of so many of the newest waiting tasks, some are canceled by their uids. */
const NEWEST = 12
/** Types of which all waiting tasks are canceled at once. */
const types = ['documentAdditionOrUpdate', 'documentEdition', 'settingsUpdate', 'dumpCreation'] as const

/** Which tasks a cancelation asks for. */
type Selection =
  | { readonly kind: 'uids'; readonly uids: ReadonlySet<number> }
  | { readonly kind: 'type'; readonly type: string }

export const isCancelation = ({ type }: TaskView): boolean => type === 'taskCancelation'

export class Cancelations {
  readonly #random: () => number
  /** The selection by its text, as tasks tell it. */
  readonly #sent = new Map<string, Selection>()
  /** Uid of an accepted cancelation → the text of its selection. */
  readonly #accepted = new Map<number, string>()
  /** The cancelations among the tasks that were judged last, by uid. */
  #there: ReadonlyMap<number, TaskView> = new Map()
  /** Tasks that were found canceled. */
  #canceled = 0

  constructor(random: () => number) {
    this.#random = random
  }

  get counts(): { readonly cancelations: number; readonly canceled: number } {
    return { cancelations: this.#sent.size, canceled: this.#canceled }
  }

  /** Cancels until the signal, or the end of the server. */
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
    // One more, so that hardly two cancelations select the same.
    return { kind: 'uids', uids: new Set([...some, Math.floor(this.#random() * 1e9)]) }
  }

  /**
   * Compares the cancelations with those that clients asked for, and with the tasks that they canceled.
   * @param tasks all of a server that has none left to do
   */
  judge(tasks: readonly TaskView[]): string[] {
    this.#there = new Map(tasks.filter(isCancelation).map((task) => [task.uid, task]))
    const counts = new Map<number | null, number>()
    for (const { status, canceledBy } of tasks)
      if (status === 'canceled') counts.set(canceledBy, (counts.get(canceledBy) ?? 0) + 1)
    this.#canceled = [...counts.values()].reduce((sum, count) => sum + count, 0)
    const problems: string[] = []
    for (const [uid, text] of this.#accepted)
      if (this.#there.get(uid)?.details?.originalFilter !== text)
        problems.push(`cancelation ${uid} of ${text} was accepted and is ${JSON.stringify(tasks[uid])}`)
    for (const { uid, status, details } of this.#there.values()) {
      if (!this.#sent.has(String(details?.originalFilter)))
        problems.push(`cancelation ${uid} of ${details?.originalFilter}: no client asked for it`)
      const count = counts.get(uid) ?? 0
      const told = status === 'succeeded' ? details?.canceledTasks : 0
      if (count !== told)
        problems.push(`cancelation ${uid} is ${status}, tells ${told} and canceled ${count}`)
    }
    return problems
  }

  /** Whether a cancelation among the tasks that were judged last explains that a task is canceled. */
  explains({ uid, type, canceledBy }: TaskView): boolean {
    const cancelation = canceledBy === null ? undefined : this.#there.get(canceledBy)
    if (cancelation === undefined || cancelation.uid < uid || cancelation.status !== 'succeeded') return false
    const selection = this.#sent.get(String(cancelation.details?.originalFilter))
    if (selection?.kind === 'uids') return selection.uids.has(uid)
    return selection?.type === type
  }
}
