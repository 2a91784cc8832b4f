import { ApiError } from '../../errors/index.js'
import type { DisconnectSignal } from '../../operations/index.js'
import { type OnDisconnect, untilDisconnected } from './disconnect.js'
import { SlotSignal } from './slot-signal.js'

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
 * Bounds the number of running and of waiting searches.
 *
 * Holders (API keys) take turns, so that one busy key cannot starve the searches of another. When the queue is full, a
 * new search evicts the newest search of the holder with the most waiting searches, if its own holder has at least two
 * fewer; otherwise the new search is refused.
 *
 * A search frees its slot while it waits for another service, and gets the next free slot when it returns.
 */
export class SearchQueue {
  readonly #limits: SearchQueueLimits
  /** Waiting searches by holder; the first holder is served next. */
  readonly #waiting = new Map<string, Waiter[]>()
  /** Searches that returned from another service and wait for a slot. */
  readonly #returning: (() => void)[] = []
  #running = 0
  #waitingCount = 0
  /** Searches that freed their slot and do not have a new one yet. */
  #outside = 0

  constructor(limits: SearchQueueLimits) {
    this.#limits = limits
  }

  /** Number of running searches. */
  get running(): number {
    return this.#running
  }

  /** Number of waiting searches. */
  get waiting(): number {
    return this.#waitingCount
  }

  /**
   * Runs `search` when a slot is free.
   * @param onDisconnect a waiting search leaves the queue when its client disconnects; a running search gets the signal
   * @throws ApiError `too_many_search_requests`
   */
  async run<T>(
    holder: string,
    onDisconnect: OnDisconnect,
    search: (stop: DisconnectSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#running >= this.#limits.searchesRunningMax) await this.#wait(holder, onDisconnect)
    else this.#running += 1
    const signal = new SlotSignal({
      leave: () => this.#leave(),
      enter: () => this.#enter(onDisconnect, signal),
      stayAway: () => {
        this.#outside -= 1
      },
      release: () => this.#release(),
    })
    try {
      return await untilDisconnected(onDisconnect, search, () => tooMany(this.#limits), signal)
    } finally {
      signal.end()
    }
  }

  #release(): void {
    this.#running -= 1
    this.#admitNext()
  }

  /** Frees a slot while its search waits for another service. Returns false if too many searches do so already. */
  #leave(): boolean {
    if (this.#outside >= this.#limits.searchesWaitingMax) return false
    this.#outside += 1
    this.#release()
    return true
  }

  async #enter(onDisconnect: OnDisconnect, { aborted }: DisconnectSignal): Promise<void> {
    try {
      // The client has disconnected, so `onDisconnect` would never be called.
      if (aborted) throw tooMany(this.#limits)
      if (this.#running < this.#limits.searchesRunningMax) this.#running += 1
      else await this.#waitForSlot(onDisconnect)
    } finally {
      this.#outside -= 1
    }
  }

  #waitForSlot(onDisconnect: OnDisconnect): Promise<void> {
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        stopListening()
        resolve()
      }
      const stopListening = onDisconnect(() => {
        const at = this.#returning.indexOf(admit)
        if (at === -1) return
        this.#returning.splice(at, 1)
        reject(tooMany(this.#limits))
      })
      this.#returning.push(admit)
    })
  }

  #wait(holder: string, onDisconnect: OnDisconnect): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (): void => reject(tooMany(this.#limits))
      if (this.#waitingCount >= this.#limits.searchesWaitingMax && !this.#evictFor(holder)) {
        refuse()
        return
      }
      const leave = (): void => {
        if (this.#remove(waiter)) waiter.refuse()
      }
      const timer = setTimeout(leave, this.#limits.searchWaitMsMax)
      timer.unref()
      const stopListening = onDisconnect(leave)
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

  /**
   * Evicts the newest search of the holder with the most waiting searches, if it then still has at least as many as
   * `holder` with its new search. @returns true if a search was evicted
   */
  #evictFor(holder: string): boolean {
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
    const returning = this.#returning.shift()
    if (returning !== undefined) {
      this.#running += 1
      returning()
      return
    }
    const [entry] = this.#waiting
    const next = entry?.[1][0]
    if (entry === undefined || next === undefined) return
    const [holder, queue] = entry
    this.#remove(next)
    // A holder with more searches moves to the end of the round.
    if (queue.length > 0) {
      this.#waiting.delete(holder)
      this.#waiting.set(holder, queue)
    }
    this.#running += 1
    next.admit()
  }

  #remove(waiter: Waiter): boolean {
    const queue = this.#waiting.get(waiter.holder)
    const position = queue?.indexOf(waiter) ?? -1
    if (queue === undefined || position === -1) return false
    queue.splice(position, 1)
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
