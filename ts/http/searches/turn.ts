import { DisconnectSignal } from '../../searches/index.js'

/** How a search gives its place among the running ones back, and gets one again. */
export interface Place {
  /** False: the search keeps its place. */
  leave(): boolean
  /** Rejects if the client disconnects before there is a place. */
  enter(): Promise<void>
}

/** The place of one search. Searches that wait for another service at the same time leave it once. */
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
