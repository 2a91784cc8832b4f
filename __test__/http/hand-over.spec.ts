import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { HandOver } from '../../ts/http/loops/hand-over.js'
import { listening } from '../support/listening.js'
import { otherThanWindows } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'
import { temporaryDirectory } from '../tasks/test-queue.js'

const test = testNeeding([otherThanWindows('one thread answers there')])

test('a connection to the main thread that fails while nobody uses it ends nothing', async (t) => {
  const path = join(await temporaryDirectory(t), 'main')
  const main = createServer(
    (request, response) => void request.resume().once('end', () => response.end('[]')),
  )
  await new Promise<void>((resolve) => main.listen(path, resolve))
  const handOver = new HandOver(path)
  t.teardown(() => {
    handOver.close()
    main.close()
  })
  const front = createServer((request, response) => handOver.pass(request, response))
  const url = await listening(t, front)
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
