import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import test, { type ExecutionContext } from 'ava'
import parsePrometheus from 'parse-prometheus-text-format'
import { parse } from 'yaml'
import { INLINE_PAYLOAD_BYTES_MAX } from '../../ts/tasks/index.js'
import { checkError } from '../support/refusals.js'
import { startServer, type TestServer } from '../support/server.js'

interface Sample {
  readonly value?: string
  readonly labels?: Readonly<Record<string, string>>
}

/** A metric as parsed by a Prometheus client. */
interface Family {
  readonly name: string
  readonly type: string
  readonly metrics: readonly Sample[]
}

const docs = (name: string): Promise<string> =>
  readFile(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')

async function families(server: TestServer): Promise<ReadonlyMap<string, Family>> {
  const { bytes } = await server.get('/metrics')
  const all = parsePrometheus(bytes.toString()) as readonly Family[]
  const byName = new Map(all.map((family) => [family.name, family]))
  if (byName.size !== all.length) throw new Error('a metric comes twice')
  return byName
}

const labelsOf = (sample: Sample): string => JSON.stringify(sample.labels ?? {})

/** The value of the series with these labels; undefined: the series does not exist. */
function figure(
  all: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = all.get(name)?.metrics.find((sample) => labelsOf(sample) === JSON.stringify(labels))
  return found?.value === undefined ? undefined : Number(found.value)
}

/** A server with an index, a failed task and counted searches. */
async function usedServer(t: ExecutionContext): Promise<TestServer> {
  const server = await startServer(t, { features: ['metrics'] })
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1 }, { id: 2 }]))
  await server.settle(t, server.delete('/indexes/ghost'))
  await server.post('/indexes/films/search', { q: 'x' })
  return server
}

/** The rows of the tables in docs/metrics.md: name, type, labels. */
async function documented(): Promise<
  ReadonlyMap<string, { readonly type: string; readonly labels: string }>
> {
  const rows = (await docs('metrics.md')).matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*)\|/gm)
  return new Map(
    [...rows].map(([, name = '', type = '', labels = '']) => [name, { type, labels: labels.trim() }]),
  )
}

/** Names and types in the reference. Source: operations §12. */
const reference: Readonly<Record<string, string>> = {
  meilisearch_http_requests_total: 'counter',
  meilisearch_http_response_time_seconds: 'histogram',
  meilisearch_degraded_search_requests: 'gauge',
  meilisearch_personalized_search_requests: 'gauge',
  meilisearch_chat_searches_total: 'counter',
  meilisearch_chat_prompt_tokens_total: 'counter',
  meilisearch_chat_completion_tokens_total: 'counter',
  meilisearch_chat_tokens_total: 'counter',
  meilisearch_db_size_bytes: 'gauge',
  meilisearch_used_db_size_bytes: 'gauge',
  meilisearch_index_count: 'gauge',
  meilisearch_index_docs_count: 'gauge',
  meilisearch_nb_tasks: 'gauge',
  meilisearch_batch_running_progress_trace: 'gauge',
  meilisearch_last_finished_batches_progress_trace_ms: 'gauge',
  meilisearch_last_indexed_documents_count: 'gauge',
  meilisearch_last_indexed_documents_duration_ms: 'gauge',
  meilisearch_last_update: 'gauge',
  meilisearch_is_indexing: 'gauge',
  meilisearch_search_queue_size: 'gauge',
  meilisearch_searches_running: 'gauge',
  meilisearch_searches_waiting_to_be_processed: 'gauge',
  meilisearch_task_queue_latency_seconds: 'gauge',
  meilisearch_task_queue_max_size: 'gauge',
  meilisearch_task_queue_used_size: 'gauge',
  meilisearch_task_queue_size_until_stop_registering: 'gauge',
}

test('every metric of the reference exists with its type, or the page gives the reason', async (t) => {
  const all = await families(await usedServer(t))
  const absent = /This does not exist, since[^.]+\./.exec(await docs('metrics.md'))?.[0] ?? ''
  for (const [name, type] of Object.entries(reference)) {
    if (absent.includes(`\`${name}\``)) t.false(all.has(name), name)
    else t.is(all.get(name)?.type.toLowerCase(), type, name)
  }
})

