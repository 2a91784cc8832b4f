import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'

/** Milliseconds after which an idle connection is closed. Source: fastify, which sets it only on its own servers. */
const KEEP_ALIVE_MS = 72_000

/** Creates the listening servers, and lets another application answer their requests without closing a connection. */
export class Front {
  readonly #create: (handler: RequestListener) => Server
  #routing: RequestListener | null = null
  /** Answers that the current application has not sent completely. */
  #open = new Set<ServerResponse>()

  /** @param create creates a listening server; null: plain HTTP */
  constructor(create: ((handler: RequestListener) => Server) | null) {
    this.#create = create ?? ((handler) => createServer(handler))
  }

  readonly createServer = (handler: RequestListener): Server => {
    const server = this.#create((request, response) => {
      const open = this.#open
      open.add(response)
      response.once('close', () => open.delete(response))
      const routing = this.#routing ?? handler
      routing(request, response)
    })
    server.keepAliveTimeout = KEEP_ALIVE_MS
    return server
  }

  /**
   * Lets `routing` answer all requests from now on.
   * @returns the answers that the former application has not sent completely
   */
  switchTo(routing: RequestListener): ReadonlySet<ServerResponse> {
    const former = this.#open
    this.#open = new Set()
    this.#routing = routing
    return former
  }
}

/** Resolves once all answers are sent or `waitMs` have passed. Then it ends the connections of the rest. */
export async function drained(open: ReadonlySet<ServerResponse>, waitMs: number): Promise<void> {
  let giveUp: () => void = () => undefined
  const limit = new Promise<void>((resolve) => {
    giveUp = resolve
  })
  const timer = setTimeout(giveUp, waitMs)
  const sent = [...open].map((response) => new Promise<void>((resolve) => response.once('close', resolve)))
  await Promise.race([Promise.all(sent), limit])
  clearTimeout(timer)
  for (const response of [...open]) response.destroy()
}
