import type { BatchLimits, PickedBatch } from './batching.js'
import { noteNames } from './catalogue/catalogue-file.js'
import { concluded } from './conclusion.js'
import {
  type BatchContext,
  type Effects,
  Interrupted,
  type Outcome,
  type Run,
} from './execute/batch-context.js'
import { DatabaseSizes } from './execute/database-sizes.js'
import { execute } from './execute/execute.js'
import { CLEANED_TASKS_MAX, RETRY_FIRST_MS, RETRY_LAST_MS } from './limits.js'
import { progressOf, RunningBatch } from './running-batch.js'
import { fileOf } from './spool.js'
import { newRow } from './store/new-row.js'
import type { PendingTask, Surplus } from './store/records.js'
import { StoreReadOnlyError } from './store/store-client.js'
import { formatDate } from './time.js'

export interface SchedulerLimits extends BatchLimits {
  /** Number of stored tasks at which the oldest are deleted. */
  readonly storedTasksMax: number
}

/** Carries out batches one after another, for as long as the process runs. */
export class Scheduler {
  readonly #context: BatchContext
  readonly #sizes: DatabaseSizes
  readonly #limits: SchedulerLimits
  readonly #concluded: () => void
  readonly #left = new Map<string, Promise<void>>()
  #nextBatchUid: number
  #running: RunningBatch | null = null
  #loop: Promise<void> | null = null
  #closing = false
  #woken: () => void = () => undefined
  #isWoken = false

