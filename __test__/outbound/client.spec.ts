import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import {
  type Outbound,
  type OutboundFault,
  type OutboundRequest,
  type OutboundSetup,
  openOutbound,
  pauseMs,
  retryAfterMs,
  retrying,
} from '../../ts/outbound/index.js'

type Seen = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { readonly body: string }

/** A server that records requests. */
async function receiver(t: ExecutionContext, answer: (seen: Seen, response: ServerResponse) => void) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      const received = { method, url, headers, body: Buffer.concat(chunks).toString() }
      seen.push(received)
      answer(received, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { seen, port, url: `http://127.0.0.1:${port}` }
}

function outbound(t: ExecutionContext, setup: Partial<OutboundSetup> = {}): Outbound {
  const opened = openOutbound({ allowedNetworks: ['127.0.0.0/8'], ...setup })
  t.teardown(() => opened.close())
  return opened
}

const get = (url: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
  method: 'GET',
  url,
  timeoutMs: 5_000,
  answerBytesMax: 1_000,
  ...more,
})

async function fails(t: ExecutionContext, call: Promise<unknown>, fault: OutboundFault): Promise<void> {
  const error = await t.throwsAsync(call, { name: 'OutboundError' })
  t.is((error as { fault?: string } | undefined)?.fault, fault, error?.message)
}

test('a call returns status, headers and body for any status', async (t) => {
  const { url, seen } = await receiver(t, (_, response) => response.writeHead(418, { 'x-a': 'b' }).end('tea'))
  const answer = await outbound(t).call(
    get(`${url}/p?q=1`, { method: 'POST', body: 'in', headers: { k: 'v' } }),
  )
  t.deepEqual([answer.status, answer.headers['x-a'], answer.body.toString()], [418, 'b', 'tea'])
  t.like(seen[0], { method: 'POST', url: '/p?q=1', body: 'in' })
  t.is(seen[0]?.headers.k, 'v')
})

test('a streamed body is sent in chunks, and again after a redirect that keeps the method', async (t) => {
  const { url, seen } = await receiver(t, (one, response) =>
    one.url === '/from' ? response.writeHead(307, { location: '/to' }).end() : response.end(),
  )
  async function* body() {
    yield Buffer.from('one ')
    yield Buffer.from('two')
  }
  await outbound(t).call(get(`${url}/from`, { method: 'POST', body, headers: { authorization: 'me' } }))
  t.deepEqual(
    seen.map(({ url: path, body: sent, headers }) => [
      path,
      sent,
      headers['transfer-encoding'],
      headers.authorization,
    ]),
    [
      ['/from', 'one two', 'chunked', 'me'],
      ['/to', 'one two', 'chunked', 'me'],
    ],
  )
})

test('a redirect to another origin drops the headers of the caller', async (t) => {
  const other = await receiver(t, (_, response) => response.end())
  const first = await receiver(t, (_, response) =>
    response.writeHead(302, { location: `${other.url}/there` }).end(),
  )
  const headers = { authorization: 'secret', 'x-token': 'secret', 'content-type': 'a/b' }
  await outbound(t).call(get(first.url, { method: 'POST', body: 'x', headers }))
  const [there] = other.seen
  t.deepEqual([there?.method, there?.body], ['GET', ''])
  t.false(JSON.stringify(there?.headers).includes('secret'))
})

for (const status of [301, 302, 303, 307, 308])
  test(`a call that refuses redirects sends nothing to the target of a ${status}`, async (t) => {
    const other = await receiver(t, (_, response) => response.end())
    const first = await receiver(t, (one, response) =>
      response.writeHead(status, { location: one.url === '/near' ? '/there' : `${other.url}/there` }).end(),
    )
    for (const path of ['/near', '/far']) {
      const call = get(`${first.url}${path}`, { method: 'POST', body: 'secret', redirects: 'refused' })
      await fails(t, outbound(t).call(call), 'redirects')
    }
    t.deepEqual(
      first.seen.map(({ url }) => url),
      ['/near', '/far'],
    )
    t.deepEqual(other.seen, [])
  })

