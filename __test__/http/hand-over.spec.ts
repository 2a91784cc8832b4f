import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { HandOver } from '../../ts/http/loops/hand-over.js'
import { listening } from '../support/listening.js'
import { otherThanWindows } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'
import { temporaryDirectory } from '../tasks/test-queue.js'

const test = testNeeding([otherThanWindows('one thread answers there')])

test('a connection to the main thread that fails while nobody uses it ends nothing', async (t) => {
  const { handOver } = await servingMain(t)
  const url = await listening(
    t,
    createServer((request, response) => handOver.pass(request, response)),
  )
  let failed = 0
  // Here the request has ended, and the agent does not watch the connection yet.
  const fail = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket }
    socket.prependOnceListener('free', () => {
      failed += 1
      socket.emit('error', new Error('write ECONNRESET'))
    })
  }
  subscribe('net.client.socket', fail)
  try {
    for (let calls = 1; calls <= 2; calls++) {
      const answer = await fetch(url, { method: 'POST', body: '{}' })
      t.deepEqual(await answer.json(), [])
    }
  } finally {
    unsubscribe('net.client.socket', fail)
  }
  t.true(failed > 0)
})

test('a request on a connection that the main thread has just closed is sent again', async (t) => {
  const { handOver, connections } = await servingMain(t)
  const front = createServer((request, response) => {
    // Node.js writes the request before it notices the closed connection, so the write fails.
    for (const connection of connections) connection.destroy()
    handOver.pass(request, response)
  })
  const url = await listening(t, front)
  for (let calls = 1; calls <= 2; calls++) {
    const answer = await fetch(url)
    t.is(answer.status, 200)
    t.deepEqual(await answer.json(), [])
  }
  t.is(connections.length, 2)
})

/** Starts a server that stands for the main thread: it answers `[]`. `connections` holds all it accepted. */
async function servingMain(t: ExecutionContext): Promise<{ handOver: HandOver; connections: Socket[] }> {
  const path = join(await temporaryDirectory(t), 'main')
  const connections: Socket[] = []
  const main = createServer(
    (request, response) => void request.resume().once('end', () => response.end('[]')),
  )
  main.on('connection', (connection: Socket) => connections.push(connection))
  await new Promise<void>((resolve) => main.listen(path, resolve))
  const handOver = new HandOver(path)
  t.teardown(() => {
    handOver.close()
    main.close()
  })
  return { handOver, connections }
}
