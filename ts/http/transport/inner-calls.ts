/** Calls of this server's own routes, by routes. */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'

/** Header that names the call. Its values are random, and unknown ones are ignored. */
const CALL_HEADER = 'x-siftd-inner-call'

interface InnerCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with its query string. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload?: string
}

interface InnerAnswer {
  readonly status: number
  readonly bytes: Buffer
}

/**
 * Calls routes without a connection. When a signal aborts, the called route sees that its client has disconnected;
 * `inject` alone does not end a request whose body was read.
 */
export class InnerCalls {
  readonly #app: FastifyInstance
  readonly #signals = new Map<string, AbortSignal>()

  constructor(app: FastifyInstance) {
    this.#app = app
    app.addHook('onRequest', (request, reply, done) => {
      const name = request.headers[CALL_HEADER]
      if (name === undefined) return done()
      delete request.headers[CALL_HEADER]
      const signal = this.#signals.get(String(name))
      const end = (): void => void reply.raw.destroy()
      if (signal?.aborted) end()
      signal?.addEventListener('abort', end, { once: true })
      reply.raw.once('close', () => signal?.removeEventListener('abort', end))
      done()
    })
  }

  /** Rejects when `signal` aborts first. */
  async call({ headers, ...call }: InnerCall, signal: AbortSignal): Promise<InnerAnswer> {
    const name = randomUUID()
    this.#signals.set(name, signal)
    try {
      const answer = await this.#app.inject({ ...call, headers: { ...headers, [CALL_HEADER]: name } })
      return { status: answer.statusCode, bytes: answer.rawPayload }
    } finally {
      this.#signals.delete(name)
    }
  }
}
