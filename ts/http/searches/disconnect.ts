import type { FastifyReply } from 'fastify'
import type { StopSignal } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'

/**
 * Whether the client of a search has gone, which every search asks for and hardly one is told. What the platform has
 * for this takes 20 µs to make, so it is made only for those who need one.
 */
export class Disconnect implements StopSignal {
  readonly #listeners: (() => void)[] = []
  #controller: AbortController | null = null
  #aborted = false

  get aborted(): boolean {
    return this.#aborted
  }

  /** The same, for the platform. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted) this.#controller.abort()
    return this.#controller.signal
  }

  addEventListener(_: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener)
    if (at !== -1) this.#listeners.splice(at, 1)
  }

  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    for (const listener of [...this.#listeners]) listener()
    this.#controller?.abort()
  }
}

/** Calls back when the client disconnects before it got its answer, until the returned function is called. */
export type OnGone = (callback: () => void) => () => void

/** Tells when the client of `reply` is gone before it got its answer. */
export function disconnection(reply: FastifyReply): OnGone {
  return (callback) => {
    const closed = (): void => {
      if (!reply.raw.writableFinished) callback()
    }
    reply.raw.once('close', closed)
    return () => reply.raw.off('close', closed)
  }
}

/**
 * Runs `work`, which is told when its client has gone.
 * @param given what is thrown instead of the failure of a work that was given up, which no client sees
 */
export async function untilGone<T>(
  onGone: OnGone,
  work: (stop: Disconnect) => Promise<T>,
  given = (): ApiError => new ApiError('bad_request', 'the client has gone'),
): Promise<T> {
  const gone = new Disconnect()
  const stopListening = onGone(() => gone.abort())
  try {
    return await work(gone)
  } catch (error) {
    throw gone.aborted ? given() : error
  } finally {
    stopListening()
  }
}
