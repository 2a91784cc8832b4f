import test, { type ExecutionContext } from 'ava'
import { startProvider, type TestProvider, vectorOf } from '../support/provider.js'
import { startReceiver } from '../support/receiver.js'
import { startServer, type TestServer, type TestServerOptions } from '../support/server.js'

/** A span as a collector gets it. */
interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number; readonly message?: string }
}

interface Sent {
  readonly resourceSpans: readonly [
    {
      readonly resource: { readonly attributes: SentSpan['attributes'] }
      readonly scopeSpans: readonly [{ readonly spans: readonly SentSpan[] }]
    },
  ]
}

const spansOf = ({ calls }: TestProvider): readonly SentSpan[] =>
  calls.flatMap(({ body }) => (body as Sent).resourceSpans[0].scopeSpans[0].spans)

const attribute = ({ attributes }: SentSpan, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0]

/** The names of a trace, each below and behind its parent. */
function drawn(spans: readonly SentSpan[], parent?: string, depth = 0): readonly string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .sort((a, b) => (BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1))
    .flatMap((span) => [`${'  '.repeat(depth)}${span.name}`, ...drawn(spans, span.spanId, depth + 1)])
}

interface World {
  readonly server: TestServer
  readonly collector: TestProvider
  readonly provider: TestProvider
  /** Waits for the spans so far. */
  sent(): Promise<readonly SentSpan[]>
}

async function world(t: ExecutionContext, options: TestServerOptions = {}): Promise<World> {
  const collector = await startProvider(t, () => ({}))
  const provider = await startProvider(t, ({ body }) => [...vectorOf(body)])
  const server = await startServer(t, {
    allowedNetworks: ['127.0.0.0/8'],
    features: ['metrics'],
    ...options,
    tracing: { endpoint: collector.url, headers: { 'x-key': 'k' }, ...options.tracing },
  })
  const sent = async () => {
    // Spans are sent in the order in which they end.
    await server.get('/version', { headers: { traceparent: `00-${'f'.repeat(32)}-${PARENT}-01` } })
    const isLast = ({ traceId }: SentSpan): boolean => traceId.startsWith('ffff')
    while (!spansOf(collector).some(isLast)) await new Promise((resolve) => setTimeout(resolve, 5))
    return spansOf(collector).filter((span) => !isLast(span))
  }
  return { server, collector, provider, sent }
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const traced = (flags: string) => ({ headers: { traceparent: `00-${TRACE}-${PARENT}-${flags}` } })

test('a search is a trace: its route, its wait, the engine with its stages, and calls with traceparent', async (t) => {
  const { server, collector, provider, sent } = await world(t)
  const embedder = { source: 'rest', request: '{{text}}', response: '{{embedding}}', dimensions: 2 }
  await server.settle(
    t,
    server.patch('/indexes/films/settings', {
      embedders: { e: { ...embedder, url: `${provider.url}/v?key=secret`, documentTemplate: 'x' } },
    }),
  )
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, title: 'solaris' }]))
  const search = { q: 'solaris', hybrid: { embedder: 'e', semanticRatio: 1 } }
  const { body } = await server.post('/indexes/films/search', search, traced('01'))
  t.is(body.hits.length, 1)
  t.is((await server.post('/indexes/films/search', { filter: 'solaris = 1' })).status, 400)
  t.false('performanceDetails' in body, 'the stages are taken out of the answer')
  t.regex(
    (await server.get('/metrics')).bytes.toString(),
    /^siftd_trace_spans_total\{outcome="dropped"\} 0$/m,
  )
  const spans = await sent()
  t.is(collector.calls[0]?.path, '/v1/traces')
  t.is(collector.calls[0]?.headers['x-key'], 'k')
  t.regex(JSON.stringify(collector.calls[0]?.body), /"key":"service\.name","value":\{"stringValue":"siftd"\}/)

  const ours = spans.filter(({ traceId }) => traceId === TRACE)
  const lines = drawn(ours, PARENT)
  t.deepEqual(
    lines.filter((line) => !/search >|wait in queue/.test(line)),
    ['POST /indexes/:indexUid/search', '  embed query', '    embedding POST', '  engine search'].toSpliced(
      1,
      0,
      '  wait for turn',
    ),
  )
  t.true(lines.includes('    search > semantic ranking'), lines.join('\n'))
  for (const { startTimeUnixNano: start, endTimeUnixNano: end } of ours) t.true(BigInt(start) <= BigInt(end))
  const [root, call] = ['POST /indexes/:indexUid/search', 'embedding POST'].map(
    (name) => ours.find((span) => span.name === name)!,
  )
  t.is(attribute(root!, 'http.response.status_code'), '200')
  t.is(provider.calls.at(-1)?.headers.traceparent, `00-${TRACE}-${call!.spanId}-01`)
  t.notRegex(JSON.stringify(spans), /secret|solaris/, 'no text of queries, no secret of URLs')

  const batch = spans.find((span) => span.name === 'batch' && attribute(span, 'siftd.index') === 'films')!
  const steps = drawn(spans.filter(({ traceId }) => traceId === batch.traceId))
  for (const name of ['step preparing', 'engine prepare', 'step committing', 'engine commit'])
    t.true(steps.includes(`  ${name}`), steps.join('\n'))
})

