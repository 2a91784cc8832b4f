import { BucketError, FencedError } from '../bucket/index.js'
import type { ApiError } from '../errors/index.js'
import { Alarm, systemTiming, type Timing } from './alarm.js'
import { SupersededError } from './connect.js'
import {
  AWAY_MS,
  BASE_RETRY_MS,
  CONFIRMED_MS,
  FAILED_MS,
  GARBAGE_EVERY_MS,
  LARGE_UPLOAD_BYTES,
  LARGE_UPLOADS_MAX,
  LAST_SENDING_MS,
  LOOK_MS,
  SETTLED_MS,
  TOLD_MS,
  WAITING_LOOK_MS,
  YIELD_DRAIN_MS,
  YIELD_LOOK_MS,
  YIELD_MS,
  YIELDING_LOOK_MS,
} from './limits.js'
import type { Position } from './position.js'
import { notConfirmed, notTheWriter, stopping, unavailable, unknownOutcome, yielding } from './refusals.js'
import type { Pace, SenderFigures, SenderSetup, Sending } from './sender-setup.js'
import { Slots } from './slots.js'
import { hasAll, type Waiter, Waiters } from './waiters.js'

/** A pause in which another server can take over. */
interface Yield {
  /** Of the request for it. */
  readonly id: string
  /** Until when what is here is sent on. */
  drainsUntil: number
  endsAt: number
}

/** Sends what changes as long as the server runs, makes bases, and removes garbage. */
export class Sender {
  readonly #setup: SenderSetup
  readonly #timing: Timing
  readonly #pace: Pace
  readonly #stop = new AbortController()
  /** Aborts what clients and batches wait for next to the log. */
  readonly #closing = new AbortController()
  readonly #waiters = new Waiters()
  #isAsked = false
  readonly #alarm: Alarm
  readonly #watchAlarm: Alarm
  #running: Promise<void> | null = null
  #watching: Promise<void> | null = null
  #sweeping: Promise<void> | null = null
  #refreshing: Promise<void> | null = null
  /** Whether files that an index got in the background are in the bucket, and no entry tells of them. */
  #isRefreshed = false
  #sweptAt: number
  /** When the last call began that met the end of the log; null: none has. */
  #metEndAt: number | null = null
  /** When a base may be made next. */
  #basesFrom = 0
  /** When everything was sent last; null: not yet. */
  #sentAt: number | null = null
  /** When sending failed for another reason than calls without an answer; null: nothing has failed since an entry was sent. */
  #faultSince: number | null = null
  /** The failure that was logged last, and when one was logged that the bucket does not answer. */
  #told = ''
  #toldAwayAt: number | null = null
  #sending: Sending | null
  #yield: Yield | null = null
  /** Names of uploads that are sent before a task names them. */
  readonly #uploading = new Set<string>()
  readonly #largeUploads = new Slots(LARGE_UPLOADS_MAX)
  /** The refusal of writes since another writer has taken over. */
  #fenced: ApiError | null = null

  constructor(setup: SenderSetup) {
    this.#setup = setup
    this.#timing = setup.timing ?? systemTiming
    this.#pace = setup.pace ?? { garbageMs: GARBAGE_EVERY_MS, baseRetryMs: BASE_RETRY_MS }
    this.#alarm = new Alarm(this.#timing)
    this.#watchAlarm = new Alarm(this.#timing)
    this.#sending = setup.sending
    const now = this.#timing.now()
    this.#sweptAt = now
    if (setup.sending !== null) this.#metEndAt = now
  }

