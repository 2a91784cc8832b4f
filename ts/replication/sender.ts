import { BucketError, FencedError, type LogWriter } from '../bucket/index.js'
import { ApiError } from '../errors/index.js'
import type { OutgoingChanges } from '../tasks/index.js'
import { Alarm } from './alarm.js'
import { SupersededError } from './connect.js'
import type { Garbage } from './garbage.js'
import {
  AWAY_MS,
  BASE_RETRY_MS,
  FAILED_MS,
  GARBAGE_EVERY_MS,
  LAST_SENDING_MS,
  LOOK_MS,
  SETTLED_MS,
} from './limits.js'
import type { Shipper } from './shipper.js'
import { hasAll, type Waiter, Waiters } from './waiters.js'

export interface SenderLog {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** What sends, once the log was taken over. */
export interface Sending {
  readonly shipper: Shipper
  readonly writer: LogWriter
  readonly garbage: Garbage
}

export interface SenderSetup {
  readonly outgoing: Pick<OutgoingChanges, 'facts' | 'sync' | 'uploads'>
  /** Takes over the log; tried again after each failure that another server is not the reason of. */
  readonly connect: (signal: AbortSignal) => Promise<Sending>
  /** What `connect` gave already; null: it was not called yet. */
  readonly sending: Sending | null
  /** Milliseconds between two looks for changes that no client waits for. */
  readonly intervalMs: number
  readonly log: SenderLog
  /** Called once, when another writer has taken over: from then on nothing is sent. @param hasLed whether this one ever wrote */
  readonly onFenced: (hasLed: boolean) => void
}

/** What is told of the way to the bucket. */
export interface SenderFigures {
  /** Number of the last entry of the log; null: the log was not taken over yet. */
  readonly position: number | null
  /** Transactions that the bucket does not have. */
  readonly unsent: number
  /** Seconds since the bucket answered last, while calls fail; else 0. */
  readonly awaySeconds: number
  readonly isFenced: boolean
}

/** Sends what changes as long as the server runs, makes bases, and removes garbage. */
export class Sender {
  readonly #setup: SenderSetup
  readonly #stop = new AbortController()
  readonly #waiters = new Waiters()
  #isAsked = false
  readonly #alarm = new Alarm()
  #running: Promise<void> | null = null
  #sweeping: Promise<void> | null = null
  #sweptAt = performance.now()
  #lookedAt = performance.now()
  /** When a base may be made next. */
  #basesFrom = 0
  /** When everything was sent last; null: not yet. */
  #sentAt: number | null = null
  /** When the first of the calls failed that have failed since the bucket answered last; null: it answers. */
  #awaySince: number | null = null
  /** The failure that was logged last. */
  #told = ''
  #sending: Sending | null
  /** The refusal of writes since another writer has taken over. */
  #fenced: ApiError | null = null

