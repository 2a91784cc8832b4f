import type { ApiError } from '../../errors/index.js'
import { HEARTBEAT_MS } from '../elect/limits.js'
import { InterruptibleSleep, systemTiming, type Timing } from '../interruptible-sleep.js'
import { SupersededError } from '../lead/connect.js'
import { notConfirmed, notLeader, stopping, unavailable, unknownOutcome, yielding } from '../lead/refusals.js'
import {
  AWAY_LOG_MS,
  AWAY_MS,
  AWAY_POLL_MS,
  CHECKPOINT_RETRY_MS,
  CONFIRMED_MS,
  FAILED_MS,
  GARBAGE_EVERY_MS,
  LARGE_UPLOAD_BYTES,
  LARGE_UPLOADS_MAX,
  LAST_SENDING_MS,
  POLL_MS,
  SETTLED_MS,
  YIELD_DRAIN_MS,
  YIELD_MS,
  YIELD_POLL_MS,
  YIELDING_POLL_MS,
} from '../limits.js'
import type { Position } from '../log/position.js'
import { BucketError, FencedError } from '../object-store/index.js'
import { Slots } from '../slots.js'
import { hasAll, type Waiter, Waiters } from '../waiters.js'
import type { Pace, SenderFigures, SenderSetup, Sending } from './sender-setup.js'

/** A pause of appends, so that another server can take over. */
interface Yield {
  /** Id of the yield request. */
  readonly id: string
  /** Pending changes are sent until this time. */
  drainsUntil: number
  endsAt: number
}

/** Sends changes until `stop` is called, makes checkpoints, and removes garbage. */
export class Sender {
  readonly #setup: SenderSetup
  readonly #timing: Timing
  readonly #pace: Pace
  readonly #stop = new AbortController()
  /** Aborts uploads outside the log that clients and batches wait for. */
  readonly #closing = new AbortController()
  readonly #waiters = new Waiters()
  #isAsked = false
  readonly #sleep: InterruptibleSleep
  readonly #watchSleep: InterruptibleSleep
  #running: Promise<void> | null = null
  #watching: Promise<void> | null = null
  #sweeping: Promise<void> | null = null
  #refreshing: Promise<void> | null = null
  /** True if files of background merges are in the bucket but not in the log yet. */
  #isRefreshed = false
  #sweptAt: number
  /** Start of the last call that reached the end of the log; null: none has. */
  #metEndAt: number | null = null
  /** Earliest time of the next checkpoint. */
  #checkpointsFrom = 0
  /** Time when everything was last sent; null: not yet. */
  #sentAt: number | null = null
  /** Time since which sending fails although the bucket answers; null: nothing failed since the last success. */
  #faultSince: number | null = null
  /** The fault logged last, and the time of the last log line about an unreachable bucket. */
  #loggedFault = ''
  #awayLoggedAt: number | null = null
  #sending: Sending | null
  #yield: Yield | null = null
  /** Names of uploads that are sent before a task references them. */
  readonly #uploading = new Set<string>()
  readonly #largeUploads = new Slots(LARGE_UPLOADS_MAX)
  /** Refusal of writes after another writer has taken over; null: none has. */
  #fenced: ApiError | null = null

  constructor(setup: SenderSetup) {
    this.#setup = setup
    this.#timing = setup.timing ?? systemTiming
    this.#pace = setup.pace ?? { garbageMs: GARBAGE_EVERY_MS, checkpointRetryMs: CHECKPOINT_RETRY_MS }
    this.#sleep = new InterruptibleSleep(this.#timing)
    this.#watchSleep = new InterruptibleSleep(this.#timing)
    this.#sending = setup.sending
    const now = this.#timing.now()
    this.#sweptAt = now
    if (setup.sending !== null) this.#metEndAt = now
  }

