import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Milliseconds between two looks at connections that still send an answer during a stop. */
const UNSENT_POLL_MS = 20

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
 * Lets a stop send answers to the end. Node.js takes a connection for idle as soon as its answer is complete, and would
 * close it although the client has read only a part. Such a connection is closed when the rest is sent.
 */
export function closeAfterAnswers(server: Server): void {
  const sockets = new Set<Socket>()
  const watch = (socket: Socket): void => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  // The second is the event of TLS, whose sockets hold the answers.
  server.on('connection', watch)
  server.on('secureConnection', watch)
  const closeIdle = server.closeIdleConnections
  server.closeIdleConnections = () => {
    const sending = [...sockets].filter(({ writableLength }) => writableLength > 0)
    for (const socket of sending) socket.destroy = () => socket
    closeIdle.call(server)
    // Without their own method, the sockets have that of the class again.
    for (const socket of sending) Reflect.deleteProperty(socket, 'destroy')
    if (sending.length > 0) setTimeout(() => server.closeIdleConnections(), UNSENT_POLL_MS).unref()
  }
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