test('a ranking is a span with the source of the reranker, and its call below', async (t) => {
  const { server, provider, sent } = await world(t)
  const m = { source: 'tei', url: `${provider.url}/rerank`, timeoutMs: 30_000 }
  await server.settle(t, server.patch('/indexes/films/settings', { rerankers: { m } }))
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, title: 'solaris' }]))
  await server.post('/indexes/films/search', { q: 'solaris', rerank: { model: 'm' } }, traced('01'))
  const spans = (await sent()).filter(({ traceId }) => traceId === TRACE)
  t.deepEqual(
    drawn(spans, PARENT).filter((line) => line.includes('rerank')),
    ['  rerank', '    reranking POST'],
  )
  const ranking = spans.find(({ name }) => name === 'rerank')!
  t.is(attribute(ranking, 'siftd.reranker.source'), 'tei')
})

test('a caller decides for its trace; malformed headers are ignored; failures are marked', async (t) => {
  const { server, sent } = await world(t, { tracing: { sampleRatio: 0 } })
  await server.get('/health', traced('00'))
  await server.get('/health')
  await server.get('/health', { headers: { traceparent: `00-${'0'.repeat(32)}-${PARENT}-01` } })
  await server.get('/health', { headers: { traceparent: 'x' } })
  await server.get('/indexes/ghost', traced('01'))
  const spans = await sent()
  t.deepEqual(
    spans.map(({ name, parentSpanId }) => [name, parentSpanId]),
    [['GET /indexes/:indexUid', PARENT]],
  )
  t.is(attribute(spans[0]!, 'error.type'), 'index_not_found')
  t.deepEqual(spans[0]?.status, {}, 'a mistake of the client is no failure of the server')
})

test('query texts are shown only on request', async (t) => {
  const { server, sent } = await world(t, { tracing: { showsQueries: true } })
  await server.settle(t, server.post('/indexes', { uid: 'films' }))
  await server.post('/indexes/films/search', { q: 'solaris', filter: 'a = 1' })
  await server.post('/indexes/films/search', { q: 'solaris', showPerformanceDetails: true })
  const [, shown] = (await sent()).filter(({ name }) => name === 'engine search')
  t.is(attribute(shown!, 'siftd.query'), 'solaris')
})

test('webhooks and remotes get traceparent', async (t) => {
  const receiver = await startReceiver(t, () => 204)
  const remote = await startProvider(t, () => ({ hits: [], processingTimeMs: 0 }))
  const { server } = await world(t, {
    features: ['network'],
    taskWebhook: { url: receiver.url, authorization: null },
  })
  await server.settle(t, server.post('/indexes', { uid: 'films' }))
  await server.patch('/network', { self: 'here', remotes: { there: { url: remote.url } } })
  const queries = [{ indexUid: 'films', federationOptions: { remote: 'there' } }]
  await server.post('/multi-search', { federation: {}, queries }, traced('01'))
  t.regex(String(remote.calls[0]?.headers.traceparent), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`))
  await receiver.until(() => receiver.receipts.length > 0)
  t.regex(String(receiver.receipts[0]?.headers.traceparent), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
})

test('spans are dropped and counted if the collector fails, and while it is slow', async (t) => {
  const collector = await startProvider(t, () => ({ status: 500, text: '' }))
  const server = await startServer(t, { features: ['metrics'], tracing: { endpoint: collector.url } })
  // More than one request to the collector has room for.
  for (let i = 0; i < 600; i += 50) await Promise.all(Array.from({ length: 50 }, () => server.get('/health')))
  let dropped = 0
  while (dropped === 0) {
    const text = (await server.get('/metrics')).bytes.toString()
    dropped = Number(/^siftd_trace_spans_total\{outcome="dropped"\} (\d+)$/m.exec(text)?.[1])
  }
  t.true(dropped >= 512)
})
