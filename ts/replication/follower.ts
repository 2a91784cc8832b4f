import { BucketError } from '../bucket/index.js'
import { Alarm } from './alarm.js'
import { type CopyTarget, type InstanceCopy, PassedOverError } from './instance-copy.js'
import { BASES_LOOK_MS, FAILED_MS } from './limits.js'
import type { Position } from './position.js'
import type { SenderLog } from './sender-setup.js'

export interface FollowerSetup {
  /** The copy in the open data directory. Called again after each failure, and after a fault of the copy. */
  readonly open: (signal: AbortSignal) => Promise<InstanceCopy>
  /** What `open` gave already; null: it was not called yet. */
  readonly copy: InstanceCopy | null
  readonly target: CopyTarget
  /** Number of the last entry that the newest base covers; null: there is none. */
  readonly newestBase: (signal: AbortSignal) => Promise<number | null>
  /** Milliseconds between two looks at the log. */
  readonly intervalMs: number
  readonly log: SenderLog
  /** Fetches what a later opening of the directory needs, when records that this copy needs are gone. Tried until it succeeds. */
  readonly prepare: (signal: AbortSignal) => Promise<void>
  /** Called once, when that is there: the directory has to be opened again. */
  readonly onPassedOver: () => void
}

/** What is told of a follower. */
export interface FollowerFigures {
  /** The last entry of the log that is served; null: not known yet. */
  readonly position: number | null
  /** Seconds since the start of the last look that met the end of the log; null: none has. */
  readonly staleSeconds: number | null
  /** Seconds since calls to the bucket began to fail; 0: they do not. */
  readonly awaySeconds: number
  /** Where the writer is reached; null: not known. */
  readonly writer: string | null
}

interface Waiter {
  readonly position: Position
  resolve(isReached: boolean): void
}

/** Takes what another server writes, as long as this one runs. */
export class Follower {
  readonly #setup: FollowerSetup
  readonly #stop = new AbortController()
  readonly #waiters = new Set<Waiter>()
  #copy: InstanceCopy | null
  #running: Promise<void> | null = null
  /** When the last look that met the end of the log began. */
  #metEndAt: number | null = null
  #basesLookedAt = performance.now()
  #isFailing = false
  /** When the first of the calls failed that have failed since the bucket answered last; null: it answers. */
  #awaySince: number | null = null
  readonly #alarm = new Alarm()

  constructor(setup: FollowerSetup) {
    this.#setup = setup
    this.#copy = setup.copy
    if (setup.copy !== null) this.#metEndAt = performance.now()
  }

  start(): void {
    this.#running ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#alarm.ring()
    await this.#running
    for (const waiter of this.#waiters) waiter.resolve(false)
  }

  figures(): FollowerFigures {
    return {
      position: this.#copy?.position ?? null,
      staleSeconds: this.#metEndAt === null ? null : (performance.now() - this.#metEndAt) / 1000,
      awaySeconds: this.#awaySince === null ? 0 : (performance.now() - this.#awaySince) / 1000,
      writer: this.#copy?.fence?.address ?? null,
    }
  }

  /** Call it when a call to the bucket failed and is made again. */
  failed(error: BucketError): void {
    this.#awaySince ??= performance.now()
    this.#failed(error)
  }

  /** Call it when the bucket has answered a call. */
  answered(): void {
    this.#awaySince = null
  }

  /** Whether it serves what was written up to a position, after a wait. */
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
      this.#alarm.ring()
    })
  }

  #has(position: Position): boolean {
    return this.#copy?.hasReached(position) ?? false
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    const { intervalMs, log } = this.#setup
    while (!signal.aborted) {
      try {
        const isEnd = await this.#step(signal)
        this.answered()
        if (this.#isFailing) log.info({}, 'the log is followed again')
        this.#isFailing = false
        if (isEnd) await this.#alarm.wait(intervalMs)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof PassedOverError) {
          log.info(
            {},
            'the log has passed over this copy: it is served while the newest checkpoint is fetched',
          )
          return await this.#passedOver(signal)
        }
        if (error instanceof BucketError && error.isUnknown) this.failed(error)
        else this.#failed(error)
        await this.#alarm.wait(intervalMs)
      }
    }
  }

  /** @returns whether the end of the log was met */
  async #step(signal: AbortSignal): Promise<boolean> {
    const { target, open } = this.#setup
    const startedAt = performance.now()
    this.#copy ??= await open(signal)
    const isEnd = await this.#copy.advance(target, signal)
    if (isEnd) this.#metEndAt = startedAt
    for (const waiter of this.#waiters) if (this.#has(waiter.position)) waiter.resolve(true)
    if (isEnd && startedAt - this.#basesLookedAt >= BASES_LOOK_MS) {
      this.#basesLookedAt = startedAt
      const base = await this.#setup.newestBase(signal)
      // What seems to be the end of the log may be a place that was emptied.
      if (base !== null && base >= this.#copy.next)
        throw new PassedOverError(`the entries up to ${base} may be gone`)
    }
    return isEnd
  }

  async #passedOver(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#setup.prepare(signal)
        return this.#setup.onPassedOver()
      } catch (error) {
        if (signal.aborted) return
        this.#failed(error)
        await this.#alarm.wait(Math.max(FAILED_MS, this.#setup.intervalMs))
      }
    }
  }

  #failed(error: unknown): void {
    if (this.#isFailing) return
    this.#isFailing = true
    const what = 'the log cannot be followed; what is here is served, and the log is read again'
    if (error instanceof BucketError) this.#setup.log.warn({ err: error }, what)
    else this.#setup.log.error({ err: error }, what)
  }
}
