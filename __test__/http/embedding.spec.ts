/**
 * 1. A document is embedded when it is new, looks otherwise than it did, or its embedder changed; never else.
 * 2. What a provider fails at is tried again or told, by a code, and nothing of the batch is stored.
 * 3. A search by meaning is embedded only if words do not settle it.
 */
import test, { type ExecutionContext } from 'ava'
import {
  type Call,
  type ProviderAnswer,
  startProvider,
  type TestProvider,
  vectorOf,
} from '../support/provider.js'
import { startServer, type TestBody, type TestServer } from '../support/server.js'

type Answer = (call: Call, number: number) => ProviderAnswer | null | Promise<ProviderAnswer | null>

/** Single texts in, bare vectors out. */
const single = { source: 'rest', request: '{{text}}', response: '{{embedding}}', dimensions: 2 }
const batched = {
  ...single,
  request: { input: ['{{text}}', '{{..}}'] },
  response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
}
const template = { documentTemplate: '{{doc.t}}' }

const bare: Answer = ({ body }) => [...vectorOf(body)]
const many: Answer = ({ body }) => ({
  data: (body as { input: unknown[] }).input.map((text) => ({ embedding: vectorOf(text) })),
})

interface World {
  readonly server: TestServer
  readonly provider: TestProvider
  readonly waits: readonly number[]
  settings(embedders: object): Promise<TestBody>
  add(...documents: readonly object[]): Promise<TestBody>
  update(...documents: readonly object[]): Promise<TestBody>
  /** `_vectors` of a document. */
  vectors(id: string): Promise<unknown>
  search(body: object): ReturnType<TestServer['post']>
}

async function world(t: ExecutionContext, answer: Answer, embedder?: object): Promise<World> {
  const provider = await startProvider(t, answer)
  const waits: number[] = []
  const server = await startServer(t, {
    allowedNetworks: ['127.0.0.0/8'],
    features: ['multimodal', 'compositeEmbedders'],
    embedding: {
      wait: async (ms) => {
        waits.push(ms)
      },
    },
  })
  const settings = (embedders: object) =>
    server.settle(t, server.patch('/indexes/i/settings/embedders', embedders))
  const made: World = {
    server,
    provider,
    waits,
    settings,
    add: (...documents) => server.settle(t, server.post('/indexes/i/documents', documents)),
    update: (...documents) => server.settle(t, server.put('/indexes/i/documents', documents)),
    async vectors(id) {
      const { body } = await server.get(`/indexes/i/documents/${id}?retrieveVectors=true`)
      return body._vectors
    },
    search: (body) => server.post('/indexes/i/search', body),
  }
  if (embedder !== undefined) {
    t.is((await settings({ g: { url: provider.url, ...embedder } })).status, 'succeeded')
  }
  return made
}

const generated = (...embeddings: readonly (readonly number[])[]) => ({ g: { embeddings, regenerate: true } })

test.serial('a document is embedded once, until its text changes', async (t) => {
  const { add, update, vectors, provider } = await world(t, bare, { ...single, ...template })
  t.is((await add({ id: 1, t: 'red' })).status, 'succeeded')
  t.deepEqual(await vectors('1'), generated([3, 18]))
  await update({ id: 1, t: 'red', x: 1 })
  t.is(provider.calls.length, 1)
  await update({ id: 1, t: 'blue' })
  t.is(provider.calls.length, 2)
  t.deepEqual(await vectors('1'), generated([4, 2]))
})

test.serial('sent vectors that may be regenerated are stored until the text changes', async (t) => {
  const { add, update, vectors, provider } = await world(t, bare, { ...single, ...template })
  await add({ id: 1, t: 'red', _vectors: { g: { regenerate: true, embeddings: [0, 1] } } })
  await update({ id: 1, x: 1 })
  t.is(provider.calls.length, 0)
  t.deepEqual(await vectors('1'), generated([0, 1]))
  await update({ id: 1, t: 'blue' })
  t.deepEqual(await vectors('1'), generated([4, 2]))
})

