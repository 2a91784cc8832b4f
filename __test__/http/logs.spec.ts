import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import test from 'ava'
import { startServer } from '../support/server.js'

/** An open log stream, and its output so far. */
function open(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ text: () => string; ended: Promise<void>; close: () => void; headers: object }> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      `${url}/logs/stream`,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      (answer) => {
        const chunks: string[] = []
        answer.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
        const ended = new Promise<void>((done) => answer.once('close', done))
        resolve({
          text: () => chunks.join(''),
          ended,
          close: () => outgoing.destroy(),
          headers: answer.headers,
        })
      },
    )
    outgoing.once('error', reject)
    outgoing.end(JSON.stringify(body))
  })
}

const until = async (met: () => boolean): Promise<void> => {
  while (!met()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('the log can be streamed by one client at a time, from a level on', async (t) => {
  const server = await startServer(t, { features: ['logsRoute'] })
  const stream = await open(server.url, { mode: 'json', target: 'info' })
  t.like(stream.headers, { 'x-accel-buffering': 'no', 'content-type': 'application/octet-stream' })
  await server.get('/health')
  await until(() => stream.text().includes('/health'))
  const [line] = stream.text().split('\n')
  t.like(JSON.parse(line ?? ''), { level: 'INFO', msg: 'HTTP request', route: '/health', status_code: 200 })

  t.is((await server.post('/logs/stream', {})).body.code, 'bad_request')
  t.is((await server.delete('/logs/stream')).status, 204)
  await stream.ended
  t.is((await server.delete('/logs/stream')).status, 204)

  const quiet = await open(server.url, { target: 'error' })
  await server.get('/health')
  quiet.close()
  await quiet.ended
  t.is(quiet.text(), '')
  // A disconnected client makes room for the next one, when the server notices.
  let human = await open(server.url, { target: 'siftd=debug' })
  while (!('x-accel-buffering' in human.headers)) human = await open(server.url, { target: 'siftd=debug' })
  await server.get('/version')
  await until(() => human.text().includes('/version'))
  t.regex(human.text(), /^\S+ INFO {2}http: HTTP request /m)
})

test('a line of a request has the code of its error, and no code without one', async (t) => {
  const server = await startServer(t, { features: ['logsRoute'] })
  const stream = await open(server.url, { mode: 'json' })
  await server.get('/indexes/ghost')
  await server.post('/indexes/films/search', 'no json')
  await server.get('/health')
  await until(() => stream.text().includes('/health'))
  const lines = stream
    .text()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  const shown = (route: string): unknown => lines.find((line) => 'route' in line && line.route === route)
  t.like(shown('/indexes/ghost'), { status_code: 404, error: 'index_not_found' })
  t.like(shown('/indexes/films/search'), { status_code: 400, error: 'malformed_payload' })
  t.false('error' in (shown('/health') as object))
})

test('a stream shows the lines of modules that its target names, from their levels on', async (t) => {
  const server = await startServer(t, { features: ['logsRoute'] })
  const expected = {
    'http=info': true,
    'HTTP=DEBUG': true,
    'siftd::http=info': true,
    'siftd=debug': true,
    'meilisearch=info': true,
    'info,tasks=off': true,
    'warn,http=info': true,
    'tasks=trace': false,
    'tasks=trace,warn': false,
    'info,http=warn': false,
    'siftd=info,http=off': false,
    'tantivy=info': false,
    off: false,
  }
  const shown: Record<string, boolean> = {}
  for (const target of Object.keys(expected)) {
    const stream = await open(server.url, { mode: 'json', target })
    await server.get('/health')
    // The line of a request is written before the line of a later one. This request ends the stream.
    await server.delete('/logs/stream')
    await stream.ended
    shown[target] = stream.text().includes('/health')
  }
  t.deepEqual(shown, expected)
})

test('a log request with a wrong target, mode or member is refused with its code', async (t) => {
  const server = await startServer(t, { features: ['logsRoute'] })
  for (const [body, code] of [
    [{ target: '' }, 'bad_request'],
    [{ target: 'loud' }, 'bad_request'],
    [{ mode: 'loud' }, 'bad_request'],
    [{ profileMemory: true }, 'invalid_settings_typo_tolerance'],
    [{ other: 1 }, 'bad_request'],
  ] as const)
    t.is((await server.post('/logs/stream', body)).body.code, code, JSON.stringify(body))
  t.is((await server.post('/logs/stderr', { target: 'OFF' })).status, 204)
  t.is((await server.post('/logs/stderr', { target: 'loud' })).body.code, 'bad_request')
  const off = await startServer(t)
  t.is((await off.post('/logs/stream', {})).body.code, 'feature_not_enabled')
})

test('the value of a key in a path is masked in the log, its uid is not', async (t) => {
  const server = await startServer(t, { features: ['logsRoute'], masterKey: 'a-master-key-of-16-bytes' })
  const { key, uid } = (await server.get('/keys')).body.results[0]!
  const stream = await open(
    server.url,
    { mode: 'json' },
    { authorization: 'Bearer a-master-key-of-16-bytes' },
  )
  await server.get(`/keys/${uid}`)
  const paths = [`/keys/${key}`, `//keys///${key}/`, `/%6beys/${key}`, `/keys/${key}?a=b`]
  for (const path of paths) await server.get(path)
  // The request line of a client that takes the server for a proxy.
  const proxied = httpRequest(server.url, { path: `http://h/keys/${key}` }).end()
  ;(await once(proxied, 'response'))[0].resume()
  await server.post(`/keys/${key}`)
  await server.delete(`/keys/${key}0`)
  await server.get('/health')
  await until(() => stream.text().includes('/health'))
  t.true(stream.text().includes(`/keys/${uid}`))
  t.true(stream.text().includes(`/keys/${String(key).slice(0, 5)}XXXXXX...`))
  t.false(stream.text().includes(String(key).slice(0, 10)))
})

test('a stream ends when its key is deleted or the feature is switched off', async (t) => {
  const masterKey = 'a-master-key-of-16-bytes'
  const server = await startServer(t, { features: ['logsRoute'], masterKey })
  const { key, uid } = (
    await server.post('/keys', { actions: ['metrics.get'], indexes: ['*'], expiresAt: null })
  ).body
  const ofKey = await open(server.url, { mode: 'json' }, { authorization: `Bearer ${key}` })
  t.is((await server.delete(`/keys/${uid}`)).status, 204)
  await server.get('/indexes/later')
  await ofKey.ended
  t.false(ofKey.text().includes('/indexes/later'))

  const ofMaster = await open(server.url, { mode: 'json' }, { authorization: `Bearer ${masterKey}` })
  t.is((await server.patch('/experimental-features', { logsRoute: false })).status, 200)
  await server.get('/indexes/later')
  await ofMaster.ended
  t.false(ofMaster.text().includes('/indexes/later'))
})

test('a client that stopped reading loses the stream to the next one', async (t) => {
  const server = await startServer(t, { features: ['logsRoute'], unreadMsMax: 50 })
  const body = '{"mode":"json"}'
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  socket.write(
    `POST /logs/stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await once(socket, 'data')
  socket.pause()
  // Each request writes a long line, until all buffers are full.
  const headers = { 'user-agent': 'x'.repeat(10_000) }
  for (;;) {
    const lines = Array.from({ length: 20 }, () => server.get('/health', { headers }))
    await Promise.all(lines)
    const next = await open(server.url, {})
    if ('x-accel-buffering' in next.headers) break
    await next.ended
  }
  await server.delete('/logs/stream')
  t.pass()
})
