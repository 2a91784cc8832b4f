import { setImmediate as nextTurn } from 'node:timers/promises'
import { Progress } from './progress.js'

/** How long work may hold the event loop before searches get their turn. */
const SLICE_MS = 8

/**
 * Lets searches in between the slices of a long job: `if (pacer.due()) await pacer.pause()`.
 * Two steps, so that a loop does not pay for a promise per round.
 */
export class Pacer {
  /** How far the job has come. */
  readonly progress: Progress
  private since = performance.now()

  constructor(progress = new Progress()) {
    this.progress = progress
  }

  due(): boolean {
    return performance.now() - this.since > SLICE_MS
  }

  async pause(): Promise<void> {
    await nextTurn()
    this.since = performance.now()
  }
}