test.serial(
  'within one batch a text is embedded only if it differs from that of its last vectors',
  async (t) => {
    const { server, vectors, provider } = await world(t, bare, { ...single, ...template })
    const lines = [
      { id: 1, t: 'red' },
      { id: 1, t: 'green', _vectors: { g: { regenerate: true, embeddings: [7, 7] } } },
      { id: 1, t: 'green', x: 1 },
      { id: 2, t: 'red', _vectors: { g: { regenerate: true, embeddings: [7, 7] } } },
      { id: 2, t: 'blue' },
    ]
    await server.settle(t, server.post('/indexes/i/documents', lines))
    t.deepEqual(await vectors('1'), generated([7, 7]))
    t.deepEqual(await vectors('2'), generated([4, 2]))
    t.is(provider.calls.length, 1)
  },
)

test.serial('a document that stops bringing its vectors gets new ones', async (t) => {
  const { add, update, vectors, provider } = await world(t, bare, { ...single, ...template })
  await add({ id: 1, t: 'red', _vectors: { g: [0, 1] } })
  await update({ id: 1, t: 'blue' })
  t.is(provider.calls.length, 0)
  await update({ id: 1, _vectors: { g: { regenerate: true } } })
  t.deepEqual(await vectors('1'), generated([4, 2]))
})

test.serial(
  'a new embedder embeds stored documents, but never those whose vectors must not be regenerated',
  async (t) => {
    const { add, settings, vectors, provider } = await world(t, bare)
    await add({ id: 1, t: 'red', u: 'x' }, { id: 2, t: 'blue', u: 'y', _vectors: { g: [0, 1] } })
    await settings({ g: { ...single, ...template, url: provider.url } })
    t.deepEqual(await vectors('1'), generated([3, 18]))
    t.is(provider.calls.length, 1)
    await settings({ g: { documentTemplate: '{{doc.t}}{% if doc.never %}!{% endif %}' } })
    t.is(provider.calls.length, 1)
    await settings({ g: { documentTemplate: '{{doc.u}}' } })
    t.deepEqual(await vectors('1'), generated([1, 24]))
    t.deepEqual(await vectors('2'), { g: { embeddings: [[0, 1]], regenerate: false } })
    t.is(provider.calls.length, 2)
    await settings({ g: { apiKey: 'secret' } })
    t.is(provider.calls.length, 2)
  },
)

test.serial('the default template holds searchable fields alone', async (t) => {
  const { server, add, provider } = await world(t, bare, single)
  await add({ id: 1, t: 'A', u: null })
  t.is(provider.calls.at(-1)?.body, 'id: 1\nt: A\n')
  await server.settle(t, server.put('/indexes/i/settings/searchable-attributes', ['t', 'u']))
  t.is(provider.calls.at(-1)?.body, 't: A\n')
})

test.serial('a template that fails names the document and stores nothing of the batch', async (t) => {
  const { server, add } = await world(t, bare, { ...single, ...template })
  const task = await add({ id: 'good', t: 'x' }, { id: 'bad' })
  t.is(task.error.code, 'invalid_document_fields')
  t.regex(task.error.message, /`bad`/)
  t.is((await server.get('/indexes/i/documents')).body.total, 0)
})

test.serial('texts are sent to a provider in tens, equal texts once', async (t) => {
  const { add, provider, server } = await world(t, many, { ...batched, ...template })
  await add(...Array.from({ length: 23 }, (_, id) => ({ id, t: `text ${id}` })))
  const sizes = () => provider.calls.map(({ body }) => (body as { input: unknown[] }).input.length)
  t.deepEqual(sizes(), [10, 10, 3])
  const task = await add(...Array.from({ length: 40 }, (_, id) => ({ id: 100 + id, t: 'the same' })))
  t.deepEqual(sizes().slice(3), [1])
  const { body } = await server.get(`/batches/${String(task.batchUid)}`)
  t.deepEqual((body.stats as TestBody).embedderRequests, { total: 1, failed: 0 })
})

