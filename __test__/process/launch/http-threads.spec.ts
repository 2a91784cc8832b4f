/** Several threads answer searches. They use the newest acknowledged state, and metrics count all threads. */
import { Agent, type ClientRequest, request as httpRequest } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import { startCollector } from '../../support/collector.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { nativeEngine, otherThanWindows } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'
import { temporaryDirectory } from '../../tasks/test-queue.js'

const MASTER_KEY = 'master-key-of-a-test'
const CONNECTIONS = 16
const ROUNDS = 60

const threadsTest = testNeeding([nativeEngine, otherThanWindows('one thread answers there')])

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

interface Sent {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A persistent connection. */
class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  /** Sends a request, and returns it unfinished. */
  open(
    method: string,
    path: string,
    body: unknown,
    { key = MASTER_KEY, headers = {} }: Sent = {},
  ): ClientRequest {
    const text = body === undefined ? '' : JSON.stringify(body)
    const sent = httpRequest({
      ...{ port: this.#port, host: '127.0.0.1', agent: this.#agent, method, path },
      headers: {
        authorization: `Bearer ${key}`,
        ...(text !== '' && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(text)),
        }),
        ...headers,
      },
    })
    sent.end(text)
    return sent
  }

  async text(method: string, path: string, body?: unknown, sent: Sent = {}): Promise<[number, string]> {
    const request = this.open(method, path, body, sent)
    return new Promise((resolve, reject) => {
      request.on('error', reject)
      request.once('response', (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.once('end', () => resolve([answer.statusCode ?? 0, Buffer.concat(chunks).toString()]))
      })
    })
  }

  async call(method: string, path: string, body?: unknown, sent?: Sent): Promise<Answer> {
    const [status, text] = await this.text(method, path, body, sent)
    return { status, body: JSON.parse(text === '' ? '{}' : text) as Answer['body'] }
  }

  /** Sends a change and waits for the end of its task. */
  async settle(t: ExecutionContext, method: string, path: string, body?: unknown): Promise<void> {
    const { status, body: accepted } = await this.call(method, path, body)
    t.is(status, 202, JSON.stringify(accepted))
    const { body: task } = await this.call('GET', `/tasks/${accepted.taskUid}?waitMs=60000`)
    t.is(task.status, 'succeeded', JSON.stringify(task))
  }

  close(): void {
    this.#agent.destroy()
  }
}

async function started(
  t: ExecutionContext,
  args: readonly string[] = [],
  reports = false,
  env: NodeJS.ProcessEnv = {},
): Promise<{ readonly daemon: TestDaemon; readonly connections: readonly Connection[] }> {
  const daemon = await startDaemon(
    t,
    await temporaryDirectory(t),
    [
      ...['--http-threads', '3', '--master-key', MASTER_KEY, '--engine', 'native'],
      ...(reports ? [] : ['--no-analytics']),
      ...['--experimental-enable-metrics', '--query-stats', ...args],
    ],
    env,
  )
  while (!daemon.log().includes('threads answer searches'))
    await new Promise((resolve) => setTimeout(resolve, 20))
  const connections = Array.from({ length: CONNECTIONS }, () => new Connection(daemon.port))
  t.teardown(() => {
    for (const connection of connections) connection.close()
  })
  return { daemon, connections }
}

/** Sends the same search over all connections at once. */
const searchOnAll = (
  connections: readonly Connection[],
  indexUid: string,
  body: unknown,
  sent: Sent = {},
): Promise<readonly Answer[]> =>
  Promise.all(connections.map((one) => one.call('POST', `/indexes/${indexUid}/search`, body, sent)))

const hitsOf = ({ body }: Answer): unknown => body.hits

