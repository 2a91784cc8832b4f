import type { StopSignal } from '../../engine.js'

/** Tells a search or a batch in another thread to end, since nothing waits for its outcome any more. */
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

/**
 * Runs a call of another thread, which a signal cannot cross to: a flag in shared memory is set while it works.
 * @param run given the memory of the flag as further arguments of the call, none if nothing can stop it
 */
export async function flagged<T>(
  stop: StopSignal | undefined,
  run: (flag: readonly SharedArrayBuffer[]) => Promise<T>,
): Promise<T> {
  if (stop === undefined) return run([])
  const flag = new StopFlag()
  const giveUp = (): void => flag.set()
  if (stop.aborted) giveUp()
  stop.addEventListener('abort', giveUp)
  try {
    return await run([flag.memory])
  } finally {
    stop.removeEventListener('abort', giveUp)
  }
}
