/** The time that sending works by. Simulations replace it. */
export interface Timing {
  /** Milliseconds by a monotonic clock. */
  now(): number
  /** Runs `done` once, `ms` milliseconds from now, unless the returned function is called before. */
  after(ms: number, done: () => void): () => void
}

export const systemTiming: Timing = {
  now: () => performance.now(),
  after(ms, done) {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  },
}

/** Interruptible sleep. */
export class Alarm {
  readonly #timing: Timing
  #ring: () => void = () => undefined

  constructor(timing: Timing = systemTiming) {
    this.#timing = timing
  }

  /** Resolves after so long, or at the next `ring`. */
  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#timing.after(ms, resolve)
      this.#ring = () => {
        cancel()
        resolve()
      }
    })
    this.#ring = () => undefined
  }

  /** Ends the pause under way; does nothing without one. */
  ring(): void {
    this.#ring()
  }
}