test.serial('dimensions that settings leave out are asked of the provider once, and not shown', async (t) => {
  const { dimensions: _dimensions, ...unknown } = single
  const { server, add, provider, settings } = await world(t, bare, { ...unknown, ...template })
  t.deepEqual(
    provider.calls.map(({ body }) => body),
    ['test'],
  )
  const { body } = await server.get('/indexes/i/settings/embedders')
  t.deepEqual(Object.keys(body.g as object).sort(), [
    'documentTemplate',
    'documentTemplateMaxBytes',
    'headers',
    'request',
    'response',
    'source',
    'url',
  ])
  await settings({ g: { distribution: { mean: 0.5, sigma: 0.5 } } })
  t.is(provider.calls.length, 1)
  t.is((await add({ id: 1, t: 'red' })).status, 'succeeded')
})

// ——— failures ———

const failures: readonly {
  readonly what: string
  readonly answer: Answer
  readonly calls: number
  readonly message: RegExp
}[] = [
  {
    what: 'refuses',
    answer: () => ({ status: 401, text: '{"error":"no such key: top-secret"}' }),
    calls: 1,
    // `XXX...` is the mask that the API puts in the place of a key.
    message: /answered 401: .*XXX\.\.\./,
  },
  {
    what: 'is never well',
    answer: () => ({ status: 500, text: 'out of order' }),
    calls: 11,
    message: /answered 500: out of order/,
  },
  { what: 'speaks no JSON', answer: () => ({ status: 200, text: '<html>' }), calls: 11, message: /not JSON/ },
  {
    what: 'gives other dimensions',
    answer: () => [1, 2, 3],
    calls: 1,
    message: /expected 2 dimensions, found 3/,
  },
  { what: 'gives no vector', answer: () => ({ vector: [1, 2] }), calls: 1, message: /array of numbers/ },
  { what: 'gives texts', answer: () => ['1', '2'], calls: 1, message: /no number/ },
  { what: 'gives numbers beyond floats', answer: () => [1e300, 1], calls: 1, message: /32-bit/ },
  {
    what: 'nests arrays without end',
    answer: () => ({ status: 200, text: '['.repeat(2_500_000) + ']'.repeat(2_500_000) }),
    calls: 11,
    message: /not JSON/,
  },
  {
    what: 'gives a million values',
    answer: () => ({ status: 200, text: `[${'"",'.repeat(1_000_000)}""]` }),
    calls: 1,
    message: /more than 300000 values/,
  },
  {
    what: 'never stops',
    answer: () => ({ status: 200, text: `[${'1,'.repeat(20_000_000)}1]` }),
    calls: 1,
    message: /more than \d+ bytes/,
  },
]
for (const { what, answer, calls, message } of failures) {
  test.serial(`a provider that ${what} fails the task and stores nothing`, async (t) => {
    const { add, provider, server } = await world(t, answer, { ...single, ...template, apiKey: 'top-secret' })
    const task = await add({ id: 1, t: 'red' })
    t.is(task.error.code, 'vector_embedding_error')
    t.regex(task.error.message, message)
    t.notRegex(task.error.message, /top-secret/)
    t.is(provider.calls.length, calls)
    t.is((await server.get('/indexes/i/documents')).body.total, 0)
    // The index is as usable as before.
    t.is((await add({ id: 2, t: 'x', _vectors: { g: [1, 2] } })).status, 'succeeded')
  })
}

test.serial('a template whose text is too long fails the task before anything is sent', async (t) => {
  const doubling = '{% capture a %}{{ a }}{{ a }}{% endcapture %}'.repeat(25)
  const documentTemplate = `{% assign a = doc.t %}${doubling}{{ a }}`
  const { add, provider } = await world(t, bare, {
    ...single,
    documentTemplate,
    documentTemplateMaxBytes: 50,
  })
  const task = await add({ id: 1, t: 'a text' })
  t.is(task.error.code, 'invalid_document_fields')
  t.regex(task.error.message, /limit exceeded/)
  t.is(provider.calls.length, 0)
})