threadsTest('what a client was told is seen on every connection at once', async (t) => {
  const { connections } = await started(t)
  const writer = connections[0]!
  await writer.settle(t, 'POST', '/indexes/left/documents', [{ id: 1, side: 'left' }])
  await writer.settle(t, 'POST', '/indexes/right/documents', [{ id: 1, side: 'right' }])
  let sides = ['left', 'right']
  for (let round = 0; round < ROUNDS; round++) {
    const one = connections[round % CONNECTIONS]!
    const all = (answers: readonly Answer[], expected: unknown): void => {
      t.deepEqual(
        answers.map(hitsOf),
        connections.map(() => expected),
        `round ${round}`,
      )
    }
    // The same query each time: a cached answer must not outlive the change.
    await one.settle(t, 'POST', '/indexes/news/documents', [{ id: 1, text: `edition ${round}` }])
    all(await searchOnAll(connections, 'news', { q: 'edition' }), [{ id: 1, text: `edition ${round}` }])

    await one.settle(t, 'POST', '/swap-indexes', [{ indexes: ['left', 'right'] }])
    sides = sides.toReversed()
    all(await searchOnAll(connections, 'left', { q: '' }), [{ id: 1, side: sides[0] }])

    const displayedAttributes = round % 2 === 0 ? ['id'] : ['text']
    await one.settle(t, 'PATCH', '/indexes/news/settings', { displayedAttributes })
    const shown = round % 2 === 0 ? { id: 1 } : { text: `edition ${round}` }
    all(await searchOnAll(connections, 'news', { q: 'edition' }), [shown])
    await one.settle(t, 'DELETE', '/indexes/news')
    const gone = await searchOnAll(connections, 'news', { q: 'edition' })
    t.deepEqual(
      new Set(gone.map(({ status, body }) => `${status} ${body.code}`)),
      new Set(['404 index_not_found']),
    )

    const { body: key } = await one.call('POST', '/keys', {
      ...{ actions: ['search'], indexes: ['left'], expiresAt: null },
    })
    const asKey = { key: String(key.key) }
    all(await searchOnAll(connections, 'left', { q: '' }, asKey), [{ id: 1, side: sides[0] }])
    const forbidden = await searchOnAll(connections, 'right', { q: '' }, asKey)
    t.deepEqual(new Set(forbidden.map(({ status }) => status)), new Set([403]))
    t.is((await one.call('DELETE', `/keys/${key.uid}`)).status, 204)
    const refused = await searchOnAll(connections, 'left', { q: '' }, asKey)
    t.deepEqual(new Set(refused.map(({ status }) => status)), new Set([403]))

    const containsFilter = round % 2 === 0
    t.is((await one.call('PATCH', '/experimental-features', { containsFilter })).status, 200)
    const filtered = await searchOnAll(connections, 'left', { q: '', filter: 'side CONTAINS x' })
    // Without the feature its operator is refused; with it, the attribute is not filterable.
    const expected = containsFilter ? 'invalid_search_filter' : 'feature_not_enabled'
    t.deepEqual(new Set(filtered.map(({ body }) => body.code)), new Set([expected]))
  }
})

threadsTest('metrics, query counts and log lines of all threads add up', async (t) => {
  const { daemon, connections } = await started(t)
  await connections[0]!.settle(t, 'POST', '/indexes/news/documents', [{ id: 1, text: 'harbour' }])
  const total = async (): Promise<number> => {
    const [, text] = await connections[0]!.text('GET', '/metrics')
    const line =
      /^meilisearch_http_requests_total\{method="POST",path="\/indexes\/\{index_uid\}\/search",status="200"\} (\d+)$/m
    return Number(line.exec(text)?.[1] ?? 0)
  }
  for (let round = 1; round <= 5; round++) {
    await searchOnAll(connections, 'news', { q: 'harbour' })
    t.is(await total(), round * CONNECTIONS)
  }
  const refused = await searchOnAll(connections, 'news', { q: 'harbour', filter: 'text = x' })
  t.deepEqual(new Set(refused.map(({ status }) => status)), new Set([400]))
  t.is(await total(), 5 * CONNECTIONS)
  const { body } = await connections[0]!.call('GET', '/stats/queries')
  t.like((body.mostFrequent as readonly object[])[0], {
    indexUid: 'news',
    q: 'harbour',
    count: 5 * CONNECTIONS,
  })
  const lines = daemon.log().match(/route=\/indexes\/news\/search .*status_code=200/g) ?? []
  t.is(lines.length, 5 * CONNECTIONS)
})

threadsTest('telemetry counts the searches of all threads', async (t) => {
  const collector = await startCollector(t)
  const { daemon, connections } = await started(t, ['--telemetry-url', collector.url], true)
  await connections[0]!.settle(t, 'POST', '/indexes/news/documents', [{ id: 1, text: 'harbour' }])
  await searchOnAll(connections, 'news', { q: 'harbour', limit: 7, cropLength: 10 })
  await searchOnAll(connections, 'news', { q: 'harbour', filter: 'text = x' })
  t.is(await daemon.stop(), 0)
  const found = collector.events.find(({ event }) => event === 'Documents Searched POST')
  t.like(found?.properties, {
    requests: {
      total_received: 2 * CONNECTIONS,
      total_succeeded: CONNECTIONS,
      total_failed: CONNECTIONS,
    },
    pagination: { max_limit: 7 },
    formatting: { crop_length: true, crop_marker: false },
    q: { max_terms_number: 1 },
  })
})

