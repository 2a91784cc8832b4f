import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { type OutboundError, openOutbound } from '../../ts/outbound/index.js'
import { frozenServer } from '../support/frozen-server.js'

// Requests that are passed on end when the other server makes no progress, and not before.

function passing(t: ExecutionContext, passedSilenceMs: number) {
  const outbound = openOutbound({ allowedNetworks: 'any', passedSilenceMs })
  t.teardown(() => outbound.close())
  return (url: string, body: Readable | null = null) =>
    outbound.pass({ method: 'POST', url, headers: {}, body, signal: new AbortController().signal })
}

const faultOf = (error: unknown): string => (error as OutboundError).fault

/** A server that reads each request to its end and answers with it. */
async function echo(t: ExecutionContext) {
  const server = createServer(async (request, response) => void response.end(await text(request)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const [name, bodyOf] of [
  ['no body', () => null],
  ['a short body', () => Readable.from([Buffer.from('short')], { objectMode: false })],
  [
    'a body that it stops to read',
    () =>
      Readable.from(
        Array.from({ length: 400 }, () => Buffer.alloc(100_000)),
        { objectMode: false },
      ),
  ],
] as const)
  test(`a server that falls silent fails the request: ${name}`, async (t) => {
    const frozen = await frozenServer(t)
    const body = bodyOf()
    const error = await t.throwsAsync(passing(t, 1_000)(frozen.url, body))
    t.is(faultOf(error), 'timeout')
    t.is(frozen.requests(), 1)
    // The client that sends the body must still be able to get an answer on its connection.
    if (body !== null && !body.readableEnded) t.false(body.destroyed)
  })

test('a server that falls silent within its answer fails the answer', async (t) => {
  const frozen = await frozenServer(t, 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbeg')
  const { status, body } = await passing(t, 2_000)(frozen.url)
  t.is(status, 200)
  await t.throwsAsync(text(body), { message: /no progress/ })
})

test('a client that pauses while it sends or reads is no silence of the server', async (t) => {
  const silenceMs = 1_000
  async function* slow() {
    for (const word of ['one ', 'two ', 'three']) {
      yield Buffer.from(word)
      await sleep(2 * silenceMs)
    }
  }
  const { body } = await passing(t, silenceMs)(await echo(t), Readable.from(slow(), { objectMode: false }))
  await sleep(2 * silenceMs)
  t.is(await text(body), 'one two three')
})

test('an answer that is not read does not keep its connection', async (t) => {
  const { body } = await passing(t, 60_000)(await echo(t))
  body.destroy()
  t.true(body.destroyed)
})
