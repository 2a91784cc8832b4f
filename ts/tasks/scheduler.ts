import type { Step } from '../engine/index.js'
import type { BatchLimits, PickedBatch } from './batching.js'
import type { Clock } from './clock.js'
import {
  type BatchContext,
  type Effects,
  Interrupted,
  type Outcome,
  type Run,
} from './execute/batch-context.js'
import { DatabaseSizes } from './execute/database-sizes.js'
import { execute } from './execute/execute.js'
import type { StepProgress } from './execute/step-progress.js'
import { CLEANED_TASKS_MAX, RETRY_FIRST_MS, RETRY_LAST_MS } from './limits.js'
import { detailsAfter } from './listing/details.js'
import {
  type BatchNotes,
  batchStats,
  type EmbedderCounts,
  mergedDetails,
  parsedDetails,
} from './listing/view.js'
import { fileOf } from './spool.js'
import { newRow } from './store/new-row.js'
import type { Conclusion, Ending, PendingTask, Surplus } from './store/records.js'
import { StoreReadOnlyError } from './store/store-client.js'
import { formatDate, type Micros } from './time.js'

export interface SchedulerLimits extends BatchLimits {
  /** From so many stored tasks on the oldest are deleted. */
  readonly storedTasksMax: number
}

/** Batches one after another, for as long as the process runs. */
export class Scheduler {
  readonly #around: BatchContext
  readonly #sizes: DatabaseSizes
  readonly #limits: SchedulerLimits
  readonly #concluded: () => void
  readonly #left = new Map<string, Promise<void>>()
  #nextBatchUid: number
  #running: Running | null = null
  #loop: Promise<void> | null = null
  #closing = false
  #woken: () => void = () => undefined
  #isWoken = false

