import type { StopSignal } from '../../engine.js'

/** Stops a search or a batch in another thread when its result is no longer needed. */
export class StopFlag {
  /** To pass to the other thread. */
  readonly memory: SharedArrayBuffer
  readonly #flag: Int32Array

  /** @param memory of the flag in the other thread; absent: a new unset flag */
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
 * Runs a call in another thread. A signal cannot be sent there, so a flag in shared memory is set instead.
 * @param run makes the call, and adds `flag` to its arguments: the memory of the flag, or nothing without a signal
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
