import { connect, type Socket } from 'node:net'

/**
 * Connects to the server at `url` for bytes that no HTTP client sends. A server that refuses them may reset the
 * connection at any time, also after the test has read its answer. So errors of the socket fail no test.
 */
export function rawSocket(url: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  return socket.on('error', () => undefined)
}

/** Returns the received text when the connection closes or `enough` matches, and destroys the socket. */
export function readText(socket: Socket, enough?: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    const end = () => {
      socket.destroy()
      resolve(received)
    }
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text
      if (enough?.test(received)) end()
    })
    socket.once('end', end).once('close', end)
  })
}
