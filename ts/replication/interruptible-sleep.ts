/** Clock and timers of replication. Simulations replace them. */
export interface Timing {
  /** Milliseconds by a monotonic clock. */
  now(): number
  /** Calls `done` once after `ms` milliseconds. The returned function cancels it. */
  after(ms: number, done: () => void): () => void
}

export const systemTiming: Timing = {
  now: () => performance.now(),
  after(ms, done) {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  },
}

export class InterruptibleSleep {
  readonly #timing: Timing
  #interrupt: () => void = () => undefined

  constructor(timing: Timing = systemTiming) {
    this.#timing = timing
  }

  /** Resolves after `ms` milliseconds or at the next `interrupt`. */
  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#timing.after(ms, resolve)
      this.#interrupt = () => {
        cancel()
        resolve()
      }
    })
    this.#interrupt = () => undefined
  }

  /** Ends the current wait, if any. */
  interrupt(): void {
    this.#interrupt()
  }
}
