import type { ServerResponse } from 'node:http'

/**
 * Answers that are made and that their clients have not read yet.
 *
 * An answer that is not read lies in the memory. Beyond the bound, the connection whose answer waits longest is closed:
 * a client that reads is done long before. A connection that reads nothing for a while is closed in any case.
 */
export class UnreadAnswers {
  readonly #bytesMax: number
  readonly #idleMsMax: number
  /** Bytes of each answer, those that were made first at the front. */
  readonly #answers = new Map<ServerResponse, number>()
  #bytes = 0

  constructor(bytesMax: number, idleMsMax: number) {
    this.#bytesMax = bytesMax
    this.#idleMsMax = idleMsMax
  }

  /** Watches an answer that is about to be sent. */
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

/** Closes the connection of an answer once nothing of it was read for so many milliseconds. */
export function closeIfUnread(response: ServerResponse, idleMsMax: number): void {
  // The platform counts a part of a long write that the system takes as a sign of life.
  response.setTimeout(idleMsMax, () => response.req.socket.destroy())
}