  constructor(setup: SenderSetup) {
    this.#setup = setup
    this.#sending = setup.sending
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Goes on for a bounded time until the bucket has everything, then ends. */
  async stop(): Promise<void> {
    this.#ask()
    const limit = setTimeout(() => this.#stop.abort(), LAST_SENDING_MS)
    const { outgoing } = this.#setup
    await outgoing.sync()
    const { last, unsent } = await outgoing.facts()
    if (unsent > 0 && this.#running !== null) await this.#until(last).catch(() => undefined)
    clearTimeout(limit)
    this.#stop.abort()
    this.#ask()
    await this.#running
    await this.#sending?.shipper.end()
    await this.#sweeping
  }

  /** Call it when a call to the bucket failed and is made again. */
  failed(error: BucketError): void {
    if (this.#awaySince === null) {
      this.#awaySince = performance.now()
      this.#setup.log.warn({ err: error }, 'the bucket does not answer; it is asked again')
    }
    if (performance.now() - this.#awaySince >= AWAY_MS) this.#refuseWaiters()
  }

  /** @throws ApiError once another server has taken over */
  requireLead(): void {
    if (this.#fenced !== null) throw this.#fenced
  }

  /** @throws ApiError while the bucket is away, or once another server has taken over */
  requireBucket(): void {
    this.requireLead()
    if (this.#awaySince !== null && performance.now() - this.#awaySince >= AWAY_MS)
      throw new ApiError(
        'bucket_unavailable',
        'the bucket does not answer, so that nothing can be written; searches go on, and writes will once it answers',
      )
  }

  /** Resolves once the bucket has all that was written before. @throws ApiError if that is not known */
  async acknowledged(): Promise<void> {
    const facts = await this.#setup.outgoing.facts()
    if (this.#sending !== null && hasAll(this.#sending.shipper, facts)) return
    await this.#until(facts.last)
  }

  async figures(): Promise<SenderFigures> {
    const { unsent } = await this.#setup.outgoing.facts()
    const away = this.#awaySince === null ? 0 : (performance.now() - this.#awaySince) / 1000
    return {
      position: this.#sending === null ? null : this.#sending.writer.next - 1,
      unsent,
      awaySeconds: away,
      isFenced: this.#fenced !== null,
    }
  }

  #until(last: number): Promise<void> {
    if (this.#fenced !== null) return Promise.reject(this.#fenced)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        last,
        resolve() {
          clearTimeout(limit)
          resolve()
        },
        reject(error) {
          clearTimeout(limit)
          reject(error)
        },
      }
      // A call that is never answered fails later than those who wait for it should know.
      const limit = setTimeout(() => {
        this.#awaySince ??= performance.now() - AWAY_MS
        this.#waiters.delete(waiter)
        reject(unknownOutcome('the bucket does not answer'))
      }, AWAY_MS)
      this.#waiters.add(waiter)
      this.#ask()
    })
  }

  #ask(): void {
    this.#isAsked = true
    this.#alarm.ring()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted && this.#fenced === null) {
      try {
        await this.#step(signal)
        this.#answered()
      } catch (error) {
        if (signal.aborted) break
        if (error instanceof FencedError || error instanceof SupersededError)
          return await this.#end(error instanceof FencedError ? error.by.address : error.fence.address)
        this.#fault(error)
        await this.#alarm.wait(FAILED_MS)
      }
    }
    this.#waiters.refuse(unknownOutcome('the server stops'))
  }

  /** Looks from time to time whether the log is still this writer's, sends what waits, and waits. */
  async #step(signal: AbortSignal): Promise<void> {
    this.#sending ??= await this.#setup.connect(signal)
    const sending = this.#sending
    // First, since what is sent may fail for as long as the disk is full.
    if (performance.now() - this.#lookedAt >= LOOK_MS) {
      await sending.writer.look(signal)
      this.#lookedAt = performance.now()
    }
    if (this.#isAsked || this.#untilSending() === 0) {
      this.#isAsked = false
      await this.#sendAll(sending, signal)
      this.#sentAt = performance.now()
      while (!this.#isAsked && (await sending.shipper.refresh(SETTLED_MS, signal)));
    }
    if (performance.now() - this.#sweptAt >= GARBAGE_EVERY_MS) this.#sweep(sending, signal)
    if (!this.#isAsked) await this.#alarm.wait(Math.min(LOOK_MS, this.#untilSending()))
  }

  /** Milliseconds until changes are sent that no client waits for. */
  #untilSending(): number {
    return this.#sentAt === null ? 0 : Math.max(0, this.#sentAt + this.#setup.intervalMs - performance.now())
  }

  async #sendAll({ shipper }: Sending, signal: AbortSignal): Promise<void> {
    for (let isSending = true; isSending; ) {
      if (shipper.isBaseDue && performance.now() >= this.#basesFrom) await this.#beginBase(shipper, signal)
      isSending = await this.#waiters.ship(shipper, signal)
    }
  }

  /** Begins a base, which is made beside changes. One that fails, as on a disk without room for its image, holds up none. */
  async #beginBase(shipper: Shipper, signal: AbortSignal): Promise<void> {
    try {
      await shipper.beginBase(signal, (failure) => {
        if (failure !== null) this.#baseFailed(failure)
        // Clients may wait for the first base.
        else this.#ask()
      })
    } catch (error) {
      const isOfChanges = error instanceof FencedError || error instanceof BucketError
      if (signal.aborted || isOfChanges) throw error
      this.#baseFailed(error)
    }
  }

  #baseFailed(error: unknown): void {
    this.#setup.log.error({ err: error }, 'a base could not be made; it is tried again')
    this.#basesFrom = performance.now() + BASE_RETRY_MS
  }

  #answered(): void {
    if (this.#awaySince === null) return
    this.#awaySince = null
    this.#setup.log.info({}, 'the bucket answers again')
  }

  #fault(error: unknown): void {
    const isRepeated =
      this.#awaySince !== null && (error instanceof BucketError || String(error) === this.#told)
    this.#told = String(error)
    if (!isRepeated) this.#setup.log.error({ err: error }, 'changes could not be sent to the bucket')
    this.#awaySince ??= performance.now()
    this.#refuseWaiters()
  }

  #refuseWaiters(): void {
    this.#waiters.refuse(unknownOutcome('the bucket does not answer'))
  }

  /** @param address of the server that has taken over */
  async #end(address: string | null): Promise<void> {
    const refusal = notTheWriter(address)
    this.#fenced = refusal
    this.#waiters.refuse(refusal)
    this.#setup.onFenced(this.#sending !== null)
    await this.#sending?.shipper.end()
  }

  #sweep(sending: Sending, signal: AbortSignal): void {
    this.#sweptAt = performance.now()
    this.#sweeping ??= this.#swept(sending, signal).finally(() => {
      this.#sweeping = null
    })
  }

  async #swept({ shipper, writer, garbage }: Sending, signal: AbortSignal): Promise<void> {
    const { outgoing, log } = this.#setup
    try {
      const uploads = new Set((await outgoing.uploads.needed()).map(({ name }) => name))
      const removed = await garbage.sweep({ keys: shipper.references(), uploads, next: writer.next }, signal)
      if (removed > 0) log.info({ removed }, 'removed objects of no use from the bucket')
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'objects of no use could not be removed from the bucket')
    }
  }
}

/** The refusal of a write. @param address of the server that writes; null: not known */
export const notTheWriter = (address: string | null): ApiError =>
  new ApiError(
    'not_leader',
    `this server follows another one and takes no writes: send them to ${address ?? 'the one that writes to the bucket'}`,
  )

/** A write of which it is not known whether it will last. */
const unknownOutcome = (why: string): ApiError =>
  new ApiError(
    'bucket_unavailable',
    `${why}: the write is stored here, and it is not known whether the bucket has it; look at GET /tasks before it is sent again`,
  )
