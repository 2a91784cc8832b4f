/** A proxy in front of an object store that fails random calls, as networks and stores do. */
import { request as callStore, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Possible outcomes of a call. */
export type Fate =
  | 'answered'
  /** The call does not reach the store. */
  | 'dropped'
  /** The store carries out the call, but the answer is lost. */
  | 'unanswered'
  /** The answer is cut in the middle. */
  | 'cut'
  | 409
  | 429
  | 500
  | 503

export interface FaultProxy {
  readonly origin: string
  /** Number of calls by outcome. */
  readonly counts: ReadonlyMap<Fate, number>
  /** Number of answered calls by method. */
  readonly methods: ReadonlyMap<string, number>
  /** Makes the store unreachable until `comeBack`. `silent`: calls get no answer until then. */
  leave(how?: 'refused' | 'silent'): void
  comeBack(): void
  close(): Promise<void>
}

export interface FaultProxySetup {
  readonly store: string
  /** Random numbers from 0 to 1. */
  readonly lot: () => number
  /** Share of calls that fail. */
  readonly failing: number
  /** Maximum delay of a call, in milliseconds. */
  readonly delayMs: number
  /** Speed at which the body of a call arrives, in bytes per second. Default: no limit. */
  readonly bytesPerSecond?: number
}

const FAILURES: readonly Fate[] = ['dropped', 'unanswered', 'cut', 409, 429, 500, 503]

/** Starts a proxy. Works only with stores that do not check signatures, since the host name differs. */
export async function startFaultProxy({
  store,
  lot,
  failing,
  delayMs,
  bytesPerSecond = Number.POSITIVE_INFINITY,
}: FaultProxySetup): Promise<FaultProxy> {
  const counts = new Map<Fate, number>()
  const methods = new Map<string, number>()
  let away: 'refused' | 'silent' | null = null
  /** Sockets of calls that get no answer. */
  const silent = new Set<IncomingMessage['socket']>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: Buffer[] = []
    for await (const chunk of request) body.push(chunk as Buffer)
    const bodyMs = (1000 * body.reduce((sum, chunk) => sum + chunk.length, 0)) / bytesPerSecond
    if (bodyMs > 0) await new Promise((resolve) => setTimeout(resolve, bodyMs))
    if (away === 'silent') return void silent.add(request.socket)
    if (away === 'refused') return void request.socket.destroy()
    const fate = lot() < failing ? FAILURES[Math.floor(lot() * FAILURES.length)]! : 'answered'
    counts.set(fate, (counts.get(fate) ?? 0) + 1)
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, lot() * delayMs))
    if (fate === 'dropped') return void request.socket.destroy()
    if (typeof fate === 'number') {
      response.writeHead(fate)
      return void response.end('<Error><Code>Drawn</Code><Message>by lot</Message></Error>')
    }
    const { method = '' } = request
    methods.set(method, (methods.get(method) ?? 0) + 1)
    const found = await passedOn(request, Buffer.concat(body))
    if (fate === 'unanswered') return void request.socket.destroy()
    response.writeHead(found.status, found.headers)
    if (fate === 'answered') return void response.end(found.body)
    response.write(found.body.subarray(0, found.body.length / 2))
    setTimeout(() => request.socket.destroy(), 1)
  }

  function passedOn({ method, url, headers }: IncomingMessage, body: Buffer) {
    return new Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }>(
      (resolve, reject) => {
        const call = callStore(`${store}${url}`, { method, headers }, async (found) => {
          const parts: Buffer[] = []
          for await (const chunk of found) parts.push(chunk as Buffer)
          resolve({ status: found.statusCode ?? 500, headers: found.headers, body: Buffer.concat(parts) })
        })
        call.on('error', reject)
        call.end(body)
      },
    )
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    methods,
    leave: (how = 'refused') => {
      away = how
    },
    comeBack: () => {
      away = null
      for (const socket of silent) socket.destroy()
      silent.clear()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
