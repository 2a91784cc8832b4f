import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
} from 'node:zlib'
import test from 'ava'
import { rawSocket, readText } from '../support/raw-socket.js'
import { checkError, checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

test('an unknown path answers 404 and a wrong verb 405 with the allowed ones, both without a body', async (t) => {
  const server = await startServer(t, { masterKey: 'a-master-key-of-20-b' })
  const cases = [
    ['GET', '/ghost', 404, undefined],
    ['HEAD', '/ghost', 404, undefined],
    ['POST', '/indexes/a/settings/ghost', 404, undefined],
    ['HEAD', '/health', 405, 'GET'],
    ['PATCH', '/indexes', 405, 'GET, POST'],
    ['PATCH', '/indexes/a/settings/stop-words', 405, 'DELETE, GET, PUT'],
    ['GET', '/indexes/a/documents/fetch', 405, 'POST'],
    ['DELETE', '/indexes/a/documents/delete-batch', 405, 'POST'],
    ['PUT', '/indexes/a/documents/edit', 405, 'POST'],
    ['GET', '/tasks/cancel', 405, 'POST'],
  ] as const
  for (const [method, path, status, allow] of cases) {
    const answer = await server.request(method, path, { headers: { authorization: undefined } })
    t.is(answer.status, status, `${method} ${path}`)
    t.is(answer.bytes.length, 0)
    t.is(answer.headers.allow?.split(', ').sort().join(', '), allow)
  }
})

test('a trailing slash and runs of slashes change nothing', async (t) => {
  const server = await startServer(t)
  for (const path of ['/indexes/', '//indexes', '/indexes//', '/indexes/?limit=3']) {
    t.is((await server.get(path)).status, 200, path)
  }
})

test('a route without a declared body needs none, whatever the content type', async (t) => {
  const server = await startServer(t)
  const headers = { 'content-type': 'application/json' }
  t.is((await server.request('POST', '/dumps', { headers })).status, 202)
  t.is((await server.request('GET', '/health', { headers })).status, 200)
  t.is((await server.request('DELETE', '/indexes/ghost', { headers })).status, 202)
  t.is((await server.request('POST', '/tasks/cancel?uids=0', { headers })).status, 200)
})

test('JSON answers have the content type JSON, without a charset', async (t) => {
  const server = await startServer(t)
  t.is((await server.get('/health')).headers['content-type'], 'application/json')
  t.is((await server.get('/indexes/ghost')).headers['content-type'], 'application/json')
})

test('requests from pages of other origins are allowed, and their preflights need no key', async (t) => {
  const server = await startServer(t, { masterKey: 'a-master-key-of-20-b' })
  const preflight = await server.request('OPTIONS', '/indexes/a/search', {
    headers: {
      authorization: undefined,
      origin: 'https://shop.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  })
  t.is(preflight.status, 200)
  t.is(preflight.bytes.length, 0)
  t.is(preflight.headers['access-control-allow-headers'], 'authorization,content-type')
  t.is(preflight.headers['access-control-max-age'], '86400')
  for (const path of ['/health', '/indexes/ghost', '/ghost']) {
    const asked = await server.get(path, { headers: { origin: 'https://shop.example' } })
    t.is(asked.headers['access-control-allow-origin'], '*', path)
    t.is((await server.get(path)).headers['access-control-allow-origin'], undefined, path)
  }
})

test('answers are compressed as requested, small ones and errors too; brotli wins a tie', async (t) => {
  const server = await startServer(t)
  const cases = [
    ['gzip', 'gzip', gunzipSync],
    ['deflate', 'deflate', inflateSync],
    ['br', 'br', brotliDecompressSync],
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['*', undefined, (bytes: Buffer) => bytes],
    ['zstd', undefined, (bytes: Buffer) => bytes],
  ] as const
  for (const [accepted, encoding, decode] of cases) {
    const headers = { 'accept-encoding': accepted }
    const answer = await server.get('/health', { headers })
    t.is(answer.headers['content-encoding'], encoding, accepted)
    t.deepEqual(JSON.parse(decode(answer.bytes).toString()), { status: 'available' })
    const failed = await server.get('/indexes/ghost', { headers })
    t.is(failed.headers['content-encoding'], encoding)
    t.is(JSON.parse(decode(failed.bytes).toString()).code, 'index_not_found')
  }
})

test('compressed bodies are decompressed, bodies of unknown encodings are read unchanged', async (t) => {
  const server = await startServer(t)
  const body = Buffer.from('{"uid":"boats"}')
  const encoded = [
    ['gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['br', brotliCompressSync(body)],
    ['rot13', body],
  ] as const
  for (const [encoding, bytes] of encoded) {
    const answer = await server.post('/indexes', bytes, { headers: encodingHeaders(encoding) })
    t.is(answer.status, 202, encoding)
  }
  await checkRefusals(t, server, [
    { path: '/indexes', body, headers: encodingHeaders('gzip'), code: 'bad_request' },
    { path: '/indexes/a/documents', body, headers: encodingHeaders('br'), code: 'bad_request' },
    {
      path: '/indexes/a/documents',
      body: gzipSync(body).subarray(0, 20),
      headers: encodingHeaders('gzip'),
      code: 'bad_request',
    },
  ])
})

test('the body limit counts decompressed bytes, exactly, and leaves the connection usable', async (t) => {
  const server = await startServer(t, { payloadBytesMax: 1000 })
  const document = (bytes: number): string => `{"id":1,"t":"${'x'.repeat(bytes - 15)}"}`
  t.is(Buffer.byteLength(document(1000)), 1000)
  t.is((await server.post('/indexes/a/documents', document(1000))).status, 202)
  const tooLarge = { code: 'payload_too_large', status: 413, names: '1000' }
  await checkRefusals(t, server, [
    { path: '/indexes/a/documents', body: document(1001), ...tooLarge },
    {
      path: '/indexes/a/documents',
      body: gzipSync(document(100_000)),
      headers: encodingHeaders('gzip'),
      ...tooLarge,
    },
    { path: '/indexes/a/search', body: { q: 'x'.repeat(2000) }, ...tooLarge },
    {
      path: '/indexes/a/search',
      body: gzipSync(document(3000)),
      headers: encodingHeaders('gzip'),
      ...tooLarge,
    },
  ])

  const socket = rawSocket(server.url)
  t.teardown(() => socket.destroy())
  const body = document(5000)
  const head = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  socket.write(
    `POST /indexes/a/search HTTP/1.1\r\n${head}\r\n\r\n${body}GET /health HTTP/1.1\r\nhost: x\r\n\r\n`,
  )
  t.regex(await readText(socket, /available/), /^HTTP\/1\.1 413 [\s\S]*HTTP\/1\.1 200 /)
})

test('a request that asks for another protocol is answered, and the connection ends', async (t) => {
  const server = await startServer(t)
  const socket = rawSocket(server.url)
  t.teardown(() => socket.destroy())
  const head = 'GET /health HTTP/1.1\r\nhost: x\r\n'
  socket.write(`${head}upgrade: h2c\r\nconnection: upgrade\r\n\r\n${head}\r\n`)
  t.regex(await readText(socket), /^HTTP\/1\.1 200 [\s\S]*connection: close/i)
})

test('an aborted upload leaves nothing behind', async (t) => {
  const server = await startServer(t)
  const socket = rawSocket(server.url)
  const head = 'host: x\r\ncontent-type: application/json\r\ncontent-length: 100'
  await new Promise<void>((resolve) => {
    socket.write(`POST /indexes/a/documents HTTP/1.1\r\n${head}\r\n\r\n[{"id":1},`, () => resolve())
  })
  socket.destroy()
  const { body } = await server.get('/tasks')
  t.is(body.total, 0)
})

test('bytes that are not an HTTP request are answered with an error body', async (t) => {
  const server = await startServer(t)
  const cases = [
    ['NONSENSE\r\n\r\n', 400],
    [`GET /health HTTP/1.1\r\nx-long: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
  ] as const
  for (const [bytes, status] of cases) {
    const socket = rawSocket(server.url)
    socket.write(bytes)
    const received = await readText(socket)
    const [head, body] = received.split('\r\n\r\n')
    t.true(head?.startsWith(`HTTP/1.1 ${status} `), received)
    t.is((JSON.parse(body ?? '') as { code: string }).code, 'bad_request')
  }
  t.is((await server.get('/health')).status, 200)
})

test('a path that cannot be decoded is a bad request', async (t) => {
  const server = await startServer(t)
  checkError(t, await server.get('/indexes/%E0%A4%A/stats'), 400, 'bad_request')
})

function encodingHeaders(encoding: string): Record<string, string> {
  return { 'content-encoding': encoding }
}
