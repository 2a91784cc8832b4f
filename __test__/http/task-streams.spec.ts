/** Tasks and batches as server-sent events: `GET /tasks/stream` and `GET /batches/stream`. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import test, { type ExecutionContext } from 'ava'
import { ChangedUids, ChangeStream, SharedReads } from '../../ts/http/following/index.js'
import type { Tasks } from '../../ts/tasks/index.js'
import { startProvider } from '../support/provider.js'
import { startServer, type TestBody, type TestServer } from '../support/server.js'

const features = ['tasksStreamingRoute'] as const
const masterKey = 'a-master-key-of-20-b'

interface Stream {
  readonly answer: IncomingMessage
  /** The tasks or batches received so far. */
  readonly items: readonly TestBody[]
  /** The complete text received so far. */
  text(): string
  /** Resolves when `met` accepts the received items. */
  until(met: (items: readonly TestBody[]) => boolean): Promise<void>
  /** Resolves when the stream has ended, complete or not. */
  readonly ended: Promise<void>
  close(): void
}

async function open(
  t: ExecutionContext,
  { url }: TestServer,
  path: string,
  key: string | null = null,
): Promise<Stream> {
  const headers = {
    accept: 'text/event-stream',
    'accept-encoding': 'gzip',
    ...(key !== null && { authorization: `Bearer ${key}` }),
  }
  const outgoing = httpRequest(`${url}${path}`, { headers }).end()
  outgoing.on('error', () => undefined)
  t.teardown(() => outgoing.destroy())
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  answer.setEncoding('utf8')
  const items: TestBody[] = []
  const checks = new Set<() => void>()
  let text = ''
  let read = 0
  answer.on('data', (chunk: string) => {
    text += chunk
    for (let end = text.indexOf('\n\n', read); end !== -1; end = text.indexOf('\n\n', read)) {
      const event = text.slice(read, end)
      read = end + 2
      if (event.startsWith('data: ')) items.push(JSON.parse(event.slice('data: '.length)) as TestBody)
    }
    for (const check of checks) check()
  })
  const ended = new Promise<void>((resolve) => answer.once('close', resolve))
  answer.on('error', () => undefined)
  return {
    answer,
    items,
    text: () => text,
    ended,
    until: (met) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!met(items)) return
          checks.delete(check)
          resolve()
        }
        checks.add(check)
        check()
      }),
    close: () => outgoing.destroy(),
  }
}

const hasEnded = (uid: number) => (items: readonly TestBody[]) =>
  items.some((one) => one.uid === uid && one.finishedAt !== null)

