import { ApiError } from '../../errors/index.js'
import { type Disconnect, type OnGone, untilGone } from './disconnect.js'

export interface SearchQueueLimits {
  readonly searchesRunningMax: number
  readonly searchesWaitingMax: number
  readonly searchWaitMsMax: number
}

interface Waiter {
  readonly holder: string
  readonly admit: () => void
  readonly refuse: () => void
}

/**
 * Lets a bounded number of searches run and a bounded number wait.
 *
 * Turns go round the waiting holders (API keys), so that one busy key cannot starve the others. When
 * the waiting room is full, the newest search of the holder with most of them gives way if the newcomer
 * holds at least two places fewer; otherwise the newcomer is refused.
 */
export class SearchQueue {
  readonly #limits: SearchQueueLimits
  /** Waiting searches by holder; the first holder is served next. */
  readonly #waiting = new Map<string, Waiter[]>()
  #running = 0
  #waitingCount = 0

  constructor(limits: SearchQueueLimits) {
    this.#limits = limits
  }

  /** Figures for metrics. */
  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waitingCount
  }

  /**
   * Runs `search` when its turn comes.
   * @param onGone when its client is gone, a search gives up its place or, running, is told so
   * @throws ApiError `too_many_search_requests`
   */
  async run<T>(holder: string, onGone: OnGone, search: (stop: Disconnect) => Promise<T>): Promise<T> {
    if (this.#running >= this.#limits.searchesRunningMax) await this.#wait(holder, onGone)
    else this.#running += 1
    try {
      return await untilGone(onGone, search, () => tooMany(this.#limits))
    } finally {
      this.#running -= 1
      this.#admitNext()
    }
  }

  #wait(holder: string, onGone: OnGone): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (): void => reject(tooMany(this.#limits))
      if (this.#waitingCount >= this.#limits.searchesWaitingMax && !this.#makeRoomFor(holder)) {
        refuse()
        return
      }
      const leave = (): void => {
        if (this.#remove(waiter)) waiter.refuse()
      }
      const timer = setTimeout(leave, this.#limits.searchWaitMsMax)
      timer.unref()
      const stopListening = onGone(leave)
      const settle = (then: () => void) => (): void => {
        clearTimeout(timer)
        stopListening()
        then()
      }
      const waiter: Waiter = { holder, admit: settle(resolve), refuse: settle(refuse) }
      const queue = this.#waiting.get(holder)
      if (queue === undefined) this.#waiting.set(holder, [waiter])
      else queue.push(waiter)
      this.#waitingCount += 1
    })
  }

  /** Refuses one search of the busiest holder, if that leaves it no worse off than the newcomer. */
  #makeRoomFor(holder: string): boolean {
    const own = this.#waiting.get(holder)?.length ?? 0
    let busiest: Waiter[] = []
    for (const queue of this.#waiting.values()) if (queue.length > busiest.length) busiest = queue
    const newest = busiest.at(-1)
    if (newest === undefined || busiest.length < own + 2) return false
    this.#remove(newest)
    newest.refuse()
    return true
  }

  #admitNext(): void {
    if (this.#running >= this.#limits.searchesRunningMax) return
    const [entry] = this.#waiting
    const next = entry?.[1][0]
    if (entry === undefined || next === undefined) return
    const [holder, queue] = entry
    this.#remove(next)
    // Back to the end of the round, if it has more.
    if (queue.length > 0) {
      this.#waiting.delete(holder)
      this.#waiting.set(holder, queue)
    }
    this.#running += 1
    next.admit()
  }

  #remove(waiter: Waiter): boolean {
    const queue = this.#waiting.get(waiter.holder)
    const place = queue?.indexOf(waiter) ?? -1
    if (queue === undefined || place === -1) return false
    queue.splice(place, 1)
    if (queue.length === 0) this.#waiting.delete(waiter.holder)
    this.#waitingCount -= 1
    return true
  }
}

function tooMany(limits: SearchQueueLimits): ApiError {
  return new ApiError(
    'too_many_search_requests',
    `too many searches at once: ${limits.searchesWaitingMax} may wait, each for ${limits.searchWaitMsMax} ms`,
  )
}
