/**
 * The cost of unread answers is bounded.
 *
 * 1. An unread answer occupies no slot of the search queue.
 * 2. All unread answers together have a memory limit. Beyond it, the oldest one loses its connection.
 * 3. A connection is closed when nothing is read for a while.
 * 4. A stop sends answers to the end.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { UnreadAnswers } from '../../ts/http/transport/index.js'
import { startServer, type TestServer } from '../support/server.js'

/** Exceeds the part of an answer that fits into the buffers of the system. */
const DOCUMENTS = 200
const TEXT_BYTES = 100_000
const path = '/indexes/a/search'

async function fill(t: ExecutionContext, server: TestServer): Promise<void> {
  const text = 'x'.repeat(TEXT_BYTES)
  const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({ id, title: 'film', text }))
  await server.settle(t, server.put('/indexes/a/settings/searchable-attributes', ['title']))
  await server.settle(t, server.post('/indexes/a/documents', documents))
}

/** A client that has received the beginning of its answer and pauses reading. */
class IdleReader {
  readonly #socket: Socket
  #bytes = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length
    })
  }

  /** Requests all documents. Resolves when the answer has begun to arrive. */
  static async ask(
    t: ExecutionContext,
    server: TestServer,
    connection: 'close' | 'keep-alive' = 'close',
  ): Promise<IdleReader> {
    const body = JSON.stringify({ q: 'film', limit: DOCUMENTS })
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    const head = [
      `POST ${path} HTTP/1.1`,
      'host: x',
      `connection: ${connection}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
    const reader = new IdleReader(socket)
    await once(socket, 'data')
    socket.pause()
    return reader
  }

  /** @returns true if the complete answer arrived before the connection ended */
  async readsAll(): Promise<boolean> {
    this.#socket.resume()
    if (!this.#socket.closed) await once(this.#socket, 'close')
    return this.#bytes > DOCUMENTS * TEXT_BYTES
  }
}

test('an unread answer occupies no slot of the search queue', async (t) => {
  const server = await startServer(t, { searchesRunningMax: 1, searchesWaitingMax: 0 })
  await fill(t, server)
  const unread = [await IdleReader.ask(t, server), await IdleReader.ask(t, server)]
  t.is((await server.post(path, { q: 'film', limit: 1 })).status, 200)
  for (const reader of unread) t.true(await reader.readsAll())
})

test('beyond the limit of unread answers only the oldest loses its connection', async (t) => {
  const server = await startServer(t, { unreadBytesMax: 2.5 * DOCUMENTS * TEXT_BYTES })
  await fill(t, server)
  const readers: IdleReader[] = []
  for (let at = 0; at < 4; at++) readers.push(await IdleReader.ask(t, server))
  const whole = await Promise.all(readers.map((reader) => reader.readsAll()))
  t.deepEqual(whole, [false, false, true, true])
  t.true(await (await IdleReader.ask(t, server)).readsAll(), 'what was read counts no more')
})

test('a stop sends answers to the end and then closes their connections', async (t) => {
  const server = await startServer(t)
  await fill(t, server)
  const readers = [await IdleReader.ask(t, server), await IdleReader.ask(t, server, 'keep-alive')]
  const drained = server.drain()
  // From then on the server refuses connections.
  const isListening = () =>
    fetch(`${server.url}/health`, { headers: { connection: 'close' } }).then(
      (answer) => answer.ok,
      () => false,
    )
  while (await isListening());
  for (const reader of readers) t.true(await reader.readsAll())
  await drained
})

test('an answer that is not read for a while loses its connection', async (t) => {
  const unread = new UnreadAnswers(1_000_000_000, 100)
  const bytes = 50_000_000
  const server = createServer((_request, response) => {
    response.once('close', () => server.emit('lost'))
    unread.add(response, bytes)
    response.end(Buffer.alloc(bytes))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => {
    socket.destroy()
    server.close()
  })
  socket.on('error', () => undefined)
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(server, 'lost')
  t.true(socket.bytesRead < bytes)
})
