/** Tells a search in another thread that nobody waits for it any more. */
export class StopFlag {
  /** To be handed to the other thread. */
  readonly memory: SharedArrayBuffer
  readonly #flag: Int32Array

  /** @param memory of the flag on the other side; absent: a new one, not set */
  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#flag = new Int32Array(memory)
  }

  set(): void {
    Atomics.store(this.#flag, 0, 1)
  }

  get aborted(): boolean {
    return Atomics.load(this.#flag, 0) === 1
  }
}
