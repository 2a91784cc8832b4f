import { InterruptibleSleep, type Timing } from '../interruptible-sleep.js'
import { HANDOVER_POLL_MS } from '../limits.js'

/** Knows until when this server certainly led: no other server had taken over at the start of a call that met the end. */
export class Confirmation {
  readonly #timing: Timing
  readonly #sleep: InterruptibleSleep
  #metEndAt: number | null = null
  /** The read of the end in progress. */
  #looking: Promise<'met' | 'busy' | 'over'> | null = null

  constructor(timing: Timing) {
    this.#timing = timing
    this.#sleep = new InterruptibleSleep(timing)
  }

  /** Start of the last call that reached the end of the log; null: none has. */
  get metEndAt(): number | null {
    return this.#metEndAt
  }

  /** @param startedAt start of the call */
  met(startedAt: number): void {
    this.#metEndAt = Math.max(this.#metEndAt ?? Number.NEGATIVE_INFINITY, startedAt)
  }

  /**
   * Waits for a read that begins now or later and reaches the end of the log. All waiting calls share it.
   * @param look reads the end. `busy`: an append in progress may show the same
   * @returns false: there was none in time
   */
  async wait(waitMs: number, look: () => Promise<'met' | 'busy' | 'over'>): Promise<boolean> {
    const askedAt = this.#timing.now()
    while (this.#timing.now() - askedAt < waitMs) {
      if (this.#metEndAt !== null && this.#metEndAt >= askedAt) return true
      this.#looking ??= this.#look(look)
      const found = await this.#looking
      if (found === 'over') return false
      if (found === 'busy') await this.#sleep.wait(HANDOVER_POLL_MS)
    }
    return false
  }

  async #look(look: () => Promise<'met' | 'busy' | 'over'>): Promise<'met' | 'busy' | 'over'> {
    const startedAt = this.#timing.now()
    try {
      const found = await look()
      if (found === 'met') this.met(startedAt)
      return found
    } finally {
      this.#looking = null
    }
  }
}
