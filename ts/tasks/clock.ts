import { type Micros, now } from './time.js'

/** Time as the queue knows it: tests give it a time of their own. */
export interface Clock {
  now(): Micros
  /** Runs `done` once, after so many milliseconds, unless the returned function was called before. */
  after(ms: number, done: () => void): () => void
}

export const systemClock: Clock = {
  now,
  after(ms, done) {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  },
}
