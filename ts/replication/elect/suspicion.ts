import { SILENT_MS, SILENT_POLLS_MIN } from './limits.js'

/** Decides by the clock of this machine if the leader is silent. A wrong decision costs availability, never data. */
export class Suspicion {
  #sign: string | null = null
  #since = 0
  #polls = 0

  /**
   * Notes a successful poll.
   * @param sign changes whenever the leader gives a sign of life
   * @param heardAt when it did so, if known
   */
  polled(now: number, sign: string, heardAt: number = now): void {
    if (sign === this.#sign) this.#polls++
    else this.heard(heardAt)
    this.#sign = sign
  }

  /** Notes a sign of life. */
  heard(now: number): void {
    this.#since = now
    this.#polls = 0
  }

  isSilent(now: number): boolean {
    return this.#polls >= SILENT_POLLS_MIN && now - this.#since >= SILENT_MS
  }
}
