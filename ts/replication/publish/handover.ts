import { InterruptibleSleep, type Timing } from '../interruptible-sleep.js'
import { HANDOVER_MS, HANDOVER_POLL_MS } from '../limits.js'
import type { Handee, HandoverSetup, SenderLog } from './sender-setup.js'

/** The parts of a sender that a handover needs. */
export interface HandoverSteps {
  /** Returns true if no write is being stored. */
  readonly areStored: () => boolean
  /** Makes all writes so far durable. */
  readonly store: () => Promise<void>
  /** Sends them. `name` is called after the last one. */
  readonly send: () => void
  /** Returns true once another server has taken over. */
  readonly isOver: () => boolean
}

/** A planned takeover by another server. */
export class Handover {
  readonly #log: SenderLog
  readonly #timing: Timing
  readonly #sleep: InterruptibleSleep
  #to: Handee | null = null
  #isReady = false
  #isNamed = false
  /** Resolves once no handover is in progress. */
  done: Promise<unknown> = Promise.resolve()

  constructor(timing: Timing, log: SenderLog) {
    this.#timing = timing
    this.#sleep = new InterruptibleSleep(timing)
    this.#log = log
  }

  /** True while writes are refused, so that another server can take over. */
  get isBegun(): boolean {
    return this.#to !== null
  }

  /** True once all writes are stored, so that they can be sent and the successor be named. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** True once the log names the successor. Nothing is appended after that. */
  get isNamed(): boolean {
    return this.#isNamed
  }

  /** @returns false: there is no successor, or it has not taken over in time */
  run(setup: HandoverSetup, stop: AbortSignal, steps: HandoverSteps): Promise<boolean> {
    const late = new AbortController()
    const endLimit = this.#timing.after(HANDOVER_MS, () => late.abort())
    const done = this.#run(setup, AbortSignal.any([stop, late.signal]), steps).finally(endLimit)
    this.done = done
    return done
  }

  async #run(setup: HandoverSetup, limit: AbortSignal, steps: HandoverSteps): Promise<boolean> {
    try {
      const to = await setup.successor(limit)
      if (to === null) return false
      this.#log.info({ to: to.id }, 'another server is asked to take over')
      this.#to = to
      await setup.stopBatches()
      while (!steps.areStored() && !limit.aborted) await this.#sleep.wait(HANDOVER_POLL_MS)
      await steps.store()
      this.#isReady = true
      steps.send()
      while (!steps.isOver() && !limit.aborted) await this.#sleep.wait(HANDOVER_POLL_MS)
    } catch (error) {
      this.#log.warn({ err: error }, 'the handover failed')
    }
    if (!steps.isOver()) {
      this.#to = null
      this.#isReady = false
      this.#isNamed = false
    }
    return steps.isOver()
  }

  /** Names the successor in the log, if a handover is in progress. @returns true if it did */
  async name(append: (to: string) => Promise<void>): Promise<boolean> {
    if (this.#to === null || this.#isNamed) return false
    this.#isNamed = true
    await append(this.#to.id)
    this.#to.nudge()
    return true
  }

  /** Ends a wait, because another server has taken over. */
  interrupt(): void {
    this.#sleep.interrupt()
  }
}