threadsTest('requests of other routes pass through every thread', async (t) => {
  const { connections } = await started(t)
  const text = 'harbour '.repeat(20_000)
  for (const [id, one] of connections.entries())
    await one.settle(t, 'POST', '/indexes/long/documents', [{ id, text }])
  const stats = await Promise.all(connections.map((one) => one.call('GET', '/indexes/long/stats')))
  t.deepEqual(new Set(stats.map(({ body }) => body.numberOfDocuments)), new Set([CONNECTIONS]))
  const [status, packed] = await connections[1]!.text('GET', '/indexes/long/documents/1', undefined, {
    headers: { 'accept-encoding': 'gzip' },
  })
  t.is(status, 200)
  t.true(packed.length < text.length / 10)
  // A fixed name below `documents` is not a document id.
  const fixed = await Promise.all(connections.map((one) => one.text('GET', '/indexes/long/documents/fetch')))
  t.deepEqual(new Set(fixed.map(([code]) => code)), new Set([405]))
})

threadsTest('searches of clients that disconnect end, and their slots are free again', async (t) => {
  const { connections, daemon } = await started(t)
  await connections[0]!.settle(t, 'POST', '/indexes/news/documents', [{ id: 1, text: 'harbour' }])
  const left = Array.from({ length: 200 }, () => new Connection(daemon.port))
  const sent = left.map((one) => one.open('POST', '/indexes/news/search', { q: 'harbour' }))
  for (const one of sent) one.on('error', () => undefined)
  await new Promise((resolve) => setTimeout(resolve, 5))
  for (const one of left) one.close()
  const answers = await searchOnAll(connections, 'news', { q: 'harbour' })
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  for (;;) {
    const [, text] = await connections[0]!.text('GET', '/metrics')
    if (/^meilisearch_searches_running 0$/m.test(text)) break
  }
  t.pass()
})

threadsTest('a thread that ends by an error is logged, counted and replaced', async (t) => {
  const crash = fileURLToPath(
    new URL('../../../../__test__/process/launch/crash-on-request.mjs', import.meta.url),
  )
  const { connections, daemon } = await started(t, [], false, { NODE_OPTIONS: `--import ${crash}` })
  await connections[0]!.settle(t, 'POST', '/indexes/news/documents', [{ id: 1, text: 'first' }])
  const victim = new Connection(daemon.port)
  await t.throwsAsync(victim.call('POST', '/indexes/news/search', { q: '' }, { headers: { 'x-crash': '1' } }))
  while (!/a thread that answers searches has ended/.test(daemon.log()))
    await new Promise((resolve) => setTimeout(resolve, 20))
  t.regex(daemon.log(), /a crash of a test/)
  const later = Array.from({ length: CONNECTIONS }, () => new Connection(daemon.port))
  t.teardown(() => {
    for (const one of later) one.close()
  })
  await later[0]!.settle(t, 'POST', '/indexes/news/documents', [{ id: 1, text: 'second' }])
  t.deepEqual(
    (await searchOnAll(later, 'news', { q: '' })).map(hitsOf),
    later.map(() => [{ id: 1, text: 'second' }]),
  )
  const [, text] = await later[0]!.text('GET', '/metrics')
  t.regex(text, /^siftd_background_faults_total\{kind="http_thread"\} 1$/m)
})

threadsTest('a stop answers the requests that have begun and closes the port', async (t) => {
  const { connections, daemon } = await started(t)
  await connections[0]!.settle(t, 'POST', '/indexes/news/documents', [{ id: 1, text: 'harbour' }])
  const searches = searchOnAll(connections, 'news', { q: 'harbour' })
  const stopped = daemon.stop()
  const outcomes = await Promise.allSettled([searches])
  t.is(await stopped, 0)
  t.is(outcomes.length, 1)
  t.regex(daemon.log(), /stopped/)
  await t.throwsAsync(new Connection(daemon.port).call('GET', '/health'))
})
