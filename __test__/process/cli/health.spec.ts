/** `siftd health`, run as a process. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import test from 'ava'
import { tempDir } from '../../backup/archives.js'
import { runCommand } from '../../support/command.js'
import { startDaemon } from '../../support/daemon.js'
import { makeAuthority, openssl } from '../../support/openssl.js'
import { freePort } from '../../support/ports.js'
import { ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

const health = (address: string, env: Readonly<Record<string, string>> = {}) =>
  runCommand(['health'], '', { SVC_HTTP_ADDR: address, ...env })

test('a server is available without a key, also with the wildcard address', async (t) => {
  const directory = await tempDir(t)
  const env = { SVC_MASTER_KEY: 'a-master-key-of-a-trial' }
  const { port } = await startDaemon(t, join(directory, 'data'), ['--engine', 'fallback'], env)
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    const { code, lines } = await health(`${host}:${port}`)
    t.deepEqual([code, lines], [0, [`${host}:${port}: available`]])
    const ready = await runCommand(['health', '--ready'], '', { SVC_HTTP_ADDR: `${host}:${port}` })
    t.deepEqual([ready.code, ready.lines], [0, [`${host}:${port}: ready`]])
  }
})

test('--url checks another server, also when this one has an invalid configuration', async (t) => {
  const directory = await tempDir(t)
  const { port } = await startDaemon(t, join(directory, 'data'), ['--engine', 'fallback'])
  const url = `http://127.0.0.1:${port}`
  const found = await runCommand(['health', '--url', url], '', { SVC_HTTP_ADDR: 'nonsense' })
  t.deepEqual([found.code, found.lines], [0, [`${url}: available`]])
  const ready = await runCommand(['health', '--ready', '--url', `${url}/`])
  t.deepEqual([ready.code, ready.lines], [0, [`${url}: ready`]])
  const nothing = `http://127.0.0.1:${await freePort()}`
  const refused = await runCommand(['health', '--url', nothing])
  t.deepEqual([refused.code, refused.lines], [1, [`${nothing}: does not answer: ECONNREFUSED`]])
  t.is((await runCommand(['health', '--url', 'localhost:7700'])).code, 2)
})

test('an address without a server, or with another program, is a finding', async (t) => {
  const address = `127.0.0.1:${await freePort()}`
  const nothing = await health(address)
  t.deepEqual([nothing.code, nothing.lines], [1, [`${address}: does not answer: ECONNREFUSED`]])
  const answers = { 'answers with status 503': 'HTTP/1.1 503 Busy\r\n\r\n', 'does not answer: ': 'hello\r\n' }
  for (const [fault, answer] of Object.entries(answers)) {
    const other = createServer((socket) => void socket.end(answer)).listen(0, '127.0.0.1')
    t.teardown(() => void other.close())
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as { readonly port: number }
    const { code, lines } = await health(`127.0.0.1:${port}`)
    t.is(code, 1)
    t.true(lines.join().includes(fault), lines.join())
  }
})

test('a server that accepts and never answers is a finding', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  t.teardown(() => void silent.close())
  const { port } = silent.address() as { readonly port: number }
  const { code, lines } = await health(`127.0.0.1:${port}`)
  t.deepEqual([code, lines], [1, [`127.0.0.1:${port}: does not answer within 4 seconds`]])
})

test('an invalid option and an unknown port are wrong usage', async (t) => {
  for (const address of ['nonsense', '127.0.0.1:0']) t.is((await health(address)).code, 2, address)
})

for (const isDemanded of [false, true])
  testNeeding([openssl])(
    `a server with TLS is available${isDemanded ? ' when it demands client certificates' : ''}`,
    async (t) => {
      const authority = await makeAuthority(t)
      const { cert, key } = await authority.issue('server')
      const ssl = {
        SVC_SSL_CERT_PATH: cert,
        SVC_SSL_KEY_PATH: key,
        ...(isDemanded && { SVC_SSL_AUTH_PATH: authority.certificate, SVC_SSL_REQUIRE_AUTH: 'true' }),
      }
      const started = await ServerProcess.start({
        data: authority.path('data'),
        engine: 'fallback',
        env: ssl,
        startMsMax: 60_000,
      })
      if (started.kind !== 'listening') return t.fail(JSON.stringify(started))
      t.teardown(() => started.server.kill())
      const address = new URL(started.server.url).host.replace('localhost', '127.0.0.1')
      const { code, lines, errors } = await health(address, ssl)
      t.deepEqual([code, lines], [0, [`${address}: available`]], errors.join())
      const plain = await health(address)
      t.is(plain.code, 1, 'without TLS it does not answer')
    },
  )

test('--url may have the path of a proxy', async (t) => {
  const server = createHttpServer(({ url }, response) =>
    response.writeHead(url === '/below/health' ? 200 : 404).end(),
  ).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const outcome = await runCommand(['health', '--url', `http://127.0.0.1:${port}/below/`])
  t.deepEqual([outcome.code, outcome.lines], [0, [`http://127.0.0.1:${port}: available`]])
  const wrong = await runCommand(['health', '--url', `http://127.0.0.1:${port}/other`])
  t.deepEqual([wrong.code, wrong.lines], [1, [`http://127.0.0.1:${port}: answers with status 404`]])
})