test('the page and the answer have the same metrics, types and labels', async (t) => {
  const all = await families(await usedServer(t))
  const page = await documented()
  const own = [...all.values()].filter(({ name }) => !/^(process|nodejs)_/.test(name))
  // `e2e/followers.spec.ts` tests the metrics of a server with a bucket, `cells.spec.ts` those of a cell.
  const shown = [...page.keys()].filter((name) => !/^siftd_(bucket|follower|placement)_/.test(name))
  t.deepEqual(own.map(({ name }) => name).sort(), shown.sort())
  for (const { name, type, metrics } of own) {
    t.is(page.get(name)?.type, type.toLowerCase(), name)
    // The parser does not show labels of histograms.
    for (const { labels = {} } of type === 'HISTOGRAM' ? [] : metrics)
      t.is(page.get(name)?.labels, Object.keys(labels).join(', '), name)
  }
})

/** Names in expressions. Fails for an invalid expression. */
function namesIn(t: ExecutionContext, expressions: readonly string[]): ReadonlySet<string> {
  const named = new Set<string>()
  for (const expression of expressions)
    parser.parse(expression).iterate({
      enter(node) {
        if (node.type.isError) t.fail(`${expression} is not PromQL at ${node.from}`)
        if (node.name === 'Identifier') named.add(expression.slice(node.from, node.to))
      },
    })
  return named
}

test('every expression of the dashboard and of the alerts is valid and uses existing metrics', async (t) => {
  const all = await families(await usedServer(t))
  const expressions = [
    ...(await docs('grafana-dashboard.json')).matchAll(/"(?:expr|query)": ("(?:[^"\\]|\\.)*")/g),
  ]
    .map(([, json = '']) => JSON.parse(json) as string)
    .map((text) => /^label_values\((.*), \w+\)$/.exec(text)?.[1] ?? text)
    .map((text) => text.replaceAll('$__rate_interval', '5m'))
  t.true(expressions.length > 30)
  const named = namesIn(t, expressions)
  t.true(named.size > 30)

  const blocks = [...(await docs('guides/prometheus.md')).matchAll(/^```yaml\n(.*?)^```$/gms)].map(
    ([, text = '']) => parse(text) as { groups?: { rules: { alert: string; expr: string }[] }[] },
  )
  const alerts = blocks.flatMap(({ groups = [] }) => groups.flatMap(({ rules }) => rules))
  t.true(alerts.length > 5)
  // Prometheus makes `up` itself; `e2e/followers.spec.ts` tests the metrics of a server with a bucket.
  const inAlerts = [
    ...namesIn(
      t,
      alerts.map(({ expr }) => expr),
    ),
  ].filter((name) => name !== 'up' && name !== 'siftd_follower_stale_seconds')
  for (const name of [...named, ...inAlerts])
    t.true(all.has(name) || all.has(name.replace(/_(bucket|sum|count)$/, '')), `${name} is not a metric`)
})

test('a running batch has its steps, a finished one its times and documents', async (t) => {
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const server = await startServer(t, {
    features: ['metrics'],
    // Otherwise a batch of another index runs at the same time.
    limits: { batchesMax: 1 },
    queueEngine: (engine) => ({
      ...engine,
      async commit(...batch) {
        await released
        return engine.commit(...batch)
      },
    }),
  })
  const write = server.post('/indexes/films/documents', [{ id: 1 }, { id: 2 }])
  await write
  const running = 'meilisearch_batch_running_progress_trace'
  let all = await families(server)
  while (!all.get(running)?.metrics.some(({ labels }) => labels?.step_name === 'committing'))
    all = await families(server)
  t.is(figure(all, 'meilisearch_is_indexing'), 1)
  t.is(figure(all, running, { batch_uid: '0', step_name: 'processing tasks' }), 0)
  t.true((figure(all, 'meilisearch_task_queue_latency_seconds') ?? 0) > 0)
  for (const id of [3, 4]) await server.post('/indexes/films/documents', [{ id }])
  await server.post('/indexes/boats/documents', [{ id: 1 }])
  all = await families(server)
  t.is(figure(all, 'siftd_index_tasks_waiting', { index: 'films' }), 2)
  t.is(figure(all, 'siftd_index_tasks_waiting', { index: 'boats' }), 1)
  t.true((figure(all, 'siftd_index_queue_latency_seconds', { index: 'films' }) ?? 0) > 0)

  release()
  await server.settle(t, write)
  await server.settle(t, server.post('/indexes/boats/documents', [{ id: 2 }]))
  all = await families(server)
  t.is(figure(all, running, { batch_uid: '0', step_name: 'processing tasks' }), undefined)
  t.is(figure(all, 'siftd_index_tasks_waiting', { index: 'films' }), undefined)
  t.is(figure(all, 'meilisearch_last_indexed_documents_count', { batch_uid: '0', index: 'films' }), 2)
  const ms = figure(all, 'meilisearch_last_indexed_documents_duration_ms', { batch_uid: '0', index: 'films' })
  const step = { batch_uid: '0', step_name: 'processing tasks > committing' }
  const committing = figure(all, 'meilisearch_last_finished_batches_progress_trace_ms', step)
  t.true(committing !== undefined && ms !== undefined && committing > 0 && committing <= ms)
})

