import { lookup } from 'node:dns/promises'
import { closeSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** The descriptor of a listening server. Node.js has no public name for it. */
interface WithHandle {
  readonly _handle?: { readonly fd?: number } | null
}

export interface ListenAt {
  readonly host: string
  readonly port: number
  readonly backlog: number
}

/** Listening sockets that threads share. Until `release`, the main thread accepts as well. */
export class SharedSockets {
  readonly #servers: readonly Server[]
  /** Duplicates that keep the sockets open after `release`. */
  readonly #kept: readonly number[]
  readonly #duplicate: (descriptor: number) => number

  private constructor(servers: readonly Server[], duplicate: (descriptor: number) => number) {
    this.#servers = servers
    this.#duplicate = duplicate
    this.#kept = servers.map((server) => duplicate(descriptorOf(server)))
  }

  /**
   * Listens on an address; for `localhost` on all of its addresses, as fastify does.
   * @param accept receives connections until `release`
   * @throws Error of the system
   */
  static async listen(
    at: ListenAt,
    accept: (socket: Socket) => void,
    duplicate: (descriptor: number) => number,
  ): Promise<SharedSockets> {
    const first = await listening(at, accept)
    const servers = [first]
    try {
      const { address, port } = first.address() as AddressInfo
      const all = at.host === 'localhost' ? await lookup(at.host, { all: true }).catch(() => []) : []
      for (const other of all.filter((one) => one.address !== address)) {
        const server = await listening({ ...at, host: other.address, port }, accept).catch(() => null)
        if (server !== null) servers.push(server)
      }
      return new SharedSockets(servers, duplicate)
    } catch (error) {
      for (const server of servers) server.close()
      throw error
    }
  }

  get port(): number {
    return (this.#servers[0]!.address() as AddressInfo).port
  }

  /**
   * Returns a descriptor of each socket, which belong to the caller.
   * @throws Error of the system, such as for want of descriptors
   */
  duplicates(): readonly number[] {
    const made: number[] = []
    try {
      for (const descriptor of this.#kept) made.push(this.#duplicate(descriptor))
      return made
    } catch (error) {
      for (const descriptor of made) closeSync(descriptor)
      throw error
    }
  }

  /** The main thread accepts no more connections. Those that it has stay open. */
  release(): void {
    for (const server of this.#servers) if (server.listening) server.close()
  }

  /** Closes the sockets of the main thread. */
  close(): void {
    this.release()
    for (const descriptor of this.#kept) closeSync(descriptor)
  }
}

function listening(at: ListenAt, accept: (socket: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ noDelay: true }, accept)
    server.once('error', reject)
    server.listen(at, () => {
      server.off('error', reject)
      resolve(server)
    })
  })
}

function descriptorOf(server: Server): number {
  const descriptor = (server as unknown as WithHandle)._handle?.fd
  if (descriptor === undefined || descriptor < 0) throw new Error('the listening socket has no descriptor')
  return descriptor
}