  /** @param concluded runs after the outcome of a batch has been recorded */
  constructor(around: BatchContext, limits: SchedulerLimits, nextBatchUid: number, concluded: () => void) {
    this.#around = around
    this.#sizes = new DatabaseSizes(around.engine)
    this.#concluded = concluded
    this.#limits = limits
    this.#nextBatchUid = nextBatchUid
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Says that there may be something to do. */
  wake(): void {
    this.#isWoken = true
    this.#woken()
  }

  /** Interrupts the running batch if it holds one of these tasks; it is given up unless it is committing. */
  interrupt(uids: readonly number[]): void {
    const running = this.#running
    if (running !== null && uids.some((uid) => running.taskUids.has(uid))) running.interrupt()
  }

  isIndexing(indexUid: string): boolean {
    return this.#running?.indexUid === indexUid
  }

  /** Progress of that batch as clients see it, null if it is not running. */
  async progress(batchUid: number): Promise<unknown> {
    const running = this.#running
    return running === null || running.batchUid !== batchUid ? null : progressOf(await running.steps())
  }

  /**
   * Interrupts the running batch unless its commit is past the durable point, and begins no other. What was
   * interrupted is done at the next start.
   */
  async close(): Promise<void> {
    this.#closing = true
    this.#running?.interrupt()
    this.wake()
    await this.#loop
    await Promise.all(this.#left.values())
  }

  async #run(): Promise<void> {
    let pauseMs = RETRY_FIRST_MS
    while (!this.#closing) {
      this.#isWoken = false
      try {
        const worked = await this.#step()
        pauseMs = RETRY_FIRST_MS
        if (!worked) await this.#wait(null)
      } catch (error) {
        if (error instanceof StoreReadOnlyError) {
          this.#around.log.error({ err: error }, 'the task store is read-only; nothing more is done')
          return
        }
        this.#around.log.error({ err: error }, 'the queue could not go on; it tries again')
        await this.#wait(pauseMs)
        pauseMs = Math.min(pauseMs * 2, RETRY_LAST_MS)
      }
    }
  }

  /** Until woken, or at most `ms`. */
  async #wait(ms: number | null): Promise<void> {
    if (this.#closing || (ms === null && this.#isWoken)) return
    let stop: () => void = () => undefined
    await new Promise<void>((resolve) => {
      this.#woken = () => {
        // A pause after a failure is cut short by closing only, or every arrival would be a retry.
        if (ms === null || this.#closing) resolve()
      }
      if (ms !== null) stop = this.#around.clock.after(ms, resolve)
    })
    stop()
    this.#woken = () => undefined
  }

  async #step(): Promise<boolean> {
    if (this.#limits.tasksMax === 0) return false
    const { store } = this.#around
    // Asked together: each answer of the store is some way off.
    const [surplus, first] = await Promise.all([
      store.call('surplus', [this.#limits.storedTasksMax, CLEANED_TASKS_MAX]),
      store.call('pick', [this.#limits]),
    ])
    if (this.#closing) return false
    if (surplus !== null) await this.#cleanUp(surplus)
    // The deletion that was just enqueued goes first.
    const picked = surplus === null ? first : await store.call('pick', [this.#limits])
    if (picked === null || this.#closing) return false
    const running = new Running(this.#nextBatchUid++, picked.batch, this.#around.clock)
    this.#running = running
    try {
      await this.#carryOut(running, picked.batch, picked.tasks)
    } finally {
      this.#running = null
    }
    return true
  }

  /** Enqueues the deletion of the oldest finished tasks, since there are too many. */
  async #cleanUp(surplus: Surplus): Promise<void> {
    const { store, log } = this.#around
    const query = `?beforeEnqueuedAt=${formatDate(surplus.before)}&statuses=succeeded,failed,canceled`
    const content = { kind: 'taskDeletion', query, tasks: surplus.uids } as const
    await store.call('append', [newRow({ indexUid: null, type: 'taskDeletion', content }, content)])
    log.info({ tasks: surplus.uids.length }, 'the task store is full: its oldest finished tasks are deleted')
  }

  async #carryOut(running: Running, picked: PickedBatch, tasks: readonly PendingTask[]): Promise<void> {
    const { store, catalogue, log } = this.#around
    const batch = { uid: running.batchUid, startedAt: running.startedAt, strategy: picked.why }
    // Nothing waits for it: the store takes it before the outcome, and a commit whose beginning was not written is
    // told of after a restart like any other.
    store.call('begin', [batch, [...running.taskUids]]).catch((error: unknown) => {
      log.error({ err: error, batchUid: running.batchUid }, 'the beginning of a batch could not be recorded')
    })
    const index = picked.indexUid === null ? null : catalogue.row(picked.indexUid)
    const sizes = await this.#sizes.before(index?.id ?? null)
    let done: Effects
    try {
      done = await execute(picked, tasks, this.#runOf(running), this.#around)
    } catch (error) {
      if (error instanceof Interrupted) log.info({ batchUid: running.batchUid }, 'a batch was interrupted')
      await this.#insist(() => store.call('revert', [running.batchUid, running.failedCommits]))
      if (error instanceof Interrupted) return
      throw error
    }
    running.conclude()
    if (index !== null && done.removed.length === 0) await this.#removeCommitted(done.outcomes)
    const id = picked.indexUid === null ? undefined : done.written[0]?.id
    const isRenaming = this.#isRenaming(done)
    await this.#record(running, picked, done, id === undefined ? {} : await this.#sizes.changes(id, sizes))
    if (isRenaming) await noteNames(catalogue, this.#around)
    await this.#tidy(done)
  }

  #runOf(running: Running): Run {
    return {
      batchUid: running.batchUid,
      startedAt: running.startedAt,
      signal: running.signal,
      step: (name, place) => running.enter(name, place),
      count: (unit, finished, total) => running.count(unit, finished, total),
      follow: (inner) => running.follow(inner),
      commitFailed: (index) => void running.failedCommits.push(index),
      requests: running.requests,
      released: async (index) => this.#left.get(index),
      leave: (index, release) => {
        const gone = release
          .catch((error: unknown) => {
            this.#around.log.warn({ err: error, index }, 'what an interrupted batch left could not be undone')
          })
          .then(() => {
            if (this.#left.get(index) === gone) this.#left.delete(index)
          })
        this.#left.set(index, gone)
      },
    }
  }

  /** Writes down what happened. */
  async #record(
    running: Running,
    picked: PickedBatch,
    done: Effects,
    sizes: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { store, catalogue, spool, log } = this.#around
    const conclusion = concluded(
      { uid: running.batchUid, startedAt: running.startedAt, strategy: picked.why },
      done,
      running.failedCommits,
      { trace: running.trace(done.finishedAt), sizes, requests: running.requests },
      filesOf(done.outcomes).map((file) => spool.pathOf(file)),
    )
    const givenUp = await this.#insist(() =>
      store.call('conclude', [conclusion], () => {
        catalogue.apply(done.removed, done.written)
        // Whoever sees the outcome must not see the index busy with it any more.
        this.#running = null
      }),
    )
    if (givenUp > 0) {
      log.warn({ tasks: givenUp }, 'tasks were deleted that a webhook out of reach had not been told of')
    }
    this.#concluded()
  }

  /**
   * Tries a write until it works or the process ends: it tells of something that has happened already, so
   * nothing else can go on without it. After a restart the engine's own report tells the same.
   */
  async #insist<T>(write: () => Promise<T>): Promise<T> {
    for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_LAST_MS)) {
      try {
        return await write()
      } catch (error) {
        if (error instanceof StoreReadOnlyError) throw error
        this.#around.log.error({ err: error }, 'what a batch did could not be recorded; it is tried again')
        if (this.#closing) throw error
        await this.#wait(pauseMs)
      }
    }
  }

  /** Whether an index came, went or changed its name. Asked before the catalogue takes it over. */
  #isRenaming({ removed, written }: Effects): boolean {
    const { catalogue } = this.#around
    return removed.length > 0 || written.some(({ uid, id }) => catalogue.row(uid)?.id !== id)
  }

  /** Removes what nothing refers to any more. What stays behind here is found at the next start. */
  async #tidy({ dropped }: Effects): Promise<void> {
    const { engine, store } = this.#around
    await this.#removed(
      dropped.map(async (id) => {
        await engine.drop(id)
        await store.call('removed', [[id]])
      }),
    )
  }

  /**
   * Removes the uploads of tasks that succeeded in a commit of an index the catalogue knows, before their outcome is
   * recorded: after a crash it is read from the commit, and nobody asks for them again. All others go with the
   * record. So whoever is told that an import is done finds the disk as full as it stays.
   */
  async #removeCommitted(outcomes: readonly Outcome[]): Promise<void> {
    const { spool } = this.#around
    const committed = outcomes.filter(({ status }) => status === 'succeeded')
    await this.#removed(filesOf(committed).map((file) => spool.remove(file)))
  }

  async #removed(removals: readonly Promise<void>[]): Promise<void> {
    for (const result of await Promise.allSettled(removals)) {
      if (result.status === 'rejected') {
        this.#around.log.warn({ err: result.reason }, 'a leftover could not be removed')
      }
    }
  }
}

/** Writes the names of the indexes down outside the store. If that fails, the next change or start does it. */
export async function noteNames(
  catalogue: BatchContext['catalogue'],
  { names, log }: Pick<BatchContext, 'names' | 'log'>,
): Promise<void> {
  try {
    await names.update(catalogue.rows())
  } catch (error) {
    log.warn({ err: error }, 'the names of the indexes could not be written beside them')
  }
}

/** Uploads of tasks, by file name. */
const filesOf = (outcomes: readonly Outcome[]): readonly string[] =>
  outcomes.flatMap(({ task }) => fileOf(task.content) ?? [])

/** The batch being carried out. */
class Running {
  readonly batchUid: number
  readonly indexUid: string | null
  readonly taskUids: ReadonlySet<number>
  readonly startedAt: Micros
  readonly failedCommits: string[] = []
  readonly requests: EmbedderCounts = { total: 0, failed: 0, lastError: null }
  readonly #interruption = new AbortController()
  readonly #clock: Clock
  readonly #entered: { readonly name: string; readonly at: Micros }[] = []
  #isWriting = false
  #step: Step = usualStep('starting')
  #inner: () => Promise<readonly Step[] | null> = nothingInside

