/** A TCP proxy with a fixed address, whose connections can be cut. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CuttableProxy {
  readonly port: number
  /** Port that new connections are forwarded to. */
  target: number
  /** True: new connections are broken at once. */
  refuses: boolean
  /** Breaks all connections. */
  cut(): void
  close(): Promise<void>
}

export async function startCuttableProxy(target: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    client.on('error', () => undefined)
    if (proxy.refuses) return void client.resetAndDestroy()
    const upstream = connect(proxy.target, '127.0.0.1')
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  const proxy: CuttableProxy = {
    port: (server.address() as AddressInfo).port,
    target,
    refuses: false,
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cut()
      }),
  }
  return proxy
}