test('addresses that are not public are refused as literals, names and redirect targets', async (t) => {
  const { url, port, seen } = await receiver(t, (one, response) =>
    response
      .writeHead(302, { location: one.url === '/meta' ? 'http://169.254.169.254/' : 'http://10.0.0.1/' })
      .end(),
  )
  const names: Record<string, string[]> = {
    'inside.example': ['127.0.0.1'],
    'both.example': ['93.184.215.14', '127.0.0.1'],
    'loop.example': ['127.0.0.1'],
  }
  const resolve: OutboundSetup['resolve'] = (name, _, callback) =>
    callback(
      null,
      (names[name] ?? []).map((address) => ({ address, family: 4 })),
    )
  const strict = outbound(t, { allowedNetworks: [], resolve })
  for (const target of [
    url,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://0x7f000001:${port}/`,
    `http://2130706433:${port}/`,
    `http://inside.example:${port}/`,
    `http://both.example:${port}/`,
  ]) {
    await fails(t, strict.call(get(target)), 'refused')
  }
  t.is(seen.length, 0)
  const lenient = outbound(t, { resolve })
  await fails(t, lenient.call(get(`${url}/meta`)), 'refused')
  await fails(t, lenient.call(get(`http://loop.example:${port}/x`)), 'refused')
  t.is(seen.length, 2, 'the first hop was allowed')
})

test('a call without an answer throws the reason', async (t) => {
  const { url } = await receiver(t, (one, response) => {
    if (one.url === '/silent') return
    if (one.url === '/round') response.writeHead(302, { location: '/round' }).end()
    else if (one.url === '/cut')
      response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy())
    else response.end('x'.repeat(2_000))
  })
  const client = outbound(t)
  await fails(t, client.call(get(`${url}/silent`, { timeoutMs: 50 })), 'timeout')
  await fails(t, client.call(get(`${url}/round`)), 'redirects')
  await fails(t, client.call(get(`${url}/large`)), 'too_large')
  await fails(t, client.call(get(`${url}/cut`)), 'unreachable')
  await fails(t, client.call(get('http://127.0.0.1:1/')), 'unreachable')
  for (const headers of [{ a: 'b\nc' }, { 'a b': 'c' }, { '': 'c' }, { a: '€' }])
    await fails(t, client.call(get(`${url}/round`, { headers })), 'url')
  await fails(t, client.call(get('ftp://127.0.0.1/')), 'url')
  await fails(t, client.call(get('nowhere')), 'url')
  const abort = new AbortController()
  const call = client.call(get(`${url}/silent`, { signal: abort.signal }))
  abort.abort()
  await fails(t, call, 'aborted')
  t.is((await client.call(get(`${url}/large`, { answerBytesMax: null }))).body.length, 0)
})

const streamed = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

test('a long answer is streamed, with the headers of the redirects before it', async (t) => {
  const other = await receiver(t, (_, response) => response.writeHead(206, { 'x-b': '2' }).end('est'))
  const { url } = await receiver(t, (_, response) =>
    response.writeHead(302, { location: other.url, 'x-a': '1' }).end(),
  )
  const headers = { range: 'bytes=1-', authorization: 'me' }
  const { status, headers: last, redirects, body } = await outbound(t).stream({ url, headers, idleMs: 5_000 })
  t.deepEqual([status, last['x-b'], redirects.map((one) => one['x-a'])], [206, '2', ['1']])
  t.is(await streamed(body), 'est')
  t.is(other.seen[0]?.headers.range, 'bytes=1-')
  t.is(other.seen[0]?.headers.authorization, undefined, 'it may be a secret')
})

test('a long answer that does not begin, stalls, is cut or is aborted throws the reason', async (t) => {
  const { url } = await receiver(t, ({ url: path }, response) => {
    if (path === '/silent') return
    response.writeHead(200, { 'content-length': 100 })
    response.write('begun', () => path === '/cut' && response.destroy())
  })
  const client = outbound(t)
  await fails(t, client.stream({ url: `${url}/silent`, idleMs: 100 }), 'timeout')
  await fails(t, client.stream({ url: 'http://10.0.0.1/', idleMs: 100 }), 'refused')
  const pausing = await client.stream({ url: `${url}/pausing`, idleMs: 2_000 })
  await fails(t, streamed(pausing.body), 'timeout')
  const cut = await client.stream({ url: `${url}/cut`, idleMs: 5_000 })
  await fails(t, streamed(cut.body), 'unreachable')
  const giving = new AbortController()
  const given = await client.stream({ url: `${url}/pausing`, idleMs: 5_000, signal: giving.signal })
  giving.abort()
  await fails(t, streamed(given.body), 'aborted')
})

