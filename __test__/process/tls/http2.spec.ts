import { type ClientHttp2Session, connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExecutionContext } from 'ava'
import { chosenEngines } from '../../support/engines.js'
import { type Authority, makeAuthority, openssl } from '../../support/openssl.js'
import { MASTER_KEY, ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

interface Answer {
  readonly status: number
  readonly body: { readonly [key: string]: unknown }
}

/** Timeout of a task on a busy machine. */
const TASK_MS_MAX = 60_000

function ask(session: ClientHttp2Session, method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': method,
      ':path': path,
      authorization: `Bearer ${MASTER_KEY}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    })
    let [status, answer] = [0, '']
    stream.once('response', (headers) => {
      status = headers[':status'] ?? 0
    })
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      answer += chunk
    })
    stream.once('error', reject)
    stream.once('end', () => resolve({ status, body: answer === '' ? {} : JSON.parse(answer) }))
    if (body !== undefined) stream.end(JSON.stringify(body))
  })
}

async function serve(t: ExecutionContext, authority: Authority, engine: string): Promise<ServerProcess> {
  const { cert, key } = await authority.issue('server')
  const started = await ServerProcess.start({
    data: authority.path('data'),
    engine,
    args: ['--ssl-cert-path', cert, '--ssl-key-path', key, '--http-payload-size-limit', '3 MB'],
    startMsMax: 60_000,
  })
  if (started.kind !== 'listening') throw new Error(started.errors)
  t.teardown(() => started.server.kill())
  return started.server
}

for (const { name, needs } of chosenEngines) {
  testNeeding([openssl, ...needs])(`${name}: all requests work over one HTTP/2 connection`, async (t) => {
    const authority = await makeAuthority(t)
    const server = await serve(t, authority, name)
    const session = connect(server.url, { rejectUnauthorized: false })
    t.teardown(() => session.destroy())
    session.on('error', (error) => t.log(error))

    const words = 'lighthouse '.repeat(200)
    const documents = Array.from({ length: 1_000 }, (_, id) => ({ id, title: `film ${id}`, words }))
    const added = await ask(session, 'POST', '/indexes/films/documents', documents)
    t.is(added.status, 202)
    const end = performance.now() + TASK_MS_MAX
    for (let status: unknown = ''; status !== 'succeeded'; await sleep(50)) {
      status = (await ask(session, 'GET', `/tasks/${added.body.taskUid}`)).body.status
      if (status === 'failed' || performance.now() > end) return t.fail(`the task is ${status}`)
    }

    const searches = Array.from({ length: 300 }, (_, id) =>
      ask(session, 'POST', '/indexes/films/search', { q: `film ${id}`, limit: 3 }),
    )
    for (const { status, body } of await Promise.all(searches)) {
      t.is(status, 200)
      t.is((body.hits as unknown[]).length, 3)
    }
    const all = await ask(session, 'GET', '/indexes/films/documents?limit=1000')
    t.is(
      (all.body.results as unknown[]).length,
      1_000,
      'an answer longer than a flow-control window arrives completely',
    )

    const refusals = [
      await ask(session, 'POST', '/indexes/films/search', { q: 5 }),
      await ask(session, 'GET', '/nowhere'),
      await ask(session, 'PUT', '/health'),
      await ask(session, 'POST', '/indexes/films/documents', [{ id: 1, text: 'x'.repeat(4_000_000) }]),
    ]
    t.deepEqual(
      refusals.map(({ status }) => status),
      [400, 404, 405, 413],
    )
    const given = session.request({ ':method': 'POST', ':path': '/indexes/films/search' })
    given.on('error', () => undefined)
    given.close()
    t.is((await ask(session, 'GET', '/health')).status, 200, 'an aborted request does not affect others')

    const closed = new Promise((resolve) => session.once('close', resolve))
    t.is(await server.stop(30_000), 0, 'an open connection does not delay the shutdown')
    await closed
  })
}
