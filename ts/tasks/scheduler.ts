import { type BatchLimits, type Busy, exclusiveKinds, type PickedBatch } from './batching.js'
import { updateCatalogueFile } from './catalogue/catalogue-file.js'
import type { TaskChanges } from './changes.js'
import { type CommitGuard, CommitLock } from './commit-lock.js'
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
import { CLEANED_TASKS_MAX, RETRY_FIRST_MS, RETRY_LAST_MS, RUNNING_BATCHES_MAX } from './limits.js'
import type { BeforeRecord } from './replicated/outgoing-changes.js'
import { progressOf, RunningBatch } from './running-batch.js'
import { fileOf } from './spool.js'
import { newRow } from './store/new-row.js'
import type { PendingTask, Surplus } from './store/records.js'
import { StoreReadOnlyError } from './store/store-client.js'
import { formatDate } from './time.js'
import { firstUid, type UidClass } from './uid-class.js'

export interface SchedulerLimits extends BatchLimits {
  /** Batches that run at the same time, not counting batches waiting for an embedder. */
  readonly batchesMax: number
  /** Number of stored tasks at which the oldest are deleted. */
  readonly storedTasksMax: number
}

/** The uids of new batches: those of a class from `next` on. */
interface BatchUids {
  readonly next: number
  readonly uidClass: UidClass
}

/** Runs batches until the process ends. Batches that use different indexes run concurrently. */
export class Scheduler {
  readonly #context: BatchContext
  readonly #sizes: DatabaseSizes
  readonly #limits: SchedulerLimits
  readonly #changes: TaskChanges
  readonly #rollbacks = new Map<string, Promise<void>>()
  readonly #commitLock = new CommitLock()
  #beforeRecord: BeforeRecord | null = null
  #nextBatchUid: number
  readonly #uidClass: UidClass
  /** Running batches by uid. A batch is removed once its outcome is recorded. */
  readonly #running = new Map<number, RunningBatch>()
  /** Uids of waiting task deletions → batches that were running the tasks to delete. */
  readonly #heldDeletions = new Map<number, readonly number[]>()
  /** Uid of a batch → the end of all its work. */
  readonly #ends = new Map<number, Promise<void>>()
  /** Failures of batches that no task caused, since the last pause. */
  #failures: unknown[] = []
  #loop: Promise<void> | null = null
  readonly #close = new AbortController()
  #woken: () => void = () => undefined
  #isWoken = false
  /** True after an upgrade failed. No batch runs until the next start, which retries the upgrade. */
  #isHalted = false

