import { setImmediate as nextTurn } from 'node:timers/promises'
import { Progress } from './batch-monitor.js'

export interface Stop {
  readonly aborted: boolean
}

/** A job was stopped on request. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError'

  constructor() {
    super('the job was stopped')
  }
}

const never: Stop = { aborted: false }

/** How long a job may block the event loop before searches run. */
const SLICE_MS = 8

/**
 * Lets searches run between the slices of a long job: `if (pacer.due()) await pacer.pause()`. Two steps, so that a loop
 * does not create a promise per iteration.
 */
export class Pacer {
  /** Progress of the job. */
  readonly progress: Progress
  private readonly stop: Stop
  private since = performance.now()

  /** @param stop when aborted, the next pause throws */
  constructor(progress = new Progress(), stop: Stop = never) {
    this.progress = progress
    this.stop = stop
  }

  /** @throws StoppedError once the job was stopped */
  check(): void {
    if (this.stop.aborted) throw new StoppedError()
  }

  due(): boolean {
    return performance.now() - this.since > SLICE_MS
  }

  /** @throws StoppedError */
  async pause(): Promise<void> {
    await nextTurn()
    this.check()
    this.since = performance.now()
  }
}