test('queue metrics of many indexes are bounded, and cover the longest queues', async (t) => {
  // No batch may hold a task, so all tasks wait.
  const server = await startServer(t, { features: ['metrics'], limits: { tasksMax: 0 } })
  for (let index = 0; index < 60; index++) await server.post(`/indexes/i${index}/documents`, [{ id: 1 }])
  for (const _ of [1, 2, 3]) await server.post('/indexes/i59/documents', [{ id: 1 }])
  await server.post('/swap-indexes', [])
  const all = await families(server)
  t.is(all.get('siftd_index_tasks_waiting')?.metrics.length, 50)
  t.is(figure(all, 'siftd_index_tasks_waiting', { index: 'i59' }), 4)
  t.is(figure(all, 'siftd_index_tasks_waiting', { index: 'i0' }), 1)
  const size = (name: string): number => figure(all, `meilisearch_task_queue_${name}`) ?? 0
  t.true(size('used_size') > 0)
  t.is(size('used_size') + size('size_until_stop_registering'), Math.floor(size('max_size') * 0.4))
})

test('concurrent answers are complete', async (t) => {
  const server = await usedServer(t)
  const names = (all: ReadonlyMap<string, Family>): readonly string[] =>
    [...all.values()].map(({ name, metrics }) => `${name} ${metrics.map(labelsOf).join()}`)
  const one = names(await families(server)).filter((line) => !/_http_|^nodejs|^process/.test(line))
  for (const other of await Promise.all(Array.from({ length: 8 }, () => families(server))))
    t.deepEqual(
      names(other).filter((line) => !/_http_|^nodejs|^process/.test(line)),
      one,
    )
})

test('the process reports memory, its event loop, and all of its processor time', async (t) => {
  const all = await families(await usedServer(t))
  for (const name of [
    'process_resident_memory_bytes',
    'nodejs_heap_size_used_bytes',
    'nodejs_external_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_eventloop_lag_max_seconds',
  ])
    t.true((figure(all, name) ?? -1) >= 0, name)
  const { user, system } = process.cpuUsage()
  const seconds = figure(all, 'process_cpu_seconds_total') ?? 0
  t.true(seconds > 0 && seconds <= (user + system) / 1e6, String(seconds))
})

test('metrics count answers by pattern of the route when they are switched on', async (t) => {
  const server = await startServer(t)
  checkError(t, await server.get('/metrics'), 400, 'feature_not_enabled')
  await server.patch('/experimental-features', { metrics: true })
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1 }]))
  await server.get('/indexes/films/documents/1')
  const { headers, bytes } = await server.get('/metrics')
  t.true(headers['content-type']?.startsWith('text/plain; version=0.0.4'))
  const text = bytes.toString()
  t.true(
    text.includes(
      'meilisearch_http_requests_total{method="GET",path="/indexes/{index_uid}/documents/{document_id}",status="200"} 1',
    ),
    text,
  )
  t.true(text.includes('meilisearch_index_docs_count{index="films"} 1'), text)
  t.true(text.includes('meilisearch_nb_tasks{kind="statuses",value="succeeded"} 1'), text)
  await server.settle(t, server.delete('/indexes/films'))
  t.false(
    (await server.get('/metrics')).bytes.toString().includes('index="films"'),
    'what is gone is not shown',
  )
})

