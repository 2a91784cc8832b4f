/** Requests that wait for the end of a task: `waitMs` of writes and of `GET /tasks/{uid}`. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { startProvider } from '../support/provider.js'
import { startServer, type TestServer, type TestServerOptions } from '../support/server.js'

/** No batch starts. */
const idle = { limits: { tasksMax: 0 } }

/** A server with an index `slow`. Its documents are indexed when `release` is called. */
async function held(
  t: ExecutionContext,
  options: TestServerOptions = {},
): Promise<{ readonly server: TestServer; readonly release: () => void }> {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const provider = await startProvider(t, async () => {
    await released
    return { embedding: [1, 0] }
  })
  const server = await startServer(t, { allowedNetworks: ['127.0.0.0/8'], ...options })
  const rest = {
    source: 'rest',
    url: provider.url,
    dimensions: 2,
    documentTemplate: 'x',
    request: { input: '{{text}}' },
    response: { embedding: '{{embedding}}' },
  }
  await server.settle(t, server.patch('/indexes/slow/settings', { embedders: { rest } }))
  return { server, release }
}

const writes: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['POST', '/indexes', { uid: 'boats' }],
  ['POST', '/indexes/boats/documents', [{ id: 1 }, { id: 2 }, { id: 3 }]],
  ['PUT', '/indexes/boats/documents?customMetadata=m', [{ id: 1, name: 'Bounty' }]],
  ['DELETE', '/indexes/boats/documents/2'],
  ['POST', '/indexes/boats/documents/delete-batch', [3]],
  ['PATCH', '/indexes/boats/settings', { filterableAttributes: ['name'] }],
  ['PUT', '/indexes/boats/settings/stop-words', ['the']],
  ['DELETE', '/indexes/boats/settings/synonyms'],
  ['POST', '/indexes/boats/documents/delete', { filter: 'name = ghost' }],
  ['POST', '/indexes/boats/compact'],
  ['POST', '/swap-indexes', [{ indexes: ['boats', 'ships'], rename: true }]],
  ['PATCH', '/indexes/ships', { uid: 'boats' }],
  ['PATCH', '/dynamic-search-rules/one', { description: 'one' }],
  ['DELETE', '/dynamic-search-rules/one'],
  ['DELETE', '/dynamic-search-rules'],
  ['POST', '/dumps'],
  ['POST', '/snapshots'],
  ['DELETE', '/indexes/boats/documents'],
  ['DELETE', '/indexes/boats'],
  ['POST', '/tasks/cancel?uids=*'],
  ['DELETE', '/tasks?statuses=failed'],
]

/** An operation of the OpenAPI description. */
interface Described {
  readonly parameters?: readonly { readonly name: string; readonly schema: { readonly default?: unknown } }[]
}

const waiting = (path: string, waitMs: number | string): string =>
  `${path}${path.includes('?') ? '&' : '?'}waitMs=${waitMs}`

test('every write that waits is answered with its complete finished task', async (t) => {
  const server = await startServer(t, { features: ['dynamicSearchRules'] })
  for (const [method, path, body] of writes) {
    const what = `${method} ${path}`
    const answer = await server.request(method, waiting(path, 60_000), { body })
    t.deepEqual([answer.status, answer.body.status], [200, 'succeeded'], `${what}: ${answer.bytes}`)
    const { taskUid, ...task } = answer.body
    t.deepEqual(task as object, (await server.get(`/tasks/${taskUid}`)).body as object, what)
  }
})

test('a write whose task fails while it waits is answered with the error of the task', async (t) => {
  const server = await startServer(t)
  const { status, body } = await server.delete('/indexes/ghost?waitMs=60000')
  t.is(status, 200)
  t.like(body, { status: 'failed', type: 'indexDeletion', error: { code: 'index_not_found' } })
})

test('a write is answered with a summary if its task ends too late or it does not wait', async (t) => {
  const server = await startServer(t, idle)
  for (const query of ['', '?waitMs=0', '?waitMs=20']) {
    const { status, body } = await server.post(`/indexes${query}`, { uid: 'boats' })
    t.deepEqual([status, body.status], [202, 'enqueued'], query)
    t.deepEqual(Object.keys(body), ['taskUid', 'indexUid', 'status', 'type', 'enqueuedAt'], query)
  }
})

test('requests do not wait by default', async (t) => {
  const { paths } = (await (await startServer(t)).get('/openapi.json')).body as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  }
  const described = Object.values(paths).flatMap((methods) => Object.values(methods))
  const found = described.flatMap(({ parameters = [] }) => parameters.filter(({ name }) => name === 'waitMs'))
  t.true(found.length >= writes.length, `${found.length}`)
  for (const { schema } of found) t.is(schema.default, 0)
})