  /** @param concluded runs after the outcome of a batch has been recorded */
  constructor(context: BatchContext, limits: SchedulerLimits, nextBatchUid: number, concluded: () => void) {
    this.#context = context
    this.#sizes = new DatabaseSizes(context.engine)
    this.#concluded = concluded
    this.#limits = limits
    this.#nextBatchUid = nextBatchUid
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Tells the scheduler that tasks may wait. */
  wake(): void {
    this.#isWoken = true
    this.#woken()
  }

  /** Interrupts the running batch if it holds one of these tasks. A batch whose commit is durable goes on. */
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
   * Interrupts the running batch unless its commit is durable, and begins no other. The next start carries out
   * the interrupted batch.
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
          this.#context.log.error({ err: error }, 'the task store is read-only; nothing more is done')
          return
        }
        this.#context.log.error({ err: error }, 'the queue could not go on; it tries again')
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
        // Only closing ends a pause after a failure early: otherwise each arriving task would cause a retry.
        if (ms === null || this.#closing) resolve()
      }
      if (ms !== null) stop = this.#context.clock.after(ms, resolve)
    })
    stop()
    this.#woken = () => undefined
  }

  async #step(): Promise<boolean> {
    if (this.#limits.tasksMax === 0) return false
    const { store } = this.#context
    // Both calls are sent at once: each answer of the store's thread takes a turn of the event loop.
    const [surplus, first] = await Promise.all([
      store.call('surplus', [this.#limits.storedTasksMax, CLEANED_TASKS_MAX]),
      store.call('pick', [this.#limits]),
    ])
    if (this.#closing) return false
    if (surplus !== null) await this.#cleanUp(surplus)
    // The deletion that `cleanUp` has enqueued runs before the tasks that were picked.
    const picked = surplus === null ? first : await store.call('pick', [this.#limits])
    if (picked === null || this.#closing) return false
    const running = new RunningBatch(this.#nextBatchUid++, picked.batch, this.#context.clock)
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
    const { store, log } = this.#context
    const query = `?beforeEnqueuedAt=${formatDate(surplus.before)}&statuses=succeeded,failed,canceled`
    const content = { kind: 'taskDeletion', query, tasks: surplus.uids } as const
    await store.call('append', [newRow({ indexUid: null, type: 'taskDeletion', content }, content)])
    log.info({ tasks: surplus.uids.length }, 'the task store is full: its oldest finished tasks are deleted')
  }

  async #carryOut(running: RunningBatch, picked: PickedBatch, tasks: readonly PendingTask[]): Promise<void> {
    const { store, catalogue, log } = this.#context
    const batch = { uid: running.batchUid, startedAt: running.startedAt, strategy: picked.why }
    // The batch does not wait for this write. The store carries out calls in their order, so it comes before the
    // outcome; if it is lost in a crash, recovery finds the tasks enqueued and the commit made.
    store.call('begin', [batch, [...running.taskUids]]).catch((error: unknown) => {
      log.error({ err: error, batchUid: running.batchUid }, 'the beginning of a batch could not be recorded')
    })
    const index = picked.indexUid === null ? null : catalogue.row(picked.indexUid)
    const sizes = await this.#sizes.before(index?.id ?? null)
    let done: Effects
    try {
      done = await execute(picked, tasks, this.#runOf(running), this.#context)
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
    if (isRenaming) await noteNames(catalogue, this.#context)
    await this.#tidy(done)
  }

  #runOf(running: RunningBatch): Run {
    return {
      batchUid: running.batchUid,
      startedAt: running.startedAt,
      signal: running.signal,
      step: (name, progress) => running.enter(name, progress),
      count: (unit, finished, total) => running.count(unit, finished, total),
      follow: (inner) => running.follow(inner),
      commitFailed: (index) => void running.failedCommits.push(index),
      requests: running.requests,
      released: async (index) => this.#left.get(index),
      leave: (index, release) => {
        const gone = release
          .catch((error: unknown) => {
            this.#context.log.warn(
              { err: error, index },
              'what an interrupted batch left could not be undone',
            )
          })
          .then(() => {
            if (this.#left.get(index) === gone) this.#left.delete(index)
          })
        this.#left.set(index, gone)
      },
    }
  }

  /** Records the outcome of the batch in the store. */
  async #record(
    running: RunningBatch,
    picked: PickedBatch,
    done: Effects,
    sizes: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { store, catalogue, spool, log } = this.#context
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
        // A client that sees the outcome must see `isIndexing` false: both change in the same turn of the event loop.
        this.#running = null
      }),
    )
    if (givenUp > 0) {
      log.warn({ tasks: givenUp }, 'tasks were deleted that a webhook out of reach had not been told of')
    }
    this.#concluded()
  }

  /**
   * Tries a write until it succeeds or the process ends. It records what has already happened, so no other batch may
   * begin before it is written. After a restart recovery reads the same outcome from the engine's commit.
   */
  async #insist<T>(write: () => Promise<T>): Promise<T> {
    for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_LAST_MS)) {
      try {
        return await write()
      } catch (error) {
        if (error instanceof StoreReadOnlyError) throw error
        this.#context.log.error({ err: error }, 'what a batch did could not be recorded; it is tried again')
        if (this.#closing) throw error
        await this.#wait(pauseMs)
      }
    }
  }

  /** Whether the batch created, deleted or renamed an index. @param done not yet applied to the catalogue */
  #isRenaming({ removed, written }: Effects): boolean {
    const { catalogue } = this.#context
    return removed.length > 0 || written.some(({ uid, id }) => catalogue.row(uid)?.id !== id)
  }

  /** Removes the directories of indexes that the batch deleted. The next start removes those that stay. */
  async #tidy({ dropped }: Effects): Promise<void> {
    const { engine, store } = this.#context
    await this.#removed(
      dropped.map(async (id) => {
        await engine.drop(id)
        await store.call('removed', [[id]])
      }),
    )
  }

  /**
   * Removes the uploads of tasks that succeeded, before their outcome is recorded: after a crash recovery reads the
   * outcome from the commit of an index that the catalogue names, and needs no upload. The store removes the other
   * uploads with the record. So the space of an upload is free by the time that a client sees its import succeed.
   */
  async #removeCommitted(outcomes: readonly Outcome[]): Promise<void> {
    const { spool } = this.#context
    const committed = outcomes.filter(({ status }) => status === 'succeeded')
    await this.#removed(filesOf(committed).map((file) => spool.remove(file)))
  }

  async #removed(removals: readonly Promise<void>[]): Promise<void> {
    for (const result of await Promise.allSettled(removals)) {
      if (result.status === 'rejected') {
        this.#context.log.warn(
          { err: result.reason },
          'the directory or upload of an ended task could not be removed',
        )
      }
    }
  }
}

/** File names of the uploads of these tasks. */
const filesOf = (outcomes: readonly Outcome[]): readonly string[] =>
  outcomes.flatMap(({ task }) => fileOf(task.content) ?? [])