test.serial('a provider that recovers is asked again after growing pauses', async (t) => {
  const flaky: Answer = (call, number) =>
    number < 2
      ? { status: 500, text: 'later' }
      : number === 2
        ? { status: 429, text: 'slower' }
        : bare(call, number)
  const { add, server, waits } = await world(t, flaky, { ...single, ...template })
  const task = await add({ id: 1, t: 'red' })
  t.is(task.status, 'succeeded')
  t.deepEqual(
    waits.map((wait, at) => wait >= [0.5, 5, 150][at]! && wait <= [1, 10, 200][at]!),
    [true, true, true],
  )
  const { body } = await server.get(`/batches/${String(task.batchUid)}`)
  const { total, failed, lastError } = (body.stats as TestBody).embedderRequests as TestBody
  t.is(total, 4)
  t.is(failed, 3)
  t.regex(String(lastError), /429/)
})

test.serial('a provider that names a time to wait is asked again after it', async (t) => {
  const busy: Answer = (call, number) =>
    number === 0 ? { status: 503, text: '', headers: { 'retry-after': '7' } } : bare(call, number)
  const { add, waits } = await world(t, busy, { ...single, ...template })
  t.is((await add({ id: 1, t: 'red' })).status, 'succeeded')
  t.deepEqual(waits, [7000])
})

test.serial('an address that is not public is refused without a call', async (t) => {
  const provider = await startProvider(t, bare)
  const server = await startServer(t)
  const { dimensions: _dimensions, ...unknown } = single
  for (const url of [provider.url, 'http://169.254.169.254/x']) {
    const task = await server.settle(
      t,
      server.patch('/indexes/i/settings/embedders', { g: { ...unknown, url } }),
    )
    t.is(task.error.code, 'vector_embedding_error')
  }
  t.is(provider.calls.length, 0)
})

