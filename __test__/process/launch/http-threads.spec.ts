/**
 * Several threads answer searches, and metrics count all threads. The trial `http-threads` shows that they answer by the
 * newest acknowledged state.
 */
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { startCollector } from '../../support/collector.js'
import { Connection, type ConnectionAnswer, type Sent } from '../../support/connection.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { rawSocket, readText } from '../../support/raw-socket.js'
import { nativeEngine, otherThanWindows } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'
import { temporaryDirectory } from '../../tasks/test-queue.js'

const MASTER_KEY = 'master-key-of-a-test'
const CONNECTIONS = 16

const threadsTest = testNeeding([nativeEngine, otherThanWindows('one thread answers there')])

/** Sends a change and waits for the end of its task. */
async function settle(
  t: ExecutionContext,
  connection: Connection,
  [method, path, body]: readonly [string, string, unknown],
): Promise<void> {
  const { status, body: accepted } = await connection.call(method, path, body)
  t.is(status, 202, JSON.stringify(accepted))
  const { body: task } = await connection.call('GET', `/tasks/${accepted.taskUid}?waitMs=60000`)
  t.is(task.status, 'succeeded', JSON.stringify(task))
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
  await logged(daemon, /threads answer searches/)
  const connections = Array.from({ length: CONNECTIONS }, () => new Connection(daemon.port, MASTER_KEY))
  t.teardown(() => {
    for (const connection of connections) connection.close()
  })
  return { daemon, connections }
}

/** Returns the environment of a program that loads files of this directory first. */
const preload = (...names: readonly string[]): NodeJS.ProcessEnv => ({
  NODE_OPTIONS: names
    .map((name) => new URL(`../../../../__test__/process/launch/${name}.mjs`, import.meta.url))
    .map((url) => `--import ${fileURLToPath(url)}`)
    .join(' '),
})

