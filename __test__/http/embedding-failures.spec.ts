/** Calls to a failing provider are retried or fail with a code, and nothing of the batch is stored. */
import test from 'ava'
import { startProvider, vectorOf } from '../support/provider.js'
import { startServer, type TestBody } from '../support/server.js'
import { type Answer, bare, single, template, world } from './embedding-world.js'

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
    // `XXX...` is the mask that the API shows instead of a key.
    message: /answered 401: .*XXX\.\.\./,
  },
  {
    what: 'always fails',
    answer: () => ({ status: 500, text: 'out of order' }),
    calls: 11,
    message: /answered 500: out of order/,
  },
  {
    what: 'does not answer JSON',
    answer: () => ({ status: 200, text: '<html>' }),
    calls: 11,
    message: /not JSON/,
  },
  {
    what: 'gives other dimensions',
    answer: () => [1, 2, 3],
    calls: 1,
    message: /expected 2 dimensions, found 3/,
  },
  { what: 'gives no vector', answer: () => ({ vector: [1, 2] }), calls: 1, message: /array of numbers/ },
  { what: 'gives texts', answer: () => ['1', '2'], calls: 1, message: /not a number/ },
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

test.serial('a template whose text is too long fails the task before any request', async (t) => {
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

test.serial('a provider that recovers is retried after growing pauses', async (t) => {
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

test.serial('a header that HTTP does not allow fails at once', async (t) => {
  const { add, provider, waits } = await world(t, bare, { ...single, ...template, headers: { a: 'b\nc' } })
  const { error } = await add({ id: 1, t: 'red' })
  t.is(error.code, 'vector_embedding_error')
  t.regex(error.message, /a header that HTTP does not allow/)
  t.deepEqual([provider.calls.length, waits.length], [0, 0])
})

test.serial('a provider that gives a time to wait is retried after it', async (t) => {
  const busy: Answer = (call, number) =>
    number === 0 ? { status: 503, text: '', headers: { 'retry-after': '7' } } : bare(call, number)
  const { add, waits } = await world(t, busy, { ...single, ...template })
  t.is((await add({ id: 1, t: 'red' })).status, 'succeeded')
  t.deepEqual(waits, [7000])
})

test.serial('a private address is refused without a call', async (t) => {
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

test.serial('canceling ends running calls, and the batch leaves no trace', async (t) => {
  const { server, provider } = await world(t, () => null, { ...single, ...template })
  const { body } = await server.post('/indexes/i/documents', [{ id: 1, t: 'red' }])
  while (provider.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const canceled = await server.settle(t, server.post(`/tasks/cancel?uids=${body.taskUid}`))
  t.is(canceled.status, 'succeeded')
  t.is((await server.get(`/tasks/${body.taskUid}`)).body.status, 'canceled')
  t.is((await server.get('/indexes/i/documents')).body.total, 0)
})

test.serial('a batch that waits for vectors reports the number of remaining documents', async (t) => {
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

test.serial('ignored failures leave their documents without a vector', async (t) => {
  const choosy: Answer = (call, number) =>
    String(call.body).startsWith('bad') ? { status: 400, text: 'not this' } : bare(call, number)
  const documents = [{ id: 1, t: 'red' }, { id: 2 }, { id: 3, t: 'bad' }]
  const none = { g: { embeddings: [], regenerate: true } }
  for (const [ignoreTemplates, ignoreProviders, failure] of [
    [true, true, null],
    [true, false, 'vector_embedding_error'],
    [false, true, 'invalid_document_fields'],
  ] as const) {
    const embedder = { ...single, ...template }
    const failureModes = { ignoreTemplates, ignoreProviders }
    const { add, update, vectors, search } = await world(t, choosy, embedder, { failureModes })
    const task = await add(...documents)
    if (failure !== null) {
      t.is(task.error.code, failure)
      continue
    }
    t.is(task.status, 'succeeded')
    t.deepEqual(await vectors('1'), { g: { embeddings: [[3, 18]], regenerate: true } })
    t.deepEqual(await vectors('2'), none)
    t.deepEqual(await vectors('3'), none)
    // A document loses its old vector if its new text fails.
    await update({ id: 1, t: 'bad now' }, { id: 3, t: 'blue' })
    t.deepEqual(await vectors('1'), none)
    t.deepEqual(await vectors('3'), { g: { embeddings: [[4, 2]], regenerate: true } })
    t.deepEqual(
      (await search({ filter: '_vectors.g EXISTS' })).body.hits.map(({ id }) => id),
      [3],
    )
  }
})