test('a stream of tasks sends each changed task, in the form of lists', async (t) => {
  const server = await startServer(t, { features })
  await server.settle(t, server.post('/indexes', { uid: 'before' }))
  const stream = await open(t, server, '/tasks/stream')
  t.is(stream.answer.statusCode, 200)
  t.like(stream.answer.headers, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  t.is(stream.answer.headers['content-encoding'], undefined)
  await server.settle(t, server.post('/indexes', { uid: 'boats' }))
  await server.settle(t, server.post('/indexes', { uid: 'boats' }))
  await stream.until(hasEnded(2))
  t.true(stream.text().startsWith('retry: 10000\n\n'))
  const listed = (await server.get('/tasks')).body.results
  for (const uid of [1, 2]) {
    const last = stream.items.filter((one) => one.uid === uid).at(-1)
    t.deepEqual(
      last,
      listed.find((one) => one.uid === uid),
    )
  }
  t.deepEqual(
    stream.items.find(({ uid }) => uid === 0),
    undefined,
  )
})

test('a stream of tasks sends the tasks that match its filters', async (t) => {
  const server = await startServer(t, { features })
  const filters = ['indexUids=boats', 'statuses=failed', 'types=indexDeletion', 'uids=3', 'limit=1&uids=0,3']
  const streams = await Promise.all(filters.map((filter) => open(t, server, `/tasks/stream?${filter}`)))
  for (const uid of ['boats', 'cars', 'boats']) await server.settle(t, server.post('/indexes', { uid }))
  await server.settle(t, server.delete('/indexes/cars'))
  const whole = [[0, 2], [2], [3], [3], [0, 3]]
  for (const [position, stream] of streams.entries()) {
    const expected = whole[position]!
    await stream.until(hasEnded(expected.at(-1)!))
    t.deepEqual([...new Set(stream.items.map(({ uid }) => uid))], expected, filters[position])
  }
  t.is((await server.get('/tasks/stream?statuses=ended')).body.code, 'invalid_task_statuses')
  t.is((await server.get('/batches/stream?other=1')).body.code, 'bad_request')
})

test('a stream of batches sends their start, progress and end', async (t) => {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const provider = await startProvider(t, async () => {
    await released
    return { embedding: [1, 0] }
  })
  const server = await startServer(t, { features, allowedNetworks: ['127.0.0.0/8'] })
  const rest = {
    source: 'rest',
    url: provider.url,
    dimensions: 2,
    documentTemplate: 'x',
    request: { input: '{{text}}' },
    response: { embedding: '{{embedding}}' },
  }
  await server.settle(t, server.patch('/indexes/i/settings', { embedders: { rest } }))
  const stream = await open(t, server, '/batches/stream?indexUids=i')
  const write = server.post('/indexes/i/documents', [{ id: 1 }])
  await stream.until((items) => items.some(({ progress }) => JSON.stringify(progress).includes('embedding')))
  release()
  await server.settle(t, write)
  await stream.until(hasEnded(1))
  t.deepEqual(stream.items.at(-1), (await server.get('/batches/1')).body)
  const seen = stream.items.map((one) => JSON.stringify(one))
  t.is(new Set(seen).size, seen.length, 'no state is shown twice')
})

test('a stream needs its feature and the action tasks.get', async (t) => {
  const server = await startServer(t, { masterKey })
  for (const path of ['/tasks/stream', '/batches/stream']) {
    t.like(await server.get(path), { status: 400, body: { code: 'feature_not_enabled' } })
    t.is((await server.get(path, { headers: { authorization: undefined } })).status, 401)
  }
})

test('a key limited to an index receives only its tasks, and the stream ends with the key', async (t) => {
  const server = await startServer(t, { masterKey, features })
  const key = (await server.post('/keys', { actions: ['tasks.get'], indexes: ['boats'], expiresAt: null }))
    .body
  const stream = await open(t, server, '/tasks/stream', key.key)
  for (const uid of ['cars', 'boats']) await server.settle(t, server.post('/indexes', { uid }))
  await server.settle(t, server.post('/swap-indexes', []))
  await stream.until(hasEnded(1))
  t.deepEqual([...new Set(stream.items.map(({ uid }) => uid))], [1])
  t.is((await server.delete(`/keys/${String(key.uid)}`)).status, 204)
  await server.settle(t, server.delete('/indexes/boats'))
  await stream.ended
  t.true(stream.answer.complete)
  t.is(
    stream.items.find(({ uid }) => uid === 3),
    undefined,
  )
})

test('a stream ends when its feature is switched off', async (t) => {
  const server = await startServer(t, { features })
  const stream = await open(t, server, '/tasks/stream')
  await server.patch('/experimental-features', { tasksStreamingRoute: false })
  await server.settle(t, server.post('/indexes', { uid: 'boats' }))
  await stream.ended
  t.true(stream.answer.complete)
  t.deepEqual(stream.items, [])
})

test('a stream beyond the limit is refused until a client disconnects', async (t) => {
  const server = await startServer(t, { features, changeStreamsMax: 1 })
  const first = await open(t, server, '/tasks/stream')
  const refused = await server.get('/batches/stream')
  t.deepEqual([refused.status, refused.body.code], [503, 'too_many_requests'])
  first.close()
  let next = await open(t, server, '/batches/stream')
  while (next.answer.statusCode !== 200) next = await open(t, server, '/batches/stream')
  await server.settle(t, server.post('/indexes', { uid: 'boats' }))
  await next.until(hasEnded(0))
  t.is(next.answer.statusCode, 200)
})

test('a client that is too far behind gets a reason and loses its stream', async (t) => {
  const stream = new ChangeStream(() =>
    Promise.reject(new Error('nothing is read for a reader that is gone')),
  )
  const events = stream.events()
  t.is((await events.next()).value, 'retry: 10000\n\n')
  // The same tasks may change often.
  for (let time = 0; time < 3; time += 1) stream.note(Array.from({ length: 50_000 }, (_, uid) => uid))
  stream.note(Array.from({ length: 50_001 }, (_, position) => 50_000 + position))
  t.regex(String((await events.next()).value), /^event: lost\ndata: \{.*\}\n\n$/)
  t.true((await events.next()).done)
})

test('a key has at most half of the streams', async (t) => {
  const server = await startServer(t, { features, masterKey, changeStreamsMax: 4 })
  const keyOf = async (): Promise<string> =>
    (await server.post('/keys', { actions: ['tasks.get'], indexes: ['*'], expiresAt: null })).body.key
  const [greedy, other] = [await keyOf(), await keyOf()]
  for (const path of ['/tasks/stream', '/batches/stream'])
    t.is((await open(t, server, path, greedy)).answer.statusCode, 200)
  const refused = await server.get('/tasks/stream', { headers: { authorization: `Bearer ${greedy}` } })
  t.deepEqual([refused.status, refused.body.code], [503, 'too_many_requests'])
  t.regex(refused.body.message, /this key has 2 open streams/)
  t.is((await open(t, server, '/tasks/stream', other)).answer.statusCode, 200)
})

test('streams with the same filter read a change once, whatever their number', async (t) => {
  const server = await startServer(t, { features })
  const tasks = server.parts.tasks as { -readonly [K in keyof Tasks]: Tasks[K] }
  const { list } = tasks
  let reads = 0
  tasks.list = (...given) => {
    reads += 1
    return list(...given)
  }
  const followers = 30
  const streams = await Promise.all(Array.from({ length: followers }, () => open(t, server, '/tasks/stream')))
  await server.settle(t, server.post('/indexes', { uid: 'boats' }))
  await Promise.all(streams.map((stream) => stream.until(hasEnded(0))))
  t.true(reads > 0 && reads < followers, String(reads))
  const listed = (await server.get('/tasks')).body.results
  for (const { items } of streams) t.deepEqual(items.at(-1), listed[0])
})

test('a read is shared until the next change, a failed read is not shared', async (t) => {
  const reads = new SharedReads<number>()
  let count = 0
  const read = (isLasting: boolean) => reads.read('a', isLasting, async () => ++count)
  t.deepEqual([await read(true), await read(true)], [1, 1])
  reads.clear()
  t.is(await read(true), 2)
  reads.clear()
  t.deepEqual(await Promise.all([read(false), read(false)]), [3, 3])
  t.is(await read(false), 4)
  const failing = () => reads.read('b', true, () => Promise.reject(new Error('the disk')))
  await t.throwsAsync(failing, { message: 'the disk' })
  t.is(await reads.read('b', true, async () => 5), 5)
})

test('changed uids are taken in rounds, ascending and each once', (t) => {
  const changed = new ChangedUids()
  t.true(changed.isEmpty)
  t.true(changed.add([5, 3, 3]))
  t.true(changed.add([4, 5]))
  t.deepEqual(changed.taken(2), [3, 4])
  // 3 has changed since it was taken, so it is returned again in the next round.
  t.true(changed.add([3, 1]))
  t.deepEqual(changed.taken(2), [5])
  t.deepEqual(changed.taken(2), [1, 3])
  t.true(changed.isEmpty)
  const many = Array.from({ length: 60_000 }, (_, uid) => uid)
  t.true(changed.add(many))
  t.deepEqual(changed.taken(2), [0, 1])
  t.true(changed.add(many), 'the same tasks count once')
  t.false(changed.add(many.map((uid) => uid + 60_000)))
})
