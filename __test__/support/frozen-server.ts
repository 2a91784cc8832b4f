import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { ExecutionContext } from 'ava'

/**
 * Starts a server that accepts connections and then does nothing, like a suspended process. It reads nothing but the
 * beginning of a request.
 * @param begin what it sends for a request
 */
export async function frozenServer(t: Pick<ExecutionContext, 'teardown'>, begin = '') {
  const sockets = new Set<Socket>()
  let requests = 0
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    socket.once('data', () => {
      requests++
      socket.pause()
      if (begin !== '') socket.write(begin)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests }
}