  constructor(batchUid: number, picked: PickedBatch, clock: Clock) {
    this.#clock = clock
    this.startedAt = clock.now()
    this.batchUid = batchUid
    this.indexUid = picked.indexUid
    this.taskUids = new Set(picked.tasks.map(({ uid }) => uid))
  }

  get signal(): AbortSignal {
    return this.#interruption.signal
  }

  interrupt(): void {
    this.#interruption.abort()
  }

  enter(name: string, place?: StepProgress): void {
    this.#step = place === undefined ? usualStep(name) : { currentStep: name, ...place }
    this.#inner = nothingInside
    this.#entered.push({ name, at: this.#clock.now() })
  }

  count(unit: string, finished: number, total: number): void {
    const inner = [{ currentStep: unit, finished, total }]
    this.#inner = async () => inner
  }

  follow(inner: () => Promise<readonly Step[] | null>): void {
    this.#inner = inner
  }

  /** It is carried out, and only has to be written down. */
  conclude(): void {
    this.#isWriting = true
  }

  /** What is being done, outermost first. */
  async steps(): Promise<readonly Step[]> {
    if (this.#isWriting) return [{ currentStep: 'writing tasks to disk', finished: 1, total: 2 }]
    const step = this.#step
    // The engine that is asked may be closing; then the steps inside are not shown.
    const inner = await this.#inner().catch(() => null)
    const outer = [{ currentStep: 'processing tasks', finished: 0, total: 2 }, step]
    // What was inside a step that has ended meanwhile is not inside the next one.
    return step === this.#step && inner !== null ? [...outer, ...inner] : outer
  }

  /** Step → time it took. */
  trace(finishedAt: Micros): Readonly<Record<string, string>> {
    const trace: Record<string, string> = {}
    for (const [position, { name, at }] of this.#entered.entries()) {
      const end = this.#entered[position + 1]?.at ?? finishedAt
      trace[`processing tasks > ${name}`] = milliseconds(end - at)
    }
    return { ...trace, 'processing tasks': milliseconds(finishedAt - this.startedAt) }
  }
}

const milliseconds = (micros: Micros) => `${(micros / 1000).toFixed(2)}ms`

const nothingInside = async () => null

const usualSteps = ['starting', 'preparing', 'embedding', 'committing']

/** A step of a batch that ends with a commit; any other is its beginning. */
const usualStep = (name: string): Step => ({
  currentStep: name,
  finished: Math.max(0, usualSteps.indexOf(name)),
  total: usualSteps.length,
})

/** Each step counts for its share of the one around it. */
function progressOf(steps: readonly Step[]): unknown {
  let share = 100
  let percentage = 0
  for (const { finished, total } of steps) {
    share /= Math.max(1, total)
    percentage += share * finished
  }
  return { steps, percentage: Math.fround(percentage) }
}

/** All that the store has to write for a finished batch. */
export function concluded(
  batch: { readonly uid: number; readonly startedAt: Micros; readonly strategy: string },
  done: Effects,
  failedCommits: readonly string[] = [],
  notes: BatchNotes = {},
  uploads: readonly string[] = [],
): Conclusion {
  const members = done.outcomes.map(({ status, task: { row, content }, counters }) => {
    const details = detailsAfter(content.kind, parsedDetails(row.details), counters)
    return { status, type: row.type, indexUid: row.indexUid, details }
  })
  // Details of settings have not come along.
  const isKnown = done.outcomes.every(({ task: { content } }) => content.kind !== 'settings')
  return {
    batch: {
      ...batch,
      finishedAt: done.finishedAt,
      details: isKnown ? JSON.stringify(mergedDetails(members)) : null,
      stats: JSON.stringify(batchStats(members, notes)),
    },
    endings: done.outcomes.map((outcome, position) => ending(outcome, members[position]!.details)),
    written: done.written,
    removed: done.removed,
    dropped: done.dropped,
    relabels: done.relabels,
    failedCommits,
    deletedTasks: done.deletedTasks,
    uploads,
  }
}

function ending(outcome: Outcome, details: object | null): Ending {
  return {
    uid: outcome.task.row.uid,
    status: outcome.status,
    details: details === null ? null : JSON.stringify(details),
    error: outcome.error === null ? null : JSON.stringify(outcome.error),
    canceledBy: outcome.canceledBy,
    newIndexUid: outcome.newIndexUid,
  }
}
