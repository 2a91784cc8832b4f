import { copyFile, rename, writeFile } from 'node:fs/promises'
import { Agent, request as httpsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import type { ExecutionContext } from 'ava'
import { type Authority, makeAuthority, openssl } from '../../support/openssl.js'
import { otherThanWindows } from '../../support/requirements.js'
import { ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

const test = testNeeding([openssl, otherThanWindows('SIGHUP')])

/** Timeout for a reload. The server checks the files every two seconds. */
const RELOAD_MS_MAX = 30_000

interface Answered {
  readonly status: number
  /** Common name of the server certificate on this connection. */
  readonly certificate: string
  readonly localPort: number
}

/** A client that keeps one connection. */
function client(t: ExecutionContext, port: number): (pause?: Promise<unknown>) => Promise<Answered> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  t.teardown(() => agent.destroy())
  return (pause) =>
    new Promise((resolve, reject) => {
      const body = '{"uid":"late"}'
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      const sent = httpsRequest({ agent, port, host: '127.0.0.1', path: '/indexes', method: 'POST', headers })
      sent.once('error', reject)
      sent.once('response', (response) => {
        const socket = response.socket as TLSSocket
        const { localPort = 0 } = socket
        const certificate = String(socket.getPeerCertificate().subject.CN)
        response
          .resume()
          .once('end', () => resolve({ status: response.statusCode ?? 0, certificate, localPort }))
      })
      sent.write(body.slice(0, 5))
      void Promise.resolve(pause).then(() => sent.end(body.slice(5)))
    })
}

async function start(
  t: ExecutionContext,
): Promise<{ authority: Authority; server: ServerProcess; port: number }> {
  const authority = await makeAuthority(t)
  for (const name of ['old', 'new']) await authority.issue(name)
  const [cert, key] = [authority.path('server.pem'), authority.path('server.key')]
  await replace(authority, 'old')
  const started = await ServerProcess.start({
    data: authority.path('data'),
    engine: 'fallback',
    args: ['--ssl-cert-path', cert, '--ssl-key-path', key, '--ssl-tickets', '--ssl-resumption'],
    startMsMax: 60_000,
  })
  if (started.kind !== 'listening') throw new Error(started.errors)
  t.teardown(() => started.server.kill())
  return { authority, server: started.server, port: Number(new URL(started.server.url).port) }
}

/** Replaces the certificate, then the key, with those of `name`. */
async function replace({ path }: Authority, name: string): Promise<void> {
  for (const kind of ['pem', 'key']) {
    await copyFile(path(`${name}.${kind}`), path('fresh'))
    await rename(path('fresh'), path(`server.${kind}`))
  }
}

async function shownUntil(t: ExecutionContext, port: number, certificate: string): Promise<boolean> {
  const end = performance.now() + RELOAD_MS_MAX
  while (performance.now() < end) {
    if ((await client(t, port)()).certificate === certificate) return true
    await sleep(100)
  }
  return false
}

for (const { how, ask } of [
  { how: 'SIGHUP', ask: (server: ServerProcess) => server.signal('SIGHUP') },
  { how: 'a change of the files', ask: () => undefined },
]) {
  test(`after ${how} new connections get the new certificate, and old connections stay open`, async (t) => {
    const { authority, server, port } = await start(t)
    const [idle, busy] = [client(t, port), client(t, port)]
    const before = await idle()
    t.is(before.certificate, 'old')
    let finish = (): void => undefined
    const underWay = busy(new Promise<void>((resolve) => (finish = resolve)))
    await replace(authority, 'new')
    ask(server)
    t.true(await shownUntil(t, port, 'new'))
    finish()
    t.like(await underWay, { status: 401, certificate: 'old' }, 'the request in flight was answered')
    t.deepEqual(await idle(), before, 'the idle connection is still open')
    t.is(await server.stop(30_000), 0)
  })
}

test('unusable files are logged once, and the current certificate stays in use', async (t) => {
  const { authority, server, port } = await start(t)
  await copyFile(authority.path('new.key'), authority.path('server.key'))
  const errors = () => server.log.filter(({ level }) => level === 'ERROR' || level === 'error')
  const end = performance.now() + RELOAD_MS_MAX
  while (errors().length === 0 && performance.now() < end) await sleep(100)
  t.regex(errors()[0]?.msg ?? '', /the old ones stay in use: --ssl-key-path: .* does not match/)
  t.is((await client(t, port)()).certificate, 'old')
  await sleep(5_000)
  t.is(errors().length, 1, 'the same files are not reported again')
  await writeFile(authority.path('server.pem'), '')
  server.signal('SIGHUP')
  while (errors().length === 1 && performance.now() < end) await sleep(100)
  t.regex(errors()[1]?.msg ?? '', /--ssl-cert-path: .* holds no certificate/)
  t.is((await client(t, port)()).certificate, 'old')
  await replace(authority, 'new')
  t.true(await shownUntil(t, port, 'new'))
})
