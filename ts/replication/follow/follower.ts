import type { Outbound } from '../../outbound/index.js'
import { HEARTBEAT_MS } from '../elect/limits.js'
import { InterruptibleSleep } from '../interruptible-sleep.js'
import { CHECKPOINTS_POLL_MS, FAILED_MS, NUDGE_MS, REMEMBER_MS } from '../limits.js'
import { NewerFormatError } from '../log/format.js'
import type { Position } from '../log/position.js'
import { BucketError } from '../object-store/index.js'
import type { PositionWatch } from '../position-watch.js'
import type { SenderLog } from '../publish/sender-setup.js'
import { Hints } from './hints.js'
import { type CopyTarget, type InstanceCopy, LogTruncatedError } from './instance-copy.js'

/** How a follower becomes the leader. */
export interface Candidacy {
  /**
   * Returns true if this server should stand for leadership. Called after each poll that met the end of the log.
   * @param hintedAt when the leader last gave a hint, once after it has stopped to; null: not known
   */
  readonly polled: (copy: InstanceCopy, hintedAt: number | null, signal: AbortSignal) => Promise<boolean>
  /** Stands for leadership. @returns false: another server leads. If true, nothing more is followed. */
  readonly stand: (copy: InstanceCopy, signal: AbortSignal) => Promise<boolean>
}

interface FollowerSetup {
  /** Opens the copy in the data directory, which is open already. Called again after each failure. */
  readonly open: (signal: AbortSignal) => Promise<InstanceCopy>
  /** The result of `open`; null: it was not called yet. */
  readonly copy: InstanceCopy | null
  readonly target: CopyTarget
  /** Returns the last log record that the newest checkpoint covers; null: no checkpoint exists. */
  readonly newestCheckpoint: (signal: AbortSignal) => Promise<number | null>
  /** Milliseconds between two polls of the log, without hints. */
  readonly intervalMs: number
  /** Milliseconds between two polls while the leader gives hints, if longer. Default: `intervalMs`. */
  readonly hintedMs?: number
  /** Calls the leader for hints. Absent: the log is only polled. */
  readonly peers?: Pick<Outbound, 'call'>
  /** Learns the last log record that is served. */
  readonly watch?: Pick<PositionWatch, 'reached'>
  readonly log: SenderLog
  /**
   * Called when records that this copy needs are gone: fetches data for reopening the directory. Retried until it
   * succeeds.
   */
  readonly prepare: (signal: AbortSignal) => Promise<void>
  /** Absent: this server never becomes the leader. */
  readonly candidacy?: Candidacy | null
  /** Called once after `prepare` succeeded: the directory must be reopened. */
  readonly onTruncated: () => void
}

/** State of a follower, for metrics. */
export interface FollowerFigures {
  /** The last log record that is served; null: not known yet. */
  readonly position: number | null
  /** Seconds since the start of the last poll that reached the end of the log; null: none has. */
  readonly staleSeconds: number | null
  /** Seconds since calls to the bucket started to fail; 0: they succeed. */
  readonly awaySeconds: number
  /** Address of the writer; null: not known. */
  readonly writer: string | null
  /** Why the log cannot be read further although the bucket answers, and what to do; null: it can. */
  readonly problem: string | null
}

interface EndWaiter {
  readonly askedAt: number
  resolve(hasMet: boolean): void
}

interface Waiter {
  readonly position: Position
  resolve(isReached: boolean): void
}

/** Applies what another server writes until `stop` is called. */
export class Follower {
  readonly #setup: FollowerSetup
  readonly #stop = new AbortController()
  readonly #waiters = new Set<Waiter>()
  /** Requests that wait for a poll that began after them and met the end of the log. */
  readonly #endWaiters = new Set<EndWaiter>()
  #nudgedAt = Number.NEGATIVE_INFINITY
  readonly #hints: Hints | null
  /** A record that the leader has, and this follower not yet; null: none is known. */
  #hinted: number | null = null
  /** True to poll for the end of the log now. */
  #isPollDue = true
  #polledAt = Number.NEGATIVE_INFINITY
  #promotion: Promise<void> | null = null
  #copy: InstanceCopy | null
  #running: Promise<void> | null = null
  /** Start of the last poll that reached the end of the log. */
  #metEndAt: number | null = null
  #checkpointsPolledAt = performance.now()
  #rememberedAt = Number.NEGATIVE_INFINITY
  #isFailing = false
  #problem: string | null = null
  /** Time of the first failed call since the last answer of the bucket; null: the bucket answers. */
  #awaySince: number | null = null
  readonly #sleep = new InterruptibleSleep()

