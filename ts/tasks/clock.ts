import { type Micros, now } from './time.js'

/** The time source and timers of the queue. Simulations replace it. */
export interface Clock {
  now(): Micros
  /** Calls `done` once after `ms` milliseconds. The returned function cancels it. */
  after(ms: number, done: () => void): () => void
}

export const systemClock: Clock = {
  now,
  after(ms, done) {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  },
}
