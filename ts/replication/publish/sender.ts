import type { ApiError } from '../../errors/index.js'
import { HEARTBEAT_MS } from '../elect/limits.js'
import { InterruptibleSleep, systemTiming, type Timing } from '../interruptible-sleep.js'
import { notConfirmed, notLeader, stopping, unavailable, unknownOutcome, yielding } from '../lead/refusals.js'
import {
  CHECKPOINT_RETRY_MS,
  CONFIRMED_MS,
  FAILED_MS,
  GARBAGE_EVERY_MS,
  HANDOVER_POLL_MS,
  HINT_ANSWER_MS,
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
import { Confirmation } from './confirmation.js'
import { Handover } from './handover.js'
import { Outage } from './outage.js'
import type { HandoverOutcome, Pace, SenderFigures, SenderSetup, Sending, Yield } from './sender-setup.js'
import { Sweeper } from './sweeper.js'
import { addressIn, isTakeover } from './takeover.js'

/** Sends changes until `stop` is called, makes checkpoints, and removes garbage. */
export class Sender {
  readonly #setup: SenderSetup
  readonly #timing: Timing
  readonly #pace: Pace
  readonly #stop = new AbortController()
  /** Aborts uploads outside the log that clients and batches wait for. */
  readonly #closing = new AbortController()
  readonly #waiters = new Waiters()
  readonly #outage: Outage
  #isAsked = false
  readonly #sleep: InterruptibleSleep
  readonly #watchSleep: InterruptibleSleep
  #running: Promise<void> | null = null
  #watching: Promise<void> | null = null
  readonly #sweeper: Sweeper
  #refreshing: Promise<void> | null = null
  /** True if files of background merges are in the bucket but not in the log yet. */
  #isRefreshed = false
  readonly #confirmation: Confirmation
  /** Earliest time of the next checkpoint. */
  #checkpointsFrom = 0
  /** Time when everything was last sent; null: not yet. */
  #sentAt: number | null = null
  #sending: Sending | null
  #yield: Yield | null = null
  readonly #handover: Handover
  /** Writes that are being stored. */
  #writing = 0
  #successorAddress: string | null = null
  /** Names of uploads that are sent before a task references them. */
  readonly #uploading = new Set<string>()
  readonly #largeUploads = new Slots(LARGE_UPLOADS_MAX)
  /** Refusal of writes after another writer has taken over; null: none has. */
  #fenced: ApiError | null = null

  constructor(setup: SenderSetup) {
    this.#setup = setup
    this.#timing = setup.timing ?? systemTiming
    this.#pace = setup.pace ?? { garbageMs: GARBAGE_EVERY_MS, checkpointRetryMs: CHECKPOINT_RETRY_MS }
    this.#outage = new Outage(setup.reachability, setup.log, this.#timing)
    this.#sweeper = new Sweeper(setup, this.#pace.garbageMs, this.#timing)
    this.#sleep = new InterruptibleSleep(this.#timing)
    this.#watchSleep = new InterruptibleSleep(this.#timing)
    this.#handover = new Handover(this.#timing, setup.log)
    this.#sending = setup.sending
    this.#confirmation = new Confirmation(this.#timing)
    if (setup.sending !== null) this.#confirmation.met(this.#timing.now())
  }

  start(): void {
    if (this.#setup.ack === 'bucket') this.#setup.outgoing.beforeRecord((ids) => this.#sendAhead(ids))
    this.#running ??= this.#run()
  }

  /** Sends pending changes for a bounded time, then stops. */
  async stop(): Promise<void> {
    this.#closing.abort(stopping())
    this.ask()
    const endLimit = this.#timing.after(LAST_SENDING_MS, () => this.#stop.abort())
    const { outgoing } = this.#setup
    // A task store whose disk has failed makes nothing durable.
    const facts = await outgoing.sync().then(outgoing.facts, () => null)
    const isWorthWaiting = facts !== null && facts.unsent > 0 && this.#running !== null
    if (isWorthWaiting) await this.#until(facts.last).catch(() => undefined)
    endLimit()
    this.#stop.abort()
    this.ask()
    this.#watchSleep.interrupt()
    await this.#running
    await this.#watching
    await this.#sending?.shipper.end()
    await Promise.all([this.#sweeper.ended(), this.#refreshing])
  }

  /**
   * Lets another server take over: refuses writes, sends everything, and names the successor in the log. If it is late,
   * batches stay stopped until a restart.
   * @param to address of the successor; null: any
   */
  async handOver(to: string | null = null): Promise<HandoverOutcome> {
    const { handover, outgoing } = this.#setup
    const isReady = this.#sending !== null && this.#fenced === null && !this.#outage.isAway
    if (handover === undefined || !isReady) return null
    return this.#handover.run(handover, this.#stop.signal, {
      to,
      areStored: () => this.#writing === 0,
      isOver: () => this.#fenced !== null,
      store: () => outgoing.sync(),
      send: () => this.ask(),
    })
  }

  /** Call this when a call to the bucket failed and is retried. */
  failed(error: BucketError): void {
    this.#outage.retried(error)
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
    if (this.#isYielding || this.#handover.isBegun) throw yielding()
    if (ack === 'bucket' && this.#outage.isAway) throw unavailable()
  }

  /**
   * Stores a write. A handover waits for it.
   * @throws ApiError as `requireWritable`; errors of `store`
   */
  async write<T>(store: () => Promise<T>): Promise<T> {
    this.requireWritable()
    return this.#stored(store)
  }

  /**
   * Stores a write of this server itself. It waits for a handover in progress, so that the bucket lacks no change of a
   * server that has handed over.
   * @throws ApiError if another server has taken over; errors of `store`
   */
  async note<T>(store: () => Promise<T>): Promise<T> {
    if (this.#handover.isBegun) await this.#handover.ended()
    if (this.#fenced !== null) throw this.#fenced
    return this.#stored(store)
  }

  async #stored<T>(store: () => Promise<T>): Promise<T> {
    this.#writing++
    try {
      return await store()
    } finally {
      this.#writing--
    }
  }

  /**
   * Waits while a handover is in progress.
   * @returns address of the server that has taken over; `self`: none has; null: it has no address
   */
  async leader(): Promise<string | null | 'self'> {
    await this.#handover.ended()
    return this.#fenced === null ? 'self' : this.#successorAddress
  }

  /** See `Confirmation`. @returns false: this server does not lead, or that is not known in time */
  confirms(waitMs: number): Promise<boolean> {
    const sending = this.#sending
    return this.#confirmation.wait(waitMs, async () => {
      if (sending === null || this.#fenced !== null) return 'over'
      try {
        return (await sending.writer.look(this.#stop.signal)) ? 'met' : 'busy'
      } catch (error) {
        if (isTakeover(error)) await this.#end(addressIn(error))
        return 'busy'
      }
    })
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
      await this.#outage.reachable(this.#closing.signal, async (signal) => {
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
    const { metEndAt } = this.#confirmation
    const staleMs = metEndAt === null ? null : this.#timing.now() - metEndAt
    return {
      position: this.#sending === null ? null : this.#sending.writer.next - 1,
      unsent,
      awaySeconds: this.#outage.awayMs / 1000,
      staleSeconds: staleMs === null ? null : staleMs / 1000,
      isConfirmed: staleMs !== null && staleMs < CONFIRMED_MS && this.#fenced === null,
      hasCheckpoint: (this.#sending?.shipper.newestCheckpoint ?? -1) !== -1,
      // Writes that were acknowledged before the bucket has them would be lost.
      isReplaceable: this.#outage.isAway && (this.#setup.ack === 'bucket' || unsent === 0),
    }
  }

  /** True if this server does not reach the bucket, so that it cannot know of new log records. */
  get isCutOff(): boolean {
    return this.#outage.awayMs > HINT_ANSWER_MS
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

  get #isYielding(): boolean {
    return this.#yield !== null && this.#timing.now() < this.#yield.endsAt
  }

  #until(last: number): Promise<void> {
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
      const endLimit = this.#outage.whenAway(() => {
        this.#waiters.delete(waiter)
        reject(unknownOutcome('the bucket does not answer'))
      })
      this.#waiters.add(waiter)
      this.ask()
    })
  }

  /** Sends index files before the outcome of a batch is recorded, so that later writes need not wait for them. */
  async #sendAhead(ids: readonly string[]): Promise<void> {
    const sending = this.#sending
    if (sending === null || this.#fenced !== null || this.#outage.isAway) return
    try {
      await this.#outage.reachable(this.#closing.signal, async (signal) => {
        for (const id of ids) await sending.shipper.ahead(id, signal)
      })
    } catch (error) {
      // They are sent with the log record instead.
      if (!this.#closing.signal.aborted)
        this.#setup.log.warn({ err: error }, 'index files could not be sent ahead of their log record')
    }
  }

  /** Sends pending changes at once. */
  ask(): void {
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
        if (isTakeover(error)) return await this.#end(addressIn(error))
        this.#fault(error)
        await this.#sleep.wait(FAILED_MS)
      }
    }
    this.#waiters.close(unknownOutcome('the server stops'))
  }

  async #connected(signal: AbortSignal): Promise<Sending> {
    if (this.#sending === null) {
      const startedAt = this.#timing.now()
      this.#sending = await this.#setup.connect(signal)
      this.#confirmation.met(startedAt)
    }
    this.#watching ??= this.#watch(this.#sending, signal)
    return this.#sending
  }

  /** Sends pending changes, then waits for the next ones. */
  async #step(signal: AbortSignal): Promise<void> {
    const sending = await this.#connected(signal)
    if (this.#isAsked || this.#untilSending() === 0) {
      this.#isAsked = false
      // Read before sending: changes that are stored during it would otherwise follow the handover.
      const { isReady } = this.#handover
      await this.#sendAll(sending, signal)
      if (isReady) await this.#nameSuccessor(sending, signal)
      this.#sentAt = this.#timing.now()
    }
    if (this.#isRefreshed && !this.#isAsked && this.#yield === null && !this.#handover.isBegun) {
      this.#isRefreshed = await sending.shipper.refresh(SETTLED_MS, signal)
      this.#outage.answered()
      return
    }
    if (sending.shipper.settled(SETTLED_MS).length > 0) this.#refresh(sending)
    if (this.#sweeper.isDue) this.#sweeper.begin(sending, this.#uploading, signal)
    if (!this.#isAsked) await this.#sleep.wait(Math.min(POLL_MS, this.#untilSending()))
  }

  async #nameSuccessor({ shipper }: Sending, signal: AbortSignal): Promise<void> {
    if (await this.#handover.name((to) => shipper.handOver(to, signal))) this.#watchSleep.interrupt()
  }

  /** Milliseconds until changes that no client waits for are sent. */
  #untilSending(): number {
    if (this.#sentAt === null) return 0
    return Math.max(0, this.#sentAt + this.#setup.intervalMs - this.#timing.now())
  }

  async #sendAll({ shipper }: Sending, signal: AbortSignal): Promise<void> {
    for (let isSending = true; isSending && !this.#handover.isNamed; ) {
      await this.#pause()
      if (this.#fenced !== null) return
      const mayBegin =
        this.#yield === null && !this.#handover.isBegun && this.#timing.now() >= this.#checkpointsFrom
      if (mayBegin && shipper.isCheckpointDue) await this.#beginCheckpoint(shipper, signal)
      const startedAt = this.#timing.now()
      isSending = await this.#waiters.ship(shipper, signal)
      if (isSending) this.#confirmation.met(startedAt)
      this.#outage.answered()
      if (!isSending && this.#yield !== null && this.#yield.drainsUntil > startedAt) {
        this.#yield.drainsUntil = startedAt
        this.#yield.endsAt = startedAt + YIELD_MS
        isSending = true
      }
    }
  }

  /** Pauses appends during a yield. */
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
      await this.#watchSleep.wait(this.#watchMs)
      if (signal.aborted || this.#fenced !== null) return
      try {
        const now = this.#timing.now()
        // A new log record is a sign of life too.
        if (beaten.next !== writer.next) Object.assign(beaten, { next: writer.next, at: now })
        else if (beat !== null && now - beaten.at >= HEARTBEAT_MS) {
          beaten.at = now
          await beat(++beaten.count, signal)
        }
        if (
          this.#isYielding ||
          this.#handover.isNamed ||
          now - (this.#confirmation.metEndAt ?? 0) >= POLL_MS
        ) {
          if (await writer.look(signal)) this.#confirmation.met(now)
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
        if (isTakeover(error)) return await this.#end(addressIn(error))
      }
    }
  }

  get #watchMs(): number {
    if (this.#handover.isNamed) return HANDOVER_POLL_MS
    return this.#isYielding ? YIELDING_POLL_MS : YIELD_POLL_MS
  }

  #beginYield(id: string): void {
    const now = this.#timing.now()
    this.#setup.log.info({}, 'another server asks to take over: writes pause for a moment')
    this.#yield = { id, drainsUntil: now + YIELD_DRAIN_MS, endsAt: now + YIELD_DRAIN_MS + YIELD_MS }
    this.ask()
  }

  /** Starts a checkpoint, which is made while changes are sent. If it fails, sending continues. */
  async #beginCheckpoint(shipper: Sending['shipper'], signal: AbortSignal): Promise<void> {
    try {
      await shipper.beginCheckpoint(signal, (failure) => {
        if (failure !== null) this.#checkpointFailed(failure)
        // Clients may wait for the first checkpoint.
        else this.ask()
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

  #fault(error: unknown): void {
    this.#outage.failed(error)
    this.#waiters.refuse(unknownOutcome('the bucket does not accept changes'))
  }

  /** @param address of the new leader */
  async #end(address: string | null): Promise<void> {
    if (this.#fenced !== null) return
    this.#fenced = notLeader(address)
    this.#successorAddress = address
    this.#closing.abort(yielding())
    this.#waiters.close(unknownOutcome('another server has taken over'))
    this.#setup.onFenced(this.#sending !== null)
    this.#sleep.interrupt()
    this.#watchSleep.interrupt()
    this.#handover.interrupt()
    await this.#sending?.shipper.end()
  }

  /** Uploads files of background merges. `Shipper.refresh` appends the log record for them later. */
  #refresh({ shipper }: Sending): void {
    this.#refreshing ??= this.#outage
      .reachable(this.#closing.signal, async (signal) => {
        for (const id of shipper.settled(SETTLED_MS)) await shipper.ahead(id, signal)
      })
      .catch(() => undefined)
      .then(() => {
        this.#refreshing = null
        this.#isRefreshed = true
        this.#sleep.interrupt()
      })
  }
}