  constructor(setup: FollowerSetup) {
    this.#setup = setup
    this.#copy = setup.copy
    if (setup.copy !== null) this.#metEndAt = performance.now()
    this.#hints = setup.peers === undefined ? null : this.#hintsOf(setup.peers)
  }

  start(): void {
    this.#running ??= this.#run()
    this.#hints?.start(this.#stop.signal)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#sleep.interrupt()
    await this.#running
    await this.#hints?.ended()
    await this.#copy?.remember()
    for (const waiter of [...this.#waiters, ...this.#endWaiters]) waiter.resolve(false)
  }

  figures(): FollowerFigures {
    return {
      position: this.#copy?.position ?? null,
      staleSeconds: this.#metEndAt === null ? null : (performance.now() - this.#metEndAt) / 1000,
      awaySeconds: this.#awaySince === null ? 0 : (performance.now() - this.#awaySince) / 1000,
      writer: this.#copy?.fence?.address ?? null,
      problem: this.#problem,
    }
  }

  /** Call this when a call to the bucket failed and is retried. */
  failed(error: BucketError): void {
    this.#awaySince ??= performance.now()
    this.#failed(error)
  }

  /** Call this when the bucket has answered a call. */
  answered(): void {
    this.#awaySince = null
  }

  /** Waits up to `waitMs` for a position. Returns true if the follower serves it. */
  async reaches(position: Position, waitMs: number): Promise<boolean> {
    if (this.#has(position)) return true
    return new Promise((resolve) => {
      const waiter: Waiter = {
        position,
        resolve: (isReached) => {
          clearTimeout(limit)
          this.#waiters.delete(waiter)
          resolve(isReached)
        },
      }
      const limit = setTimeout(() => waiter.resolve(false), waitMs)
      this.#waiters.add(waiter)
      this.#poll()
    })
  }

  /** Waits up to `waitMs` for a poll that begins now or later and reaches the end of the log. All waiting calls share it. */
  async meetsEnd(waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiter: EndWaiter = {
        askedAt: performance.now(),
        resolve: (hasMet) => {
          clearTimeout(limit)
          this.#endWaiters.delete(waiter)
          resolve(hasMet)
        },
      }
      const limit = setTimeout(() => waiter.resolve(false), waitMs)
      this.#endWaiters.add(waiter)
      this.#poll()
    })
  }

  /** Polls at once, unless it did so a moment ago. */
  nudge(): void {
    const now = performance.now()
    if (now - this.#nudgedAt < NUDGE_MS) return
    this.#nudgedAt = now
    this.#poll()
  }

  #poll(): void {
    this.#isPollDue = true
    this.#sleep.interrupt()
  }

  #hintsOf(peers: Pick<Outbound, 'call'>): Hints {
    return new Hints({
      peers,
      state: () => {
        const { fence, position } = this.#copy ?? { fence: null, position: -1 }
        return fence === null || fence.address === null ? null : { address: fence.address, position }
      },
      onRecord: (position) => {
        this.#hinted = position
        this.#sleep.interrupt()
      },
      // Polls must not wait for hints that do not come.
      onEnd: () => this.#sleep.interrupt(),
    })
  }

  /** Notes that this follower becomes the leader. @param promotion resolves once it is */
  becomesLeader(promotion: Promise<void>): void {
    this.#promotion = promotion
  }

  /** Resolves once this follower leads; null: it does not become the leader. */
  get promotion(): Promise<void> | null {
    return this.#promotion
  }

