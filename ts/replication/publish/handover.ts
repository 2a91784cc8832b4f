import { InterruptibleSleep, type Timing } from '../interruptible-sleep.js'
import { HANDOVER_MS, HANDOVER_POLL_MS } from '../limits.js'
import type { Handee, HandoverOutcome, HandoverSetup, SenderLog } from './sender-setup.js'

/** The parts of a sender that a handover needs. */
interface HandoverSteps {
  /** Address of the successor; null: any. */
  readonly to: string | null
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
  /** The handover in progress, or the last one. */
  #running: Promise<HandoverOutcome> | null = null

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

  /** At most one handover runs. A call while it runs, and after it, gets its outcome. */
  run(setup: HandoverSetup, stop: AbortSignal, steps: HandoverSteps): Promise<HandoverOutcome> {
    this.#running ??= this.#limited(setup, stop, steps).then((outcome) => {
      // Without a successor nothing was changed, so another attempt may follow.
      if (outcome === null) this.#running = null
      return outcome
    })
    return this.#running
  }

  /** Resolves once no handover is in progress. */
  async ended(): Promise<void> {
    await this.#running
  }

  #limited(setup: HandoverSetup, stop: AbortSignal, steps: HandoverSteps): Promise<HandoverOutcome> {
    const late = new AbortController()
    const endLimit = this.#timing.after(HANDOVER_MS, () => late.abort())
    return this.#run(setup, AbortSignal.any([stop, late.signal]), steps).finally(endLimit)
  }

  async #run(setup: HandoverSetup, limit: AbortSignal, steps: HandoverSteps): Promise<HandoverOutcome> {
    const to = await setup.successor(limit, steps.to).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'no server can be found that could take over')
      return null
    })
    if (to === null) return null
    try {
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
    if (steps.isOver()) return { kind: 'done', to }
    this.#to = null
    this.#isReady = false
    this.#isNamed = false
    return { kind: 'late', to }
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