  start(): void {
    if (this.#setup.ack === 'bucket') this.#setup.outgoing.beforeRecord((ids) => this.#sendAhead(ids))
    this.#running ??= this.#run()
  }

  /** Sends pending changes for a bounded time, then stops. */
  async stop(): Promise<void> {
    this.#closing.abort(stopping())
    this.#ask()
    const endLimit = this.#timing.after(LAST_SENDING_MS, () => this.#stop.abort())
    const { outgoing } = this.#setup
    await outgoing.sync()
    const { last, unsent } = await outgoing.facts()
    if (unsent > 0 && this.#running !== null) await this.#until(last).catch(() => undefined)
    endLimit()
    this.#stop.abort()
    this.#ask()
    this.#watchSleep.interrupt()
    await this.#running
    await this.#watching
    await this.#sending?.shipper.end()
    await Promise.all([this.#sweeping, this.#refreshing])
  }

  /** Call this when a call to the bucket failed and is retried. */
  failed(error: BucketError): void {
    const now = this.#timing.now()
    if (this.#awayLoggedAt !== null && now - this.#awayLoggedAt < AWAY_LOG_MS) return
    this.#awayLoggedAt = now
    this.#setup.log.warn({ err: error }, 'the bucket does not answer; the call is retried')
  }

  /**
   * Requires that this server may accept a write.
   * @throws ApiError if another server has taken over, may have taken over, or is about to, or if the write would wait
   * for a bucket that does not answer
   */
  requireWritable(): void {
    if (this.#fenced !== null) throw this.#fenced
    const { isSole, ack } = this.#setup
    if (this.#sending === null && isSole !== true) throw notConfirmed()
    if (this.#isYielding) throw yielding()
    if (ack === 'bucket' && this.#isAway) throw unavailable()
  }

  /**
   * Accepts an upload before its task is stored. If acknowledgements wait for the bucket, the upload is sent now, so
   * that the log and other clients need not wait for its bytes.
   * @param bytes size of the upload
   * @returns a function to call once a task references the upload, or none will
   * @throws ApiError as `requireWritable`; the upload is removed then
   */
  async takeUpload(name: string, bytes: number): Promise<() => void> {
    const { ack, outgoing } = this.#setup
    try {
      this.requireWritable()
      const sending = this.#sending
      if (ack === 'local' || sending === null) return () => undefined
      this.#uploading.add(name)
      await this.#reachable(async (signal) => {
        // Parts of large uploads are held in memory, so their number is bounded. Small ones do not wait.
        const release = bytes > LARGE_UPLOAD_BYTES ? await this.#largeUploads.take(signal) : null
        try {
          await sending.shipper.upload(name, signal)
        } finally {
          release?.()
        }
      })
      this.requireWritable()
      return () => void this.#uploading.delete(name)
    } catch (error) {
      this.#uploading.delete(name)
      await outgoing.uploads.discard(name)
      throw error
    }
  }

  /** Resolves once the bucket has all earlier writes. @throws ApiError if the outcome is not known */
  async acknowledged(): Promise<void> {
    const facts = await this.#setup.outgoing.facts()
    if (this.#sending !== null && hasAll(this.#sending.shipper, facts)) return
    await this.#until(facts.last)
  }

  async figures(): Promise<SenderFigures> {
    const { unsent } = await this.#setup.outgoing.facts()
    const staleMs = this.#metEndAt === null ? null : this.#timing.now() - this.#metEndAt
    return {
      position: this.#sending === null ? null : this.#sending.writer.next - 1,
      unsent,
      awaySeconds: this.#awayMs / 1000,
      staleSeconds: staleMs === null ? null : staleMs / 1000,
      isConfirmed: staleMs !== null && staleMs < CONFIRMED_MS && this.#fenced === null,
      isFenced: this.#fenced !== null,
    }
  }

  /** Position of the last write of this server; null: another server may have taken over before it. */
  async position(): Promise<Position | null> {
    if (this.#sending === null || this.#fenced !== null) return null
    const { outbox, last } = await this.#setup.outgoing.facts()
    return { outbox, last, epoch: this.#sending.writer.epoch }
  }

  /**
   * Returns true if this server has all writes up to a position: its own, and those that former writers had sent before
   * it took over.
   */
  async reaches({ outbox, last, epoch }: Position): Promise<boolean> {
    const own = this.#sending?.writer.epoch ?? null
    const isLater = epoch !== null && own !== null && epoch > own
    if (isLater || this.#fenced !== null) return false
    const facts = await this.#setup.outgoing.facts()
    if (facts.outbox === outbox) return last <= facts.last
    if (own === null) return false
    return epoch === null ? (await this.figures()).isConfirmed : epoch < own
  }

  get #awayMs(): number {
    const faultMs = this.#faultSince === null ? 0 : this.#timing.now() - this.#faultSince
    return Math.max(faultMs, this.#setup.reachability.awayMs())
  }

  get #isAway(): boolean {
    return this.#awayMs >= AWAY_MS
  }

  get #isYielding(): boolean {
    return this.#yield !== null && this.#timing.now() < this.#yield.endsAt
  }

  #until(last: number): Promise<void> {
    if (this.#fenced !== null) return Promise.reject(this.#fenced)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        last,
        resolve() {
          endLimit()
          resolve()
        },
        reject(error) {
          endLimit()
          reject(error)
        },
      }
      // Clients must not wait until a call without an answer times out.
      const endLimit = this.#whenAway(() => {
        this.#waiters.delete(waiter)
        reject(unknownOutcome('the bucket does not answer'))
      })
      this.#waiters.add(waiter)
      this.#ask()
    })
  }

  /** Calls `isAway` once the bucket does not answer. Returns a function that cancels this. */
  #whenAway(isAway: () => void): () => void {
    let end: () => void = () => undefined
    const look = (): void => {
      if (this.#isAway) isAway()
      else end = this.#timing.after(AWAY_POLL_MS, look)
    }
    end = this.#timing.after(AWAY_POLL_MS, look)
    return () => end()
  }

  /**
   * Makes calls outside the log.
   * @throws ApiError if the bucket does not answer or the sender stops; errors of `work`
   */
  async #reachable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const away = new AbortController()
    const end = this.#whenAway(() => away.abort(unavailable()))
    try {
      return await work(AbortSignal.any([away.signal, this.#closing.signal]))
    } finally {
      end()
    }
  }

  /** Sends index files before the outcome of a batch is recorded, so that later writes need not wait for them. */
  async #sendAhead(ids: readonly string[]): Promise<void> {
    const sending = this.#sending
    if (sending === null || this.#fenced !== null || this.#isAway) return
    try {
      await this.#reachable(async (signal) => {
        for (const id of ids) await sending.shipper.ahead(id, signal)
      })
    } catch (error) {
      // They are sent with the log record instead.
      if (!this.#closing.signal.aborted)
        this.#setup.log.warn({ err: error }, 'index files could not be sent ahead of their log record')
    }
  }

  #ask(): void {
    this.#isAsked = true
    this.#sleep.interrupt()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted && this.#fenced === null) {
      try {
        await this.#step(signal)
      } catch (error) {
        if (signal.aborted || this.#fenced !== null) break
        if (this.#isEnd(error)) return await this.#end(addressIn(error))
        this.#fault(error)
        await this.#sleep.wait(FAILED_MS)
      }
    }
    this.#waiters.refuse(this.#fenced ?? unknownOutcome('the server stops'))
  }

  #isEnd(error: unknown): error is FencedError | SupersededError {
    return error instanceof FencedError || error instanceof SupersededError
  }

  async #connected(signal: AbortSignal): Promise<Sending> {
    if (this.#sending === null) {
      const startedAt = this.#timing.now()
      this.#sending = await this.#setup.connect(signal)
      this.#metEndAt = startedAt
    }
    this.#watching ??= this.#watch(this.#sending, signal)
    return this.#sending
  }

  /** Sends pending changes, then waits for the next ones. */
  async #step(signal: AbortSignal): Promise<void> {
    const sending = await this.#connected(signal)
    if (this.#isAsked || this.#untilSending() === 0) {
      this.#isAsked = false
      await this.#sendAll(sending, signal)
      this.#sentAt = this.#timing.now()
    }
    if (this.#isRefreshed && !this.#isAsked && this.#yield === null) {
      this.#isRefreshed = await sending.shipper.refresh(SETTLED_MS, signal)
      this.#answered()
      return
    }
    if (sending.shipper.settled(SETTLED_MS).length > 0) this.#refresh(sending)
    if (this.#timing.now() - this.#sweptAt >= this.#pace.garbageMs) this.#sweep(sending, signal)
    if (!this.#isAsked) await this.#sleep.wait(Math.min(POLL_MS, this.#untilSending()))
  }

  /** Milliseconds until changes that no client waits for are sent. */
  #untilSending(): number {
    if (this.#sentAt === null) return 0
    return Math.max(0, this.#sentAt + this.#setup.intervalMs - this.#timing.now())
  }

  async #sendAll({ shipper }: Sending, signal: AbortSignal): Promise<void> {
    for (let isSending = true; isSending; ) {
      await this.#pause()
      if (this.#fenced !== null) return
      const mayBegin = this.#yield === null && this.#timing.now() >= this.#checkpointsFrom
      if (mayBegin && shipper.isCheckpointDue) await this.#beginCheckpoint(shipper, signal)
      const startedAt = this.#timing.now()
      isSending = await this.#waiters.ship(shipper, signal)
      if (isSending) this.#metEndAt = Math.max(this.#metEndAt ?? 0, startedAt)
      this.#answered()
      if (!isSending && this.#yield !== null && this.#yield.drainsUntil > startedAt) {
        this.#yield.drainsUntil = startedAt
        this.#yield.endsAt = startedAt + YIELD_MS
        isSending = true
      }
    }
  }

  /** Pauses appends during a yield, so that another server can take over. */
  async #pause(): Promise<void> {
    while (this.#yield !== null && !this.#closing.signal.aborted && this.#fenced === null) {
      const now = this.#timing.now()
      if (now < this.#yield.drainsUntil) return
      if (now >= this.#yield.endsAt) this.#yield = null
      else await this.#sleep.wait(this.#yield.endsAt - now)
    }
  }

  /** Polls for a takeover, and for yield requests of other servers. */
  async #watch({ writer, beat = null }: Sending, signal: AbortSignal): Promise<void> {
    /** The next record at the last check for yield requests, and the id of the last request. */
    let seen = writer.next
    let known = ''
    /** The next record at the last heartbeat, and its time and number. */
    const beaten = { next: 0, at: Number.NEGATIVE_INFINITY, count: 0 }
    while (!signal.aborted && this.#fenced === null) {
      await this.#watchSleep.wait(this.#isYielding ? YIELDING_POLL_MS : YIELD_POLL_MS)
      if (signal.aborted || this.#fenced !== null) return
      try {
        const now = this.#timing.now()
        // A new log record is a sign of life too.
        if (beaten.next !== writer.next) Object.assign(beaten, { next: writer.next, at: now })
        else if (beat !== null && now - beaten.at >= HEARTBEAT_MS) {
          beaten.at = now
          await beat(++beaten.count, signal)
        }
        if (this.#isYielding || now - (this.#metEndAt ?? 0) >= POLL_MS) {
          if (await writer.look(signal)) this.#metEndAt = Math.max(this.#metEndAt ?? 0, now)
        } else if (writer.next !== seen && this.#yield === null) {
          seen = writer.next
          const id = await writer.yieldRequest(signal)
          if (id !== null && id !== known) {
            known = id
            this.#beginYield(id)
          }
        }
      } catch (error) {
        if (signal.aborted) return
        // Sending meets the same failure and logs it.
        if (this.#isEnd(error)) return await this.#end(addressIn(error))
      }
    }
  }

  #beginYield(id: string): void {
    const now = this.#timing.now()
    this.#setup.log.info({}, 'another server asks to take over: writes pause for a moment')
    this.#yield = { id, drainsUntil: now + YIELD_DRAIN_MS, endsAt: now + YIELD_DRAIN_MS + YIELD_MS }
    this.#ask()
  }

  /**
   * Starts a checkpoint, which is made while changes are sent. If it fails, as on a full disk, changes are still sent.
   */
  async #beginCheckpoint(shipper: Sending['shipper'], signal: AbortSignal): Promise<void> {
    try {
      await shipper.beginCheckpoint(signal, (failure) => {
        if (failure !== null) this.#checkpointFailed(failure)
        // Clients may wait for the first checkpoint.
        else this.#ask()
      })
    } catch (error) {
      const isOfChanges = error instanceof FencedError || error instanceof BucketError
      if (signal.aborted || isOfChanges) throw error
      this.#checkpointFailed(error)
    }
  }

  #checkpointFailed(error: unknown): void {
    this.#setup.log.error({ err: error }, 'a checkpoint could not be made; it is retried')
    this.#checkpointsFrom = this.#timing.now() + this.#pace.checkpointRetryMs
  }

  /** Notes a successful call. */
  #answered(): void {
    this.#faultSince = null
    this.#loggedFault = ''
    if (this.#awayLoggedAt === null || this.#setup.reachability.awayMs() > 0) return
    this.#awayLoggedAt = null
    this.#setup.log.info({}, 'the bucket answers again')
  }

  #fault(error: unknown): void {
    if (String(error) !== this.#loggedFault)
      this.#setup.log.error({ err: error }, 'changes could not be sent to the bucket')
    this.#loggedFault = String(error)
    this.#faultSince ??= this.#timing.now()
    this.#waiters.refuse(unknownOutcome('the bucket does not accept changes'))
  }

  /** @param address of the new leader */
  async #end(address: string | null): Promise<void> {
    if (this.#fenced !== null) return
    const refusal = notLeader(address)
    this.#fenced = refusal
    this.#closing.abort(refusal)
    this.#waiters.refuse(refusal)
    this.#setup.onFenced(this.#sending !== null)
    this.#sleep.interrupt()
    this.#watchSleep.interrupt()
    await this.#sending?.shipper.end()
  }

  /** Uploads files of background merges. `Shipper.refresh` appends the log record for them later. */
  #refresh({ shipper }: Sending): void {
    this.#refreshing ??= this.#reachable(async (signal) => {
      for (const id of shipper.settled(SETTLED_MS)) await shipper.ahead(id, signal)
    })
      .catch(() => undefined)
      .then(() => {
        this.#refreshing = null
        this.#isRefreshed = true
        this.#sleep.interrupt()
      })
  }

  #sweep(sending: Sending, signal: AbortSignal): void {
    this.#sweptAt = this.#timing.now()
    this.#sweeping ??= this.#swept(sending, signal).finally(() => {
      this.#sweeping = null
    })
  }

  async #swept({ shipper, writer, garbage }: Sending, signal: AbortSignal): Promise<void> {
    const { outgoing, log } = this.#setup
    try {
      // In this order, since an upload moves from the first set to the second when its task is stored.
      const uploads = new Set(this.#uploading)
      for (const { name } of await outgoing.uploads.needed()) uploads.add(name)
      const removed = await garbage.sweep({ keys: shipper.references(), uploads, next: writer.next }, signal)
      if (removed > 0) log.info({ removed }, 'removed garbage from the bucket')
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'garbage could not be removed from the bucket')
    }
  }
}

/** Address of the server that has taken over; null: not known. */
const addressIn = (error: FencedError | SupersededError): string | null =>
  error instanceof FencedError ? error.by.address : error.fence.address