  #has(position: Position): boolean {
    return this.#copy?.hasReached(position) ?? false
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    const { log } = this.#setup
    while (!signal.aborted) {
      try {
        const isEnd = await this.#step(signal)
        this.answered()
        if (this.#isFailing) log.info({}, 'the log is followed again')
        this.#isFailing = false
        this.#problem = null
        if (isEnd && (await this.#leads(signal))) return
        if (isEnd && this.#endWaiters.size === 0) await this.#pause()
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof LogTruncatedError) {
          log.info(
            {},
            'the log no longer has the records that this copy needs; it serves on while the newest checkpoint is fetched',
          )
          return await this.#passedOver(signal)
        }
        if (error instanceof BucketError && error.isUnknown) this.failed(error)
        else this.#failed(error)
        await this.#sleep.wait(this.#intervalMs)
      }
    }
  }

  /** Milliseconds between two polls, as long as the leader gives no hints. */
  get #intervalMs(): number {
    const { intervalMs, candidacy = null } = this.#setup
    return candidacy === null ? intervalMs : Math.min(intervalMs, HEARTBEAT_MS)
  }

  /** Waits for the next poll, or for a hint. */
  async #pause(): Promise<void> {
    while (!this.#isPollDue && this.#hinted === null && !this.#stop.signal.aborted) {
      const { intervalMs, hintedMs = intervalMs } = this.#setup
      const everyMs = this.#hints?.work === true ? Math.max(intervalMs, hintedMs) : this.#intervalMs
      const ms = this.#polledAt + everyMs - performance.now()
      if (ms <= 0) this.#isPollDue = true
      else await this.#sleep.wait(ms)
    }
  }

  /** @returns true if the end of the log was reached, or the record of a hint */
  async #step(signal: AbortSignal): Promise<boolean> {
    const { target, open, watch } = this.#setup
    const startedAt = performance.now()
    this.#copy ??= await open(signal)
    const hinted = this.#isPollDue ? null : this.#hinted
    this.#hinted = null
    if (hinted !== null) {
      const isHinted = await this.#copy.advance(target, signal, hinted)
      watch?.reached(this.#copy.position)
      return isHinted
    }
    this.#isPollDue = false
    this.#polledAt = startedAt
    const isEnd = await this.#copy.advance(target, signal)
    watch?.reached(this.#copy.position)
    // Before reads are answered that wait for the end.
    if (isEnd && startedAt - this.#checkpointsPolledAt >= CHECKPOINTS_POLL_MS) {
      const checkpoint = await this.#setup.newestCheckpoint(signal)
      // The record after the last one may be missing because it was deleted as garbage, not because the log ends.
      if (checkpoint !== null && checkpoint >= this.#copy.next)
        throw new LogTruncatedError(`the log records up to ${checkpoint} may be gone`)
      this.#checkpointsPolledAt = startedAt
    }
    if (isEnd) this.#metEndAt = startedAt
    if (isEnd && startedAt - this.#rememberedAt >= REMEMBER_MS) {
      this.#rememberedAt = startedAt
      await this.#copy.remember()
    }
    if (isEnd) for (const waiter of this.#endWaiters) if (waiter.askedAt <= startedAt) waiter.resolve(true)
    for (const waiter of this.#waiters) if (this.#has(waiter.position)) waiter.resolve(true)
    return isEnd
  }

  /** Returns true if this server has become the leader. */
  async #leads(signal: AbortSignal): Promise<boolean> {
    const { candidacy = null } = this.#setup
    const copy = this.#copy
    if (candidacy === null || copy === null) return false
    return (
      (await candidacy.polled(copy, this.#hints?.takeEnd() ?? null, signal)) &&
      (await candidacy.stand(copy, signal))
    )
  }

  async #passedOver(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#setup.prepare(signal)
        return this.#setup.onTruncated()
      } catch (error) {
        if (signal.aborted) return
        this.#failed(error)
        await this.#sleep.wait(Math.max(FAILED_MS, this.#setup.intervalMs))
      }
    }
  }

  #failed(error: unknown): void {
    const isProblem = error instanceof NewerFormatError || /^Damaged/.test((error as Error).name)
    const problem = isProblem ? (error as Error).message : null
    if (this.#isFailing && problem === this.#problem) return
    this.#isFailing = true
    this.#problem = problem
    const message = 'the log cannot be followed; the current copy is served, and reading is retried'
    if (error instanceof BucketError) this.#setup.log.warn({ err: error }, message)
    else this.#setup.log.error({ err: error }, message)
  }
}