test.serial('canceling ends calls under way, and nothing of the batch is there', async (t) => {
  const { server, provider } = await world(t, () => null, { ...single, ...template })
  const { body } = await server.post('/indexes/i/documents', [{ id: 1, t: 'red' }])
  while (provider.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const canceled = await server.settle(t, server.post(`/tasks/cancel?uids=${body.taskUid}`))
  t.is(canceled.status, 'succeeded')
  t.is((await server.get(`/tasks/${body.taskUid}`)).body.status, 'canceled')
  t.is((await server.get('/indexes/i/documents')).body.total, 0)
})

test.serial('a batch that waits for vectors tells how many documents are left', async (t) => {
  let answer: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  const asks: Answer = async (call) => {
    await held
    return [...vectorOf(call.body)]
  }
  const { server, provider } = await world(t, asks, { ...single, ...template })
  const sent = server.post('/indexes/i/documents', [
    { id: 1, t: 'red' },
    { id: 2, t: 'blue' },
    { id: 3, t: 'green' },
  ])
  const { taskUid } = (await sent).body
  while (provider.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const { batchUid } = (await server.get(`/tasks/${taskUid}`)).body
  const { progress } = (await server.get(`/batches/${batchUid}`)).body
  t.deepEqual((progress as { steps: unknown }).steps, [
    { currentStep: 'processing tasks', finished: 0, total: 2 },
    { currentStep: 'embedding', finished: 2, total: 4 },
    { currentStep: 'document', finished: 0, total: 3 },
  ])
  const listed = (await server.get('/batches?limit=1')).body.results[0]
  t.deepEqual(listed?.progress, progress)
  answer()
  t.is((await server.settle(t, sent)).status, 'succeeded')
  t.is((await server.get(`/batches/${batchUid}`)).body.progress, null)
})

// ——— sources ———

test.serial('an openAi embedder sends the requests that OpenAI documents', async (t) => {
  const embedding = Array.from({ length: 1536 }, (_, at) => at)
  const answer: Answer = ({ body }) => ({
    data: (body as { input: unknown[] }).input.map(() => ({ embedding })),
  })
  const { add, provider, settings } = await world(t, answer)
  await settings({ g: { source: 'openAi', url: provider.url, apiKey: 'sk-1234', ...template } })
  t.is((await add({ id: 1, t: 'red' }, { id: 2, t: 'blue' })).status, 'succeeded')
  t.deepEqual(provider.calls[0]?.body, { model: 'text-embedding-3-small', input: ['red', 'blue'] })
  t.is(provider.calls[0]?.headers.authorization, 'Bearer sk-1234')
})

for (const [path, shape] of [
  ['/api/embed', { model: 'm', input: ['red'] }],
  ['/api/embeddings', { model: 'm', prompt: 'red' }],
] as const) {
  test.serial(`an ollama embedder sends the requests that Ollama documents for ${path}`, async (t) => {
    const answer: Answer = () => (path === '/api/embed' ? { embeddings: [[1, 2]] } : { embedding: [1, 2] })
    const { add, provider, settings } = await world(t, answer)
    const url = `${provider.url}${path}`
    t.is((await settings({ g: { source: 'ollama', model: 'm', url, ...template } })).status, 'succeeded')
    t.is((await add({ id: 1, t: 'red' })).status, 'succeeded')
    t.deepEqual(provider.calls.at(-1)?.body, shape)
  })
}

test.serial(
  'an ollama embedder with another path, and an embedder that runs a model here, are refused',
  async (t) => {
    const { provider, settings } = await world(t, bare)
    for (const embedder of [{ source: 'ollama', model: 'm', url: provider.url }, { source: 'huggingFace' }]) {
      t.is((await settings({ g: embedder })).error.code, 'vector_embedding_error')
    }
  },
)

test.serial('a composite embedder whose halves make different vectors fails its task', async (t) => {
  const answer: Answer = ({ path, body }) =>
    path === '/three' ? [1, 2, 3] : path === '/other' ? [-1, 1] : [...vectorOf(body)]
  const { provider, settings } = await world(t, answer)
  const { dimensions: _dimensions, ...half } = single
  const composite = (path: string) => ({
    source: 'composite',
    indexingEmbedder: { ...half, url: provider.url },
    searchEmbedder: { ...half, url: `${provider.url}${path}` },
  })
  t.is((await settings({ g: composite('/three') })).error.code, 'vector_embedding_error')
  t.is((await settings({ g: composite('/other') })).error.code, 'vector_embedding_error')
  t.is((await settings({ g: composite('/') })).status, 'succeeded')
})

// ——— fragments ———

const fragmented = {
  source: 'rest',
  dimensions: 2,
  request: '{{fragment}}',
  response: '{{embedding}}',
  indexingFragments: { txt: { value: '{{doc.t}}' }, img: { value: { u: '{{doc.u}}' } } },
  searchFragments: { q: { value: '{{q}}' }, m: { value: { u: '{{media.u}}' } } },
}

test.serial('a document has a vector per fragment it has the fields for', async (t) => {
  const { add, settings, vectors, provider, search } = await world(t, bare, fragmented)
  t.is((await add({ id: 1, t: 'red' }, { id: 2, t: 'blue', u: 'x' })).status, 'succeeded')
  t.deepEqual(await vectors('1'), generated([3, 18]))
  t.deepEqual(await vectors('2'), generated([9, 27], [4, 2]))
  const found = async (filter: string) => (await search({ filter })).body.hits.map(({ id }) => id)
  t.deepEqual(await found('_vectors.g.fragments.img EXISTS'), [2])
  t.deepEqual(await found('_vectors.g.fragments.txt EXISTS'), [1, 2])
  t.deepEqual(await found('_vectors.g.documentTemplate EXISTS'), [])
  const before = provider.calls.length
  await settings({ g: { indexingFragments: { also: { value: 'a {{doc.t}}' } } } })
  t.is(provider.calls.length, before + 2)
  t.deepEqual(await vectors('2'), generated([9, 27], [4, 2], [6, 1]))
  await settings({ g: { indexingFragments: { img: null } } })
  t.is(provider.calls.length, before + 2)
  t.deepEqual(await vectors('2'), generated([4, 2], [6, 1]))
})

test.serial('a search that fits no search fragment, or several, is refused', async (t) => {
  const { add, search, provider } = await world(t, bare, fragmented)
  await add({ id: 1, t: 'red' })
  const hybrid = { embedder: 'g', semanticRatio: 1 }
  t.is((await search({ media: { u: 'x' }, hybrid })).status, 200)
  t.deepEqual(provider.calls.at(-1)?.body, { u: 'x' })
  t.is((await search({ q: 'a', media: { u: 'x' }, hybrid })).body.code, 'vector_embedding_error')
})

// ——— searches ———

const three = [
  { id: 1, t: 'red' },
  { id: 2, t: 'blue' },
  { id: 3, t: 'green' },
]

test.serial('a hybrid search embeds its query and ranks by the vector', async (t) => {
  const { server, add, search } = await world(t, bare, { ...single, ...template })
  await add(...three)
  const hybrid = { embedder: 'g', semanticRatio: 1 }
  const { body } = await search({ q: 'blue', hybrid, showRankingScore: true, retrieveVectors: true })
  t.deepEqual([body.hits[0]?.id, body.hits[0]?._rankingScore, body.semanticHitCount], [2, 1, 3])
  t.deepEqual(body.queryVector, [4, 2])
  const queries = [{ indexUid: 'i', q: 'blue', hybrid, limit: 1 }]
  const apart = await server.post('/multi-search', { queries })
  t.is((apart.body.results[0] as TestBody).hits[0]?.id, 2)
  const merged = await server.post('/multi-search', {
    queries: [{ indexUid: 'i', q: 'blue', hybrid }],
    federation: {},
  })
  t.is(merged.body.hits[0]?.id, 2)
})

test.serial('a hybrid search that words settle calls no provider', async (t) => {
  const { add, search, provider } = await world(t, bare, { ...single, ...template })
  await add(...three)
  const asked = provider.calls.length
  const { body } = await search({ q: 'red', limit: 1, hybrid: { embedder: 'g', semanticRatio: 0.1 } })
  t.deepEqual([body.hits.length, body.semanticHitCount, provider.calls.length - asked], [1, 0, 0])
  const both = await search({ q: 'red', hybrid: { embedder: 'g', semanticRatio: 0.1 } })
  t.deepEqual([both.body.hits.length, both.body.semanticHitCount, provider.calls.length - asked], [3, 2, 1])
  await search({ q: 'red', hybrid: { embedder: 'g', semanticRatio: 0 } })
  await search({ q: 'red', vector: [1, 2], hybrid: { embedder: 'g', semanticRatio: 1 } })
  t.is(provider.calls.length - asked, 1)
})

test.serial(
  'a query that cannot be embedded is ranked by words, and refused if vectors alone were asked for',
  async (t) => {
    const broken: Answer = (call, number) => (number < 3 ? bare(call, number) : { status: 400, text: 'no' })
    const { add, search } = await world(t, broken, { ...single, ...template })
    await add(...three)
    const hybrid = (semanticRatio: number) => ({ q: 'red', hybrid: { embedder: 'g', semanticRatio } })
    const { body } = await search(hybrid(0.9))
    t.deepEqual([body.hits.map(({ id }) => id), body.semanticHitCount], [[1], 0])
    t.is((await search(hybrid(1))).body.code, 'vector_embedding_error')
  },
)

test.serial('a search whose provider does not answer ends at its time limit', async (t) => {
  const silent: Answer = (call, number) => (number < 3 ? bare(call, number) : null)
  const { server, add, search } = await world(t, silent, { ...single, ...template })
  await add(...three)
  await server.settle(t, server.put('/indexes/i/settings/search-cutoff-ms', 50))
  const { body } = await search({ q: 'red', hybrid: { embedder: 'g', semanticRatio: 1 } })
  t.is(body.code, 'vector_embedding_error')
})

test.serial('vectors of queries are cached, as many as the option says', async (t) => {
  const provider = await startProvider(t, bare)
  const server = await startServer(t, { allowedNetworks: 'any', embedding: { cachedQueries: 1 } })
  const g = { ...single, ...template, url: provider.url }
  await server.settle(t, server.patch('/indexes/i/settings/embedders', { g }))
  const search = (q: string) =>
    server.post('/indexes/i/search', { q, hybrid: { embedder: 'g', semanticRatio: 1 } })
  for (const q of ['a', 'a', 'b', 'a']) t.is((await search(q)).status, 200)
  t.deepEqual(
    provider.calls.map(({ body }) => body),
    ['a', 'b', 'a'],
  )
})