test('a reader may take longer for a part of a long answer than the other side may pause', async (t) => {
  const { url } = await receiver(t, (_, response) => {
    response.write('a'.repeat(70_000))
    setImmediate(() => response.end('b'))
  })
  const { body } = await outbound(t).stream({ url, idleMs: 1_000 })
  let [bytes, chunks] = [0, 0]
  for await (const chunk of body) {
    bytes += chunk.length
    if (++chunks === 1) await sleep(2_000)
  }
  t.is(bytes, 70_001)
  t.true(chunks > 1)
})

test('pauses double up to the last, and half of each is random', (t) => {
  const backoff = { firstMs: 100, lastMs: 1_000 }
  t.deepEqual(
    [1, 2, 3, 4, 5, 5_000].map((failures) => pauseMs(failures, backoff, () => 1)),
    [100, 200, 400, 800, 1_000, 1_000],
  )
  t.is(
    pauseMs(1, backoff, () => 0),
    50,
  )
})

test('a temporary failure is retried, up to a number of attempts', async (t) => {
  const policy = {
    firstMs: 1,
    lastMs: 2,
    attemptsMax: 3,
    worthRetrying: (error: unknown) => error !== 'final',
  }
  const attempts: number[] = []
  const outcome = retrying(async (attempt) => {
    attempts.push(attempt)
    if (attempt < 3) throw 'again'
    return 'done'
  }, policy)
  t.is(await outcome, 'done')
  t.deepEqual(attempts, [1, 2, 3])
  let calls = 0
  const hopeless = async (error: string) => {
    calls++
    throw error
  }
  await t.throwsAsync(
    retrying(() => hopeless('again'), policy),
    { any: true },
  )
  await t.throwsAsync(
    retrying(() => hopeless('final'), policy),
    { any: true },
  )
  t.is(calls, 4)
})

test('Retry-After is parsed as seconds and as a date', (t) => {
  t.is(retryAfterMs({ 'retry-after': '3' }), 3_000)
  t.is(retryAfterMs({ 'retry-after': 'Thu, 01 Jan 1970 00:00:09 GMT' }, 4_000), 5_000)
  t.is(retryAfterMs({ 'retry-after': 'soon' }), null)
  t.is(retryAfterMs({}), null)
})

test('concurrent calls to one name resolve it once, later calls again', async (t) => {
  let lookups = 0
  const resolve: OutboundSetup['resolve'] = (_name, _options, callback) => {
    lookups += 1
    setTimeout(() => callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []), 20)
  }
  const { call } = outbound(t, { allowedNetworks: [], resolve })
  const failed = (port: number) =>
    t.throwsAsync(
      call({ method: 'GET', url: `http://nowhere.test:${port}/`, timeoutMs: 5_000, answerBytesMax: null }),
      { message: /nowhere\.test/ },
    )
  // Each port is an origin with its own connection.
  await Promise.all([1, 2, 3, 4].map(failed))
  t.is(lookups, 1)
  await failed(5)
  t.is(lookups, 2)
})

/** Creates a resolver without answers. Calls through it wait without a connection. */
function heldResolver() {
  let asked: () => void = () => undefined
  const wasAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const resolve: OutboundSetup['resolve'] = () => asked()
  return { wasAsked, resolve }
}

test('an aborted call ends at once while its connection is not established', async (t) => {
  const { wasAsked, resolve } = heldResolver()
  const controller = new AbortController()
  const request = get('http://example.test/', { signal: controller.signal, timeoutMs: 60_000 })
  const calls = outbound(t, { resolve })
  const ends: string[] = []
  const call = calls.call(request).finally(() => ends.push('call'))
  const stream = calls.stream({ ...request, idleMs: 60_000 }).finally(() => ends.push('stream'))
  await wasAsked
  controller.abort()
  const both = Promise.all([fails(t, call, 'aborted'), fails(t, stream, 'aborted')])
  await new Promise((done) => setImmediate(done))
  t.deepEqual(ends.sort(), ['call', 'stream'])
  await both
})

test('close ends calls whose connection is not established, and their sockets', async (t) => {
  const { wasAsked, resolve } = heldResolver()
  const calls = openOutbound({ allowedNetworks: 'any', resolve })
  const failing = fails(t, calls.call(get('http://example.test/', { timeoutMs: 60_000 })), 'unreachable')
  await wasAsked
  await calls.close()
  await failing
})
