import type { FastifyReply } from 'fastify'
import type { StopSignal } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'

/**
 * Whether the client of a search has disconnected.
 *
 * Every search has one of these. Making an `AbortSignal` takes 20 µs, so it is made only when something asks for it.
 */
export class DisconnectSignal implements StopSignal {
  readonly #listeners: (() => void)[] = []
  #controller: AbortController | null = null
  #aborted = false

  get aborted(): boolean {
    return this.#aborted
  }

  /** An `AbortSignal` that aborts at the same time, for calls of Node.js that take one. */
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

/** Calls `callback` if the client disconnects before its answer is sent. The returned function ends the listening. */
export type OnDisconnect = (callback: () => void) => () => void

/** Listens for the disconnection of the client of `reply`. */
export function disconnectOf(reply: FastifyReply): OnDisconnect {
  return (callback) => {
    const closed = (): void => {
      if (!reply.raw.writableFinished) callback()
    }
    reply.raw.once('close', closed)
    return () => reply.raw.off('close', closed)
  }
}

/**
 * Calls `run` with a signal that aborts when the client disconnects.
 * @param abandoned makes the error that is thrown in place of any error after the client has disconnected
 */
export async function untilDisconnected<T>(
  onDisconnect: OnDisconnect,
  run: (stop: DisconnectSignal) => Promise<T>,
  abandoned = (): ApiError => new ApiError('bad_request', 'the client has gone'),
): Promise<T> {
  const stop = new DisconnectSignal()
  const stopListening = onDisconnect(() => stop.abort())
  try {
    return await run(stop)
  } catch (error) {
    throw stop.aborted ? abandoned() : error
  } finally {
    stopListening()
  }
}