test('task counts equal the totals of lists, after swaps and renames too, and query the store once', async (t) => {
  const server = await startServer(t, { features: ['metrics'] })
  const made = ['coast', 'delta', 'fjord', 'gulf']
  for (const uid of made) await server.settle(t, server.post('/indexes', { uid }))
  await server.settle(t, server.post('/swap-indexes', [{ indexes: ['coast', 'delta'] }]))
  await server.settle(t, server.patch('/indexes/fjord', { uid: 'sound' }))
  await server.settle(t, server.post('/indexes/delta/documents', [{ id: 1 }]))
  await server.settle(t, server.delete('/tasks?uids=0'))
  const { tasks } = server.parts
  let [lists, counts] = [0, 0]
  const { list, counts: count } = tasks
  Object.assign(tasks, {
    list(...given: Parameters<typeof list>) {
      lists++
      return list(...given)
    },
    counts() {
      counts++
      return count()
    },
  })
  const all = await families(server)
  t.deepEqual([lists, counts], [1, 1], 'one list is of the oldest unfinished task')
  for (const index of ['coast', 'delta', 'sound', 'gulf']) {
    const { total } = (await server.get(`/tasks?indexUids=${index}`)).body
    t.is(figure(all, 'meilisearch_nb_tasks', { kind: 'indexes', value: index }), total, index)
  }
  for (const kind of ['statuses', 'types']) {
    for (const value of kind === 'types' ? ['indexSwap', 'indexCreation'] : ['succeeded', 'canceled']) {
      const { total } = (await server.get(`/tasks?${kind}=${value}`)).body
      t.is(figure(all, 'meilisearch_nb_tasks', { kind, value }), total, value)
    }
  }
})

test('metrics report the cache by kind, within the bound', async (t) => {
  const server = await startServer(t, { features: ['metrics'] })
  await server.settle(t, server.patch('/indexes/films/settings', { filterableAttributes: ['year'] }))
  await server.settle(
    t,
    server.post('/indexes/films/documents', [{ id: 1, title: 'calm orbit', year: 1961 }]),
  )
  for (const limit of [1, 2, 2])
    await server.post('/indexes/films/search', { q: 'calm', limit, filter: 'year < 2000' })
  const text = (await server.get('/metrics')).bytes.toString()
  const figure = (name: string, kind: string): number =>
    Number(new RegExp(`^siftd_cache_${name}\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1])
  for (const kind of ['filters', 'splits']) {
    t.is(figure('hits_total', kind), 1, kind)
    t.is(figure('misses_total', kind), 1, kind)
    t.is(figure('entries', kind), 1, kind)
  }
  t.is(figure('hits_total', 'answers'), 1)
  t.is(figure('entries', 'answers'), 2)
  const bytes = [...text.matchAll(/^siftd_cache_bytes\{kind="(\w+)"\} (\d+)$/gm)]
  const cached = bytes.flatMap(([, kind, number]) => (kind === 'answers' ? [] : [Number(number)]))
  const sum = cached.reduce((all, one) => all + one, 0)
  const max = Number(/^siftd_cache_max_bytes (\d+)$/m.exec(text)?.[1])
  t.true(sum > 0 && sum <= max, `${sum} of ${max}`)
})

test('metrics count an upload that could not be removed, and its task succeeds', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-uploads-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const uploads = join(directory, 'update_files')
  const server = await startServer(t, {
    directory,
    features: ['metrics'],
    // A directory instead of the upload cannot be removed like a file.
    queueEngine: (engine) => ({
      ...engine,
      async commit(...batch) {
        const report = await engine.commit(...batch)
        for (const name of await readdir(uploads)) {
          await rm(join(uploads, name))
          await mkdir(join(uploads, name))
        }
        return report
      },
    }),
  })
  const counted = async (): Promise<string | undefined> =>
    /^siftd_background_faults_total\{kind="upload_removal"\} (\d+)$/m.exec(
      (await server.get('/metrics')).bytes.toString(),
    )?.[1]
  t.is(await counted(), '0')
  // A shorter body would be in the task store, not in a file.
  const text = 'x'.repeat(INLINE_PAYLOAD_BYTES_MAX)
  const task = await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, text }]))
  t.is(task.status, 'succeeded')
  t.is(await counted(), '1')
})