test('a task is answered when it has finished, or in its current state when the time is over', async (t) => {
  const { server, release } = await held(t)
  const { taskUid } = (await server.post('/indexes/slow/documents', [{ id: 1 }])).body
  t.regex((await server.get(`/tasks/${taskUid}?waitMs=20`)).body.status, /enqueued|processing/)
  const answer = server.get(`/tasks/${taskUid}?waitMs=60000`)
  release()
  t.like((await answer).body, { uid: taskUid, status: 'succeeded' })
  t.like((await server.get(`/tasks/${taskUid}?waitMs=60000`)).body, { status: 'succeeded' })
  t.is((await server.get('/tasks/99?waitMs=60000')).body.code, 'task_not_found')
})

test('a cancelation ends waits for the canceled tasks', async (t) => {
  const { server } = await held(t)
  const write = server.post('/indexes/slow/documents?waitMs=60000', [{ id: 1 }])
  const uid = await newestTask(server, 1)
  t.is((await server.post(`/tasks/cancel?uids=${uid}&waitMs=60000`)).body.status, 'succeeded')
  t.like(await write, { status: 200, body: { taskUid: uid, status: 'canceled' } })
})

test('a waitMs other than 0 to 60000 is refused, and enqueues nothing', async (t) => {
  const server = await startServer(t)
  for (const waitMs of ['60001', '-1', '1.5', 'long', '']) {
    for (const path of ['/indexes/boats', '/indexes/boats/documents', '/tasks?uids=*']) {
      const { status, body } = await server.delete(waiting(path, waitMs))
      t.deepEqual([status, body.code], [400, 'invalid_task_wait_ms'], `${path} ${waitMs}`)
    }
    t.is((await server.get(waiting('/tasks/0', waitMs))).body.code, 'invalid_task_wait_ms', waitMs)
  }
  t.is((await server.get('/tasks')).body.total, 0)
})

test('a route without parameters ignores all parameters except waitMs', async (t) => {
  const server = await startServer(t)
  t.is((await server.post('/indexes?other=1', { uid: 'boats' })).status, 202)
  t.is((await server.post('/indexes/boats/documents?other=1', [{ id: 1 }])).body.code, 'bad_request')
  t.is((await server.delete('/tasks?waitMs=1')).body.code, 'missing_task_filters')
})

test('a request beyond the limit of waiting requests is answered at once', async (t) => {
  const { server, release } = await held(t, { taskWaitsMax: 1 })
  const { taskUid } = (await server.post('/indexes/slow/documents', [{ id: 1 }])).body
  const first = server.get(`/tasks/${taskUid}?waitMs=60000`)
  // The second request waits a minute only if it arrives before the first.
  const statuses = [first, server.get(`/tasks/${taskUid}?waitMs=60000`)]
  t.regex((await Promise.race(statuses)).body.status, /enqueued|processing/)
  release()
  const ended = (await Promise.all(statuses)).map(({ body }) => body.status)
  t.deepEqual(ended.filter((status) => status === 'succeeded').length, 1)
})

test('a client that disconnects frees its place', async (t) => {
  const { server, release } = await held(t, { taskWaitsMax: 1 })
  const { taskUid } = (await server.post('/indexes/slow/documents', [{ id: 1 }])).body
  const clients = [1, 2].map(() => httpRequest(`${server.url}/tasks/${taskUid}?waitMs=60000`).end())
  for (const client of clients) client.on('error', () => undefined)
  // The place is taken when one of two requests is answered.
  await Promise.race(clients.map((client) => once(client, 'response')))
  for (const client of clients) client.destroy()
  // Requests are answered at once until the server notices the disconnect.
  for (;;) {
    const next = server.get(`/tasks/${taskUid}?waitMs=60000`)
    if ((await Promise.race([next, sleep(1_000)])) !== undefined) continue
    release()
    return t.is((await next).body.status, 'succeeded')
  }
})

test('stopping the queue answers waiting requests with the current state of the task', async (t) => {
  const server = await startServer(t, idle)
  const write = server.post('/indexes?waitMs=60000', { uid: 'boats' })
  const uid = await newestTask(server, 0)
  const read = server.get(`/tasks/${uid}?waitMs=60000`)
  await server.haltQueue()
  t.like(await write, { status: 202, body: { taskUid: uid, status: 'enqueued' } })
  t.like((await read).body, { uid, status: 'enqueued' })
})

/** Waits for the task with this uid to arrive. */
async function newestTask(server: TestServer, uid: number): Promise<number> {
  while ((await server.get(`/tasks/${uid}`)).status !== 200);
  return uid
}
