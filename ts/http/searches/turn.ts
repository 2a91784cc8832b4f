import { DisconnectSignal } from '../../searches/index.js'

/** Frees the slot of a running search and takes a slot again. */
export interface Place {
  /** Returns false if the search keeps its slot. */
  leave(): boolean
  /** Rejects if the client disconnects before a slot is free. */
  enter(): Promise<void>
}

/** The slot of one search. A search that waits for several services at the same time frees its slot once. */
export class Turn extends DisconnectSignal {
  readonly #place: Place
  #hasPlace = true
  #services = 0

  constructor(place: Place) {
    super()
    this.#place = place
  }

  get hasPlace(): boolean {
    return this.#hasPlace
  }

  override async waitFor<T>(service: () => Promise<T>): Promise<T> {
    this.#services += 1
    if (this.#hasPlace && this.#place.leave()) this.#hasPlace = false
    try {
      return await service()
    } finally {
      this.#services -= 1
      if (this.#services === 0 && !this.#hasPlace) {
        await this.#place.enter()
        this.#hasPlace = true
      }
    }
  }
}