async function logged(daemon: TestDaemon, line: RegExp, times = 1): Promise<void> {
  const global = new RegExp(line, 'g')
  while ((daemon.log().match(global) ?? []).length < times)
    await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Ends a thread of a program that has loaded `crash-on-request`. */
async function endThread(t: ExecutionContext, daemon: TestDaemon): Promise<void> {
  const ended = /a thread that answers searches has ended/
  const before = (daemon.log().match(new RegExp(ended, 'g')) ?? []).length
  const victim = new Connection(daemon.port, MASTER_KEY)
  await t.throwsAsync(victim.call('POST', '/indexes/news/search', { q: '' }, { headers: { 'x-crash': '1' } }))
  await logged(daemon, ended, before + 1)
}

/** Sends the same search over all connections at once. */
const searchOnAll = (
  connections: readonly Connection[],
  indexUid: string,
  body: unknown,
  sent: Sent = {},
): Promise<readonly ConnectionAnswer[]> =>
  Promise.all(connections.map((one) => one.call('POST', `/indexes/${indexUid}/search`, body, sent)))

const hitsOf = ({ body }: ConnectionAnswer): unknown => body.hits

threadsTest('metrics, query counts and log lines of all threads add up', async (t) => {
  const { daemon, connections } = await started(t)
  await settle(t, connections[0]!, ['POST', '/indexes/news/documents', [{ id: 1, text: 'harbour' }]])
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
  await settle(t, connections[0]!, ['POST', '/indexes/news/documents', [{ id: 1, text: 'harbour' }]])
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
    await settle(t, one, ['POST', '/indexes/long/documents', [{ id, text }]])
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

threadsTest('a request is answered whose announced body never arrives', async (t) => {
  const { daemon } = await started(t)
  const head = [
    ...['GET /version HTTP/1.1', 'host: a', `authorization: Bearer ${MASTER_KEY}`],
    ...['transfer-encoding: chunked', '', ''],
  ].join('\r\n')
  const answers = Array.from({ length: CONNECTIONS }, () => {
    const socket = rawSocket(`http://127.0.0.1:${daemon.port}`)
    socket.write(head)
    return readText(socket, /"pkgVersion"/)
  })
  for (const answer of await Promise.all(answers)) t.regex(answer, /^HTTP\/1\.1 200 /)
})

threadsTest('searches of clients that disconnect end, and their slots are free again', async (t) => {
  const { connections, daemon } = await started(t)
  await settle(t, connections[0]!, ['POST', '/indexes/news/documents', [{ id: 1, text: 'harbour' }]])
  const left = Array.from({ length: 200 }, () => new Connection(daemon.port, MASTER_KEY))
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
  const { connections, daemon } = await started(t, [], false, preload('crash-on-request'))
  await settle(t, connections[0]!, ['POST', '/indexes/news/documents', [{ id: 1, text: 'first' }]])
  await endThread(t, daemon)
  t.regex(daemon.log(), /a crash of a test/)
  const later = Array.from({ length: CONNECTIONS }, () => new Connection(daemon.port, MASTER_KEY))
  t.teardown(() => {
    for (const one of later) one.close()
  })
  await settle(t, later[0]!, ['POST', '/indexes/news/documents', [{ id: 1, text: 'second' }]])
  t.deepEqual(
    (await searchOnAll(later, 'news', { q: '' })).map(hitsOf),
    later.map(() => [{ id: 1, text: 'second' }]),
  )
  const [, text] = await later[0]!.text('GET', '/metrics')
  t.regex(text, /^siftd_background_faults_total\{kind="http_thread"\} 1$/m)
})

threadsTest('a thread that the system refuses to start is tried again', async (t) => {
  const { daemon } = await started(t, [], false, preload('crash-on-request', 'refuse-thread'))
  await endThread(t, daemon)
  await logged(daemon, /cannot be started; another try follows/)
  t.regex(daemon.log(), /a refused thread of a test/)
  await endThread(t, daemon)
  const connection = new Connection(daemon.port, MASTER_KEY)
  t.teardown(() => connection.close())
  const [, text] = await connection.text('GET', '/metrics')
  t.regex(text, /^siftd_background_faults_total\{kind="http_thread"\} 3$/m)
  t.is(await daemon.stop(), 0)
})

threadsTest('a stop answers the requests that have begun and closes the port', async (t) => {
  const { connections, daemon } = await started(t)
  await settle(t, connections[0]!, ['POST', '/indexes/news/documents', [{ id: 1, text: 'harbour' }]])
  const searches = searchOnAll(connections, 'news', { q: 'harbour' })
  const stopped = daemon.stop()
  const outcomes = await Promise.allSettled([searches])
  t.is(await stopped, 0)
  t.is(outcomes.length, 1)
  t.regex(daemon.log(), /stopped/)
  await t.throwsAsync(new Connection(daemon.port, MASTER_KEY).call('GET', '/health'))
})

test('on the fallback engine, as many threads search as the option says', async (t) => {
  for (const threads of [1, 3]) {
    const daemon = await startDaemon(t, await temporaryDirectory(t), [
      ...['--engine', 'fallback', '--http-threads', String(threads)],
      ...['--master-key', MASTER_KEY, '--log-level', 'DEBUG', '--answer-cache-size', '0'],
    ])
    const connections = Array.from({ length: CONNECTIONS }, () => new Connection(daemon.port, MASTER_KEY))
    t.teardown(() => {
      for (const connection of connections) connection.close()
    })
    await settle(t, connections[0]!, ['POST', '/indexes/films/documents', [{ id: 1, title: 'Solaris' }]])
    const started = (): number =>
      daemon.log().split('another thread of the fallback engine starts to search').length
    for (let round = 0; round < 50 || started() < threads; round++)
      for (const answer of await searchOnAll(connections, 'films', { q: 'solaris' }))
        t.deepEqual(hitsOf(answer), [{ id: 1, title: 'Solaris' }])
    t.is(started(), threads)
  }
})
