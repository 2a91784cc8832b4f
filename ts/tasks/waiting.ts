/** Notifies callers when their tasks end, so that they need not poll the store. */
import type { StopSignal } from '../engine/index.js'
import type { TaskChanges } from './changes.js'
import type { Clock } from './clock.js'
import { TIMER_MS_MAX } from './limits.js'

/** Limits the time that a caller waits. */
export interface WaitOptions {
  /** Milliseconds; may be infinite. */
  readonly waitMs: number
  /** Ends the waiting early. */
  readonly signal?: StopSignal
}

/** A registered caller. Learns of every task that ends after its registration. */
interface Waiter {
  /** Resolves when the task has ended, at the timeout, at the signal, or when the queue stops. */
  end(options: WaitOptions): Promise<void>
  /** Removes the caller. */
  release(): void
}

/** The callers that wait for the ends of tasks. */
export class Waiting {
  /** Task uid → callbacks. */
  readonly #waiters = new Map<number, Set<() => void>>()
  readonly #clock: Clock
  #isClosed = false

  constructor(changes: TaskChanges, clock: Clock) {
    this.#clock = clock
    changes.listen(({ taskUids, hasEnded }) => {
      if (!hasEnded || this.#waiters.size === 0) return
      for (const uid of taskUids) for (const ended of this.#waiters.get(uid) ?? []) ended()
    })
  }

  /** Registers a caller; null once the queue has stopped. */
  register(uid: number): Waiter | null {
    if (this.#isClosed) return null
    let resolve = (): void => undefined
    const ended = new Promise<void>((done) => {
      resolve = done
    })
    const waiters = this.#waiters.get(uid) ?? new Set()
    this.#waiters.set(uid, waiters.add(resolve))
    return {
      end: async ({ waitMs, signal }) => {
        if (signal?.aborted) return
        signal?.addEventListener('abort', resolve)
        const stopTimer = waitMs > TIMER_MS_MAX ? () => undefined : this.#clock.after(waitMs, resolve)
        await ended
        stopTimer()
        signal?.removeEventListener('abort', resolve)
      },
      release: () => {
        waiters.delete(resolve)
        if (waiters.size === 0 && this.#waiters.get(uid) === waiters) this.#waiters.delete(uid)
      },
    }
  }

  /** Ends all waiting, and refuses later callers. */
  close(): void {
    this.#isClosed = true
    for (const waiters of this.#waiters.values()) for (const ended of waiters) ended()
  }
}
