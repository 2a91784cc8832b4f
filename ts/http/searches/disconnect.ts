import type { FastifyReply } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { DisconnectSignal } from '../../operations/index.js'

/** Calls `callback` if the client disconnects before its answer is sent. The returned function stops listening. */
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
 * @param abandoned makes the error that replaces any error thrown after the client disconnected
 */
export async function untilDisconnected<T>(
  onDisconnect: OnDisconnect,
  run: (stop: DisconnectSignal) => Promise<T>,
  abandoned = (): ApiError => new ApiError('bad_request', 'the client disconnected'),
  stop = new DisconnectSignal(),
): Promise<T> {
  const stopListening = onDisconnect(() => stop.abort())
  try {
    return await run(stop)
  } catch (error) {
    throw stop.aborted ? abandoned() : error
  } finally {
    stopListening()
  }
}