  /** @param changes notified of each batch that began, ended or was re-queued */
  constructor(context: BatchContext, limits: SchedulerLimits, uids: BatchUids, changes: TaskChanges) {
    this.#context = context
    this.#sizes = new DatabaseSizes(context.engine)
    this.#changes = changes
    this.#limits = limits
    this.#nextBatchUid = uids.next
    this.#uidClass = uids.uidClass
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Notifies the scheduler of possibly waiting tasks. */
  wake(): void {
    this.#isWoken = true
    this.#woken()
  }

  /** Interrupts the running batches of these tasks. A batch continues if its commit is durable. */
  interrupt(uids: readonly number[]): void {
    for (const running of this.#holders(uids)) running.interrupt()
  }

  isIndexing(indexUid: string): boolean {
    return [...this.#running.values()].some((running) => running.indexUid === indexUid)
  }

  /** Returns the progress of a batch in the API's format; null if it is not running. */
  async progress(batchUid: number): Promise<unknown> {
    const running = this.#running.get(batchUid)
    return running === undefined ? null : progressOf(await running.steps())
  }

  /**
   * Interrupts the running batches except those whose commit is durable, and begins no other. The next start runs the
   * interrupted batches again.
   */
  async close(): Promise<void> {
    this.#close.abort()
    for (const running of this.#running.values()) running.interrupt()
    this.wake()
    await this.#loop
    await Promise.all(this.#ends.values())
    await Promise.all(this.#rollbacks.values())
  }

  get #isClosing(): boolean {
    return this.#close.signal.aborted
  }

  async #run(): Promise<void> {
    let pauseMs = RETRY_FIRST_MS
    while (!this.#isClosing) {
      this.#isWoken = false
      try {
        const worked = await this.#step()
        const [failure] = this.#failures
        this.#failures = []
        if (failure !== undefined) throw failure
        pauseMs = RETRY_FIRST_MS
        if (!worked) await this.#untilWoken()
      } catch (error) {
        if (error instanceof StoreReadOnlyError) {
          this.#context.log.error({ err: error }, 'the task store is read-only; no more tasks are run')
          return
        }
        this.#context.log.error({ err: error }, 'the task queue failed; it tries again')
        // New tasks do not end the pause, as each would cause a retry.
        await this.#pause(pauseMs)
        pauseMs = Math.min(pauseMs * 2, RETRY_LAST_MS)
      }
    }
  }

  async #untilWoken(): Promise<void> {
    if (this.#isClosing || this.#isWoken) return
    await new Promise<void>((resolve) => {
      this.#woken = resolve
    })
    this.#woken = () => undefined
  }

  /** Resolves after `ms`, or when the scheduler closes. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#close
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const stop = this.#context.clock.after(ms, () => {
        signal.removeEventListener('abort', end)
        resolve()
      })
      const end = () => {
        stop()
        resolve()
      }
      signal.addEventListener('abort', end, { once: true })
    })
  }

  /** Begins the next batch. @returns false if none can begin */
  async #step(): Promise<boolean> {
    if (this.#limits.tasksMax === 0 || this.#isHalted) return false
    const { store } = this.#context
    // Sends both calls at once, because each answer of the store's thread takes a turn of the event loop.
    const [surplus, first] = await Promise.all([
      store.call('surplus', [this.#limits.storedTasksMax, CLEANED_TASKS_MAX]),
      store.call('pick', [this.#limits, this.#busy()]),
    ])
    if (this.#isClosing) return false
    if (surplus !== null) await this.#cleanUp(surplus)
    // The deletion enqueued by `cleanUp` runs before the tasks that were picked.
    let picked = surplus === null ? first : await store.call('pick', [this.#limits, this.#busy()])
    while (picked?.batch.kind === 'taskDeletion' && this.#holdBack(picked.tasks))
      picked = await store.call('pick', [this.#limits, this.#busy()])
    if (picked === null || !this.#mayBegin()) return false
    const { batch, tasks } = picked
    if (batch.kind === 'taskCancelation') await this.#interrupted(tasks)
    if (!this.#mayBegin()) return false
    const uid = firstUid(this.#nextBatchUid, this.#uidClass)
    this.#nextBatchUid = uid + 1
    const running = new RunningBatch(uid, batch, this.#context.clock)
    this.#running.set(uid, running)
    const { aroundBatch } = this.#context
    const run = (): Promise<void> => this.#runBatch(running, batch, tasks)
    const end = (aroundBatch === undefined ? run() : aroundBatch(running, run))
      .catch((error: unknown) => void this.#failures.push(error))
      .then(() => {
        const isUnrecorded = this.#running.delete(uid)
        this.#ends.delete(uid)
        // Recording an outcome has already woken the queue.
        if (isUnrecorded || this.#failures.length > 0) this.wake()
      })
    this.#ends.set(uid, end)
    // No other batch begins meanwhile.
    if (exclusiveKinds.has(batch.kind)) await end
    return true
  }

  /** False after a failure: if an outcome is not recorded, its tasks still look enqueued although they have run. */
  #mayBegin(): boolean {
    return !this.#isClosing && this.#failures.length === 0
  }

  #busy(): Busy {
    const running = [...this.#running.values()]
    const working = running.filter(({ isEmbedding }) => !isEmbedding)
    for (const [uid, batchUids] of this.#heldDeletions)
      if (!batchUids.some((batchUid) => this.#running.has(batchUid))) this.#heldDeletions.delete(uid)
    return {
      names: running.flatMap(({ names }) => names),
      isFull: working.length >= this.#limits.batchesMax || running.length >= RUNNING_BATCHES_MAX,
      heldDeletions: [...this.#heldDeletions.keys()],
    }
  }

  /** Makes deletions of running tasks wait for the batches. @returns true if any must wait */
  #holdBack(deletions: readonly PendingTask[]): boolean {
    let isAnyHeld = false
    for (const { row, content } of deletions) {
      const holders = this.#holders('tasks' in content ? content.tasks : [])
      if (holders.length === 0) continue
      this.#heldDeletions.set(
        row.uid,
        holders.map(({ batchUid }) => batchUid),
      )
      isAnyHeld = true
    }
    return isAnyHeld
  }

  #holders(uids: readonly number[]): readonly RunningBatch[] {
    return [...this.#running.values()].filter(({ taskUids }) => uids.some((uid) => taskUids.has(uid)))
  }

  /** Interrupts the running batches that a cancelation concerns, and waits until they have ended. */
  async #interrupted(tasks: readonly PendingTask[]): Promise<void> {
    const holders = this.#holders(tasks.flatMap(({ content }) => ('tasks' in content ? content.tasks : [])))
    for (const running of holders) running.interrupt()
    await Promise.all(holders.map(({ batchUid }) => this.#ends.get(batchUid)))
  }

  /** Enqueues the deletion of the oldest finished tasks when the store has too many. */
  async #cleanUp(surplus: Surplus): Promise<void> {
    const { store, log } = this.#context
    const query = `?beforeEnqueuedAt=${formatDate(surplus.before)}&statuses=succeeded,failed,canceled`
    const content = { kind: 'taskDeletion', query, tasks: surplus.uids } as const
    await store.call('append', [newRow({ indexUid: null, type: 'taskDeletion', content }, content)])
    log.info({ tasks: surplus.uids.length }, 'the task store is full: its oldest finished tasks are deleted')
  }

  async #runBatch(running: RunningBatch, picked: PickedBatch, tasks: readonly PendingTask[]): Promise<void> {
    const { store, log } = this.#context
    const batch = { uid: running.batchUid, startedAt: running.startedAt, strategy: picked.why }
    // Only the commit waits for this write. It lets recovery detect that the outcome of the commit was not recorded,
    // even if the outcome of a later batch was.
    const begun = store.call('begin', [batch, [...running.taskUids]]).then(
      () => this.#emit(running, [...running.taskUids], false),
      (error: unknown) => {
        log.error({ err: error, batchUid: running.batchUid }, 'the start of a batch could not be recorded')
        this.#failures.push(error)
        running.interrupt()
      },
    )
    const guard = this.#commitLock.guard(running.names, running.signal)
    try {
      await this.#runGuarded(running, picked, tasks, begun, guard)
    } finally {
      guard.release()
    }
  }

  async #runGuarded(
    running: RunningBatch,
    picked: PickedBatch,
    tasks: readonly PendingTask[],
    begun: Promise<void>,
    guard: CommitGuard,
  ): Promise<void> {
    const { store, catalogue, log } = this.#context
    const index = picked.indexUid === null ? null : catalogue.row(picked.indexUid)
    const sizes = await this.#sizes.before(index?.id ?? null)
    let done: Effects
    try {
      done = await execute(picked, tasks, this.#runOf(running, begun, guard), this.#context)
      if (!(await guard.acquire())) throw new Interrupted()
    } catch (error) {
      if (error instanceof Interrupted) log.info({ batchUid: running.batchUid }, 'a batch was interrupted')
      await this.#retryWrite(guard, () => store.call('revert', [running.batchUid, running.failedCommits]))
      this.#emit(running, [...running.taskUids], false)
      if (error instanceof Interrupted) return
      throw error
    }
    running.conclude()
    if (index !== null && done.removed.length === 0) await this.#removeCommitted(done.outcomes)
    const id = picked.indexUid === null ? undefined : done.written[0]?.id
    const ids = done.written.map((written) => written.id)
    if (ids.length > 0) await this.#beforeRecord?.(ids)
    const isRenaming = this.#isRenaming(done)
    if (picked.kind === 'upgradeDatabase' && done.outcomes.some(({ status }) => status === 'failed'))
      this.#isHalted = true
    await this.#record(running, picked, done, {
      guard,
      sizes: id === undefined ? {} : await this.#sizes.changes(id, sizes),
    })
    if (isRenaming) await updateCatalogueFile(catalogue, this.#context)
    await this.#tidy(done)
  }

  /** See `OutgoingChanges.beforeRecord`. */
  beforeRecord(hook: BeforeRecord | null): void {
    this.#beforeRecord = hook
  }

  /** See `CommitLock.holdCommits`. */
  holdCommits<T>(names: readonly string[] | null, read: () => Promise<T>): Promise<T> {
    return this.#commitLock.holdCommits(names, read)
  }

  #runOf(running: RunningBatch, begun: Promise<void>, guard: CommitGuard): Run {
    return {
      batchUid: running.batchUid,
      begun,
      mayCommit: () => guard.acquire(),
      holdCommits: (names, read) => this.holdCommits(names, read),
      startedAt: running.startedAt,
      signal: running.signal,
      step: (name, progress) => running.enter(name, progress),
      count: (unit, finished, total) => running.count(unit, finished, total),
      follow: (inner) => running.follow(inner),
      commitFailed: (index) => void running.failedCommits.push(index),
      requests: running.requests,
      released: async (index) => this.#rollbacks.get(index),
      leave: (index, release) => {
        const gone = release
          .catch((error: unknown) => {
            this.#context.log.warn({ err: error, index }, 'an interrupted batch could not be rolled back')
          })
          .then(() => {
            if (this.#rollbacks.get(index) === gone) this.#rollbacks.delete(index)
          })
        this.#rollbacks.set(index, gone)
      },
    }
  }

  /** Records the outcome of the batch in the store. */
  async #record(
    running: RunningBatch,
    picked: PickedBatch,
    done: Effects,
    { guard, sizes }: { readonly guard: CommitGuard; readonly sizes: Readonly<Record<string, string>> },
  ): Promise<void> {
    const { store, catalogue, spool, log } = this.#context
    const files = filesOf(done.outcomes)
    const held = files.filter((file) => spool.isHeld(file))
    const conclusion = concluded(
      { uid: running.batchUid, startedAt: running.startedAt, strategy: picked.why },
      done,
      running.failedCommits,
      { trace: running.trace(done.finishedAt), sizes, requests: running.requests },
      files.filter((file) => !held.includes(file)).map((file) => spool.pathOf(file)),
    )
    const givenUp = await this.#retryWrite(guard, () =>
      store.call('conclude', [conclusion], () => {
        catalogue.apply(done.removed, done.written)
        // A client that sees the outcome must see `isIndexing` false, so both change in one turn of the event loop.
        this.#running.delete(running.batchUid)
        this.wake()
      }),
    )
    if (givenUp > 0) {
      log.warn({ tasks: givenUp }, 'tasks were deleted before an unreachable webhook had received them')
    }
    await this.#removed(held.map((file) => spool.remove(file)))
    const ended = done.outcomes.map(({ task }) => task.row.uid)
    this.#emit(running, ended, true)
  }

  #emit({ batchUid }: RunningBatch, taskUids: readonly number[], hasEnded: boolean): void {
    this.#changes.emit({ taskUids, batchUid, hasEnded })
  }

  /**
   * Repeats a write until it succeeds or the process ends. It records work that is already done, so no other batch of
   * the index may begin before. After a restart, recovery reads the same outcome from the engine's commit.
   */
  async #retryWrite<T>(guard: CommitGuard, write: () => Promise<T>): Promise<T> {
    for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_LAST_MS)) {
      try {
        return await write()
      } catch (error) {
        const isReadOnly = error instanceof StoreReadOnlyError
        if (!isReadOnly)
          this.#context.log.error(
            { err: error },
            'the outcome of a batch could not be recorded; it is tried again',
          )
        if (isReadOnly || this.#isClosing) {
          guard.poison()
          throw error
        }
        await this.#pause(pauseMs)
      }
    }
  }

  /** True if the batch created, deleted or renamed an index. @param done not yet applied to the catalogue */
  #isRenaming({ removed, written }: Effects): boolean {
    const { catalogue } = this.#context
    return removed.length > 0 || written.some(({ uid, id }) => catalogue.row(uid)?.id !== id)
  }

  /** Removes the directories of indexes that the batch deleted. The next start removes the remaining ones. */
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
   * Removes the uploads of tasks that succeeded, before their outcome is recorded. After a crash, recovery reads the
   * outcome from the commit and needs no upload. The store removes the other uploads with the record. So the disk space
   * of an upload is free when a client sees its import succeed.
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

/** Returns the file names of the uploads of these tasks. */
const filesOf = (outcomes: readonly Outcome[]): readonly string[] =>
  outcomes.flatMap(({ task }) => fileOf(task.content) ?? [])
