import { type Micros, now } from './time.js'

/** The time that the queue works by. Simulations replace it. */
export interface Clock {
  now(): Micros
  /** Runs `done` once, `ms` milliseconds from now, unless the returned function is called before. */
  after(ms: number, done: () => void): () => void
}

export const systemClock: Clock = {
  now,
  after(ms, done) {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  },
}
