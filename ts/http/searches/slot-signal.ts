import { DisconnectSignal } from '../../operations/index.js'

/** Frees the slot of a running search and takes a slot again. */
interface Slot {
  /** Returns false if the search keeps its slot. */
  leave(): boolean
  /** Rejects if the client disconnects before a slot is free. */
  enter(): Promise<void>
}

/** The slot of one search. A search that waits for several services at the same time frees its slot once. */
export class SlotSignal extends DisconnectSignal {
  readonly #slot: Slot
  #hasSlot = true
  #services = 0

  constructor(slot: Slot) {
    super()
    this.#slot = slot
  }

  get hasSlot(): boolean {
    return this.#hasSlot
  }

  override async waitFor<T>(service: () => Promise<T>): Promise<T> {
    this.#services += 1
    if (this.#hasSlot && this.#slot.leave()) this.#hasSlot = false
    try {
      return await service()
    } finally {
      this.#services -= 1
      if (this.#services === 0 && !this.#hasSlot) {
        await this.#slot.enter()
        this.#hasSlot = true
      }
    }
  }
}