  start(): void {
    if (this.#setup.ack === 'bucket') this.#setup.outgoing.beforeRecord((ids) => this.#sendAhead(ids))
    this.#running ??= this.#run()
  }

  /** Goes on for a bounded time until the bucket has everything, then ends. */
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
    this.#watchAlarm.ring()
    await this.#running
    await this.#watching
    await this.#sending?.shipper.end()
    await Promise.all([this.#sweeping, this.#refreshing])
  }

  /** Call it when a call to the bucket failed and is made again. */
  failed(error: BucketError): void {
    const now = this.#timing.now()
    if (this.#toldAwayAt !== null && now - this.#toldAwayAt < TOLD_MS) return
    this.#toldAwayAt = now
    this.#setup.log.warn({ err: error }, 'the bucket does not answer; it is asked again')
  }

  /**
   * Requires that this server may take a write.
   * @throws ApiError once another server has taken over, while it is not known whether one has, while one is about to, or
   * while a write that waits for the bucket would wait in vain
   */
  requireWritable(): void {
    if (this.#fenced !== null) throw this.#fenced
    const { isSole, ack } = this.#setup
    if (this.#sending === null && isSole !== true) throw notConfirmed()
    if (this.#isYielding) throw yielding()
    if (ack === 'bucket' && this.#isAway) throw unavailable()
  }

  /**
   * Takes in an upload that a task is about to name. If clients wait for the bucket, it is sent now: so the log, and all who
   * wait for it, need not wait for its bytes.
   * @param bytes of the upload
   * @returns to be called once a task names it, or none will
   * @throws ApiError as `requireWritable`; then the upload is removed
   */
  async takeUpload(name: string, bytes: number): Promise<() => void> {
    const { ack, outgoing } = this.#setup
    try {
      this.requireWritable()
      const sending = this.#sending
      if (ack === 'local' || sending === null) return () => undefined
      this.#uploading.add(name)
      await this.#reachable(async (signal) => {
        // Parts of each are held in memory. Short ones wait for none of the others.
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

  /** Resolves once the bucket has all that was written before. @throws ApiError if that is not known */
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

  /** Up to where this server has written; null: another one may have taken over from it before. */
  async position(): Promise<Position | null> {
    if (this.#sending === null || this.#fenced !== null) return null
    const { outbox, last } = await this.#setup.outgoing.facts()
    return { outbox, last, epoch: this.#sending.writer.epoch }
  }

  /**
   * Whether this server has what was written up to a position: what it wrote itself, and what those had sent that it has taken
   * over from.
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
      // A call that is never answered fails later than those who wait for it should know.
      const endLimit = this.#whenAway(() => {
        this.#waiters.delete(waiter)
        reject(unknownOutcome('the bucket does not answer'))
      })
      this.#waiters.add(waiter)
      this.#ask()
    })
  }

  /** Calls `isAway` once if the bucket is away, or comes to be. @returns ends that */
  #whenAway(isAway: () => void): () => void {
    let end: () => void = () => undefined
    const look = (): void => {
      if (this.#isAway) isAway()
      else end = this.#timing.after(WAITING_LOOK_MS, look)
    }
    end = this.#timing.after(WAITING_LOOK_MS, look)
    return () => end()
  }

  /** Carries out calls next to the log. @throws ApiError if they are ended because the bucket is away, among others */
  async #reachable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const away = new AbortController()
    const end = this.#whenAway(() => away.abort(unavailable()))
    try {
      return await work(AbortSignal.any([away.signal, this.#closing.signal]))
    } finally {
      end()
    }
  }

  /** Sends files of indexes before the outcome of a batch is recorded, so that what is written after it need not wait for them. */
  async #sendAhead(ids: readonly string[]): Promise<void> {
    const sending = this.#sending
    if (sending === null || this.#fenced !== null || this.#isAway) return
    try {
      await this.#reachable(async (signal) => {
        for (const id of ids) await sending.shipper.ahead(id, signal)
      })
    } catch (error) {
      // They are sent with the entry.
      if (!this.#closing.signal.aborted)
        this.#setup.log.warn({ err: error }, 'files of an index could not be sent ahead of their entry')
    }
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
      } catch (error) {
        if (signal.aborted || this.#fenced !== null) break
        if (this.#isEnd(error)) return await this.#end(addressIn(error))
        this.#fault(error)
        await this.#alarm.wait(FAILED_MS)
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

  /** Sends what waits, and waits. */
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
    if (!this.#isAsked) await this.#alarm.wait(Math.min(LOOK_MS, this.#untilSending()))
  }

  /** Milliseconds until changes are sent that no client waits for. */
  #untilSending(): number {
    if (this.#sentAt === null) return 0
    return Math.max(0, this.#sentAt + this.#setup.intervalMs - this.#timing.now())
  }

  async #sendAll({ shipper }: Sending, signal: AbortSignal): Promise<void> {
    for (let isSending = true; isSending; ) {
      await this.#pause()
      if (this.#fenced !== null) return
      const mayBegin = this.#yield === null && this.#timing.now() >= this.#basesFrom
      if (mayBegin && shipper.isBaseDue) await this.#beginBase(shipper, signal)
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

  /** Appends nothing for a moment, so that another server can take over. */
  async #pause(): Promise<void> {
    while (this.#yield !== null && !this.#closing.signal.aborted && this.#fenced === null) {
      const now = this.#timing.now()
      if (now < this.#yield.drainsUntil) return
      if (now >= this.#yield.endsAt) this.#yield = null
      else await this.#alarm.wait(this.#yield.endsAt - now)
    }
  }

  /** Looks from time to time whether the log is still this writer's, and whether another server asks for it. */
  async #watch({ writer }: Sending, signal: AbortSignal): Promise<void> {
    /** What was appended when it was looked for requests last, and the last of them. */
    let seen = writer.next
    let known = ''
    while (!signal.aborted && this.#fenced === null) {
      await this.#watchAlarm.wait(this.#isYielding ? YIELDING_LOOK_MS : YIELD_LOOK_MS)
      if (signal.aborted || this.#fenced !== null) return
      try {
        const now = this.#timing.now()
        if (this.#isYielding || now - (this.#metEndAt ?? 0) >= LOOK_MS) {
          if (await writer.look(signal)) this.#metEndAt = Math.max(this.#metEndAt ?? 0, now)
        } else if (writer.next !== seen && this.#yield === null) {
          seen = writer.next
          const id = await writer.yieldAsked(signal)
          if (id !== null && id !== known) {
            known = id
            this.#beginYield(id)
          }
        }
      } catch (error) {
        if (signal.aborted) return
        // The same failure meets what is sent.
        if (this.#isEnd(error)) return await this.#end(addressIn(error))
      }
    }
  }

  #beginYield(id: string): void {
    const now = this.#timing.now()
    this.#setup.log.info({}, 'another server asks to take over: nothing is written for a moment')
    this.#yield = { id, drainsUntil: now + YIELD_DRAIN_MS, endsAt: now + YIELD_DRAIN_MS + YIELD_MS }
    this.#ask()
  }

  /** Begins a base, which is made beside changes. One that fails, as on a disk without room for its image, holds up none. */
  async #beginBase(shipper: Sending['shipper'], signal: AbortSignal): Promise<void> {
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
    this.#basesFrom = this.#timing.now() + this.#pace.baseRetryMs
  }

  /** The bucket has what was to be sent. */
  #answered(): void {
    this.#faultSince = null
    this.#told = ''
    if (this.#toldAwayAt === null || this.#setup.reachability.awayMs() > 0) return
    this.#toldAwayAt = null
    this.#setup.log.info({}, 'the bucket answers again')
  }

  #fault(error: unknown): void {
    if (String(error) !== this.#told)
      this.#setup.log.error({ err: error }, 'changes could not be sent to the bucket')
    this.#told = String(error)
    this.#faultSince ??= this.#timing.now()
    this.#waiters.refuse(unknownOutcome('the bucket does not take what is sent'))
  }

  /** @param address of the server that has taken over */
  async #end(address: string | null): Promise<void> {
    if (this.#fenced !== null) return
    const refusal = notTheWriter(address)
    this.#fenced = refusal
    this.#closing.abort(refusal)
    this.#waiters.refuse(refusal)
    this.#setup.onFenced(this.#sending !== null)
    this.#alarm.ring()
    this.#watchAlarm.ring()
    await this.#sending?.shipper.end()
  }

  /** Sends files that indexes got in the background, which an entry tells of then. */
  #refresh({ shipper }: Sending): void {
    this.#refreshing ??= this.#reachable(async (signal) => {
      for (const id of shipper.settled(SETTLED_MS)) await shipper.ahead(id, signal)
    })
      .catch(() => undefined)
      .then(() => {
        this.#refreshing = null
        this.#isRefreshed = true
        this.#alarm.ring()
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
      // In this order, since a task may come to need one of the former meanwhile.
      const uploads = new Set(this.#uploading)
      for (const { name } of await outgoing.uploads.needed()) uploads.add(name)
      const removed = await garbage.sweep({ keys: shipper.references(), uploads, next: writer.next }, signal)
      if (removed > 0) log.info({ removed }, 'removed objects of no use from the bucket')
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'objects of no use could not be removed from the bucket')
    }
  }
}

/** Where the server is reached that has taken over; null: not known. */
const addressIn = (error: FencedError | SupersededError): string | null =>
  error instanceof FencedError ? error.by.address : error.fence.address
