import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/**
 * Bounds the memory of answers that clients have not read to the end.
 *
 * Above the bound, the connection of the oldest answer is closed: a client that reads steadily would have finished long
 * before. A client that reads nothing for a while loses its connection in any case.
 */
export class UnreadAnswers {
  readonly #bytesMax: number
  readonly #idleMsMax: number
  /** Bytes of each answer, oldest first. */
  readonly #answers = new Map<ServerResponse, number>()
  #bytes = 0

  constructor(bytesMax: number, idleMsMax: number) {
    this.#bytesMax = bytesMax
    this.#idleMsMax = idleMsMax
  }

  /** Counts an answer that is about to be sent, until it has been read. */
  add(response: ServerResponse, bytes: number): void {
    if (response.closed || this.#answers.has(response)) return
    this.#answers.set(response, bytes)
    this.#bytes += bytes
    response.once('close', () => this.#remove(response))
    closeIfUnread(response, this.#idleMsMax)
    for (const [oldest] of this.#answers) {
      if (this.#bytes <= this.#bytesMax || oldest === response) break
      this.#remove(oldest)
      oldest.req.socket.destroy()
    }
  }

  #remove(response: ServerResponse): void {
    const bytes = this.#answers.get(response)
    if (bytes === undefined) return
    this.#answers.delete(response)
    this.#bytes -= bytes
  }
}

/** Closes the connection of an answer when its client has read nothing for `idleMsMax` milliseconds. */
export function closeIfUnread(response: ServerResponse, idleMsMax: number): void {
  // Node.js restarts this timer whenever the system accepts a part of a long write.
  response.setTimeout(idleMsMax, () => response.req.socket.destroy())
}

/**
 * Answers with a stream of server-sent events. Takes an event only when the client has read the one before. Closes the
 * connection when the client has read nothing for `idleMsMax` milliseconds.
 */
export function sendEvents(
  reply: FastifyReply,
  events: AsyncIterable<string | Buffer>,
  idleMsMax: number,
): FastifyReply {
  closeIfUnread(reply.raw, idleMsMax)
  return reply
    .header('x-accel-buffering', 'no')
    .header('cache-control', 'no-store')
    .type('text/event-stream')
    .send(Readable.from(events, { highWaterMark: 1 }))
}
