import { DisconnectSignal } from '../../operations/index.js'

/** Frees the slot of a running search and takes a slot again. */
interface Slot {
  /** Returns false if the search keeps its slot. */
  leave(): boolean
  /** Rejects if the client disconnects before a slot is free. The search counts as outside until this settles. */
  enter(): Promise<void>
  /** Ends a search that has left its slot and needs none any more. */
  stayAway(): void
  /** Ends a search that has a slot. */
  release(): void
}

/**
 * The slot of one search. A search that waits for several services at the same time frees its slot once, and takes one
 * again when the last service has answered. A service may also answer after the search has failed by another one.
 */
export class SlotSignal extends DisconnectSignal {
  readonly #slot: Slot
  /** inside: it has a slot; outside: it has left its slot and is counted; gone: it has ended. */
  #place: 'inside' | 'outside' | 'gone' = 'inside'
  #isOver = false
  #services = 0
  /** Shared by all services that end before a slot is free. */
  #entering: Promise<void> | null = null

  constructor(slot: Slot) {
    super()
    this.#slot = slot
  }

  override async waitFor<T>(service: () => Promise<T>): Promise<T> {
    this.#services += 1
    if (this.#place === 'inside' && this.#slot.leave()) this.#place = 'outside'
    try {
      return await service()
    } finally {
      this.#services -= 1
      if (this.#services === 0 && this.#place === 'outside') await this.#return()
    }
  }

  /** Call this once when the search has ended. */
  end(): void {
    this.#isOver = true
    if (this.#place === 'inside') this.#release()
  }

  async #return(): Promise<void> {
    if (this.#isOver) {
      this.#place = 'gone'
      this.#slot.stayAway()
      return
    }
    this.#entering ??= this.#enter().finally(() => {
      this.#entering = null
    })
    await this.#entering
  }

  async #enter(): Promise<void> {
    try {
      await this.#slot.enter()
    } catch (error) {
      this.#place = 'gone'
      throw error
    }
    this.#place = 'inside'
    if (this.#isOver) this.#release()
  }

  #release(): void {
    this.#place = 'gone'
    this.#slot.release()
  }
}
