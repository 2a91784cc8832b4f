import { setImmediate as turn } from 'node:timers/promises'
import { ApiError } from '../../../errors/index.js'
import type { DisconnectSignal } from '../disconnect-signal.js'
import { REORDERING_TURN_MS } from '../limits.js'
import type { Steps } from './json-slices.js'

/** Pauses long work regularly, so that the event loop can serve other requests. */
export class Pacer {
  #since = performance.now()

  /** @param stop ends the work if the client disconnects */
  constructor(readonly stop: DisconnectSignal) {}

  /** Lets the event loop turn if its last turn was too long ago. @throws ApiError if the client disconnected */
  async pause(): Promise<void> {
    if (performance.now() - this.#since < REORDERING_TURN_MS) return
    await turn()
    if (this.stop.aborted) throw new ApiError('bad_request', 'the client disconnected')
    this.#since = performance.now()
  }

  /** Runs the steps with pauses between them. @throws ApiError if the client disconnected */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const step = steps.next()
      if (step.done) return step.value
      await this.pause()
    }
  }

  /** Converts items in their order, with pauses between them. @throws ApiError if the client disconnected */
  async map<T, U>(items: readonly T[], convert: (item: T, at: number) => U | Promise<U>): Promise<U[]> {
    const converted: U[] = []
    for (const [at, item] of items.entries()) {
      converted.push(await convert(item, at))
      await this.pause()
    }
    return converted
  }
}
