/** A document is embedded only when it is new, or its text or its embedder changed. */
import test from 'ava'
import type { TestBody } from '../support/server.js'
import { bare, batched, generated, many, single, template, world } from './embedding-world.js'

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

test.serial('sent vectors with regeneration are kept until the text changes', async (t) => {
  const { add, update, vectors, provider } = await world(t, bare, { ...single, ...template })
  await add({ id: 1, t: 'red', _vectors: { g: { regenerate: true, embeddings: [0, 1] } } })
  await update({ id: 1, x: 1 })
  t.is(provider.calls.length, 0)
  t.deepEqual(await vectors('1'), generated([0, 1]))
  await update({ id: 1, t: 'blue' })
  t.deepEqual(await vectors('1'), generated([4, 2]))
})

test.serial('within a batch a text is embedded only if it differs from the embedded one', async (t) => {
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
})

test.serial('a document that no longer includes vectors gets new ones', async (t) => {
  const { add, update, vectors, provider } = await world(t, bare, { ...single, ...template })
  await add({ id: 1, t: 'red', _vectors: { g: [0, 1] } })
  await update({ id: 1, t: 'blue' })
  t.is(provider.calls.length, 0)
  await update({ id: 1, _vectors: { g: { regenerate: true } } })
  t.deepEqual(await vectors('1'), generated([4, 2]))
})

test.serial('a new embedder embeds stored documents, but never documents without regeneration', async (t) => {
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
})

test.serial('a new embedder embeds a stored document that asks for it', async (t) => {
  const { add, settings, vectors, provider } = await world(t, bare)
  await add(
    { id: 1, t: 'red', _vectors: { g: { regenerate: true } } },
    { id: 2, t: 'blue', _vectors: { g: { regenerate: false } } },
  )
  await settings({ g: { ...single, ...template, url: provider.url } })
  t.deepEqual(await vectors('1'), generated([3, 18]))
  t.deepEqual(await vectors('2'), { g: { embeddings: [], regenerate: false } })
  t.is(provider.calls.length, 1)
})

test.serial('the default template contains only searchable fields', async (t) => {
  const { server, add, provider } = await world(t, bare, single)
  await add({ id: 1, t: 'A', u: null })
  t.is(provider.calls.at(-1)?.body, 'id: 1\nt: A\n')
  await server.settle(t, server.put('/indexes/i/settings/searchable-attributes', ['t', 'u']))
  t.is(provider.calls.at(-1)?.body, 't: A\n')
})

test.serial('a failing template reports the document, and nothing of the batch is stored', async (t) => {
  const { server, add } = await world(t, bare, { ...single, ...template })
  const task = await add({ id: 'good', t: 'x' }, { id: 'bad' })
  t.is(task.error.code, 'invalid_document_fields')
  t.regex(task.error.message, /`bad`/)
  t.is((await server.get('/indexes/i/documents')).body.total, 0)
})

test.serial('texts are sent in requests of ten, equal texts once', async (t) => {
  const { add, provider, server } = await world(t, many, { ...batched, ...template })
  await add(...Array.from({ length: 23 }, (_, id) => ({ id, t: `text ${id}` })))
  const sizes = () => provider.calls.map(({ body }) => (body as { input: unknown[] }).input.length)
  t.deepEqual(sizes(), [10, 10, 3])
  const task = await add(...Array.from({ length: 40 }, (_, id) => ({ id: 100 + id, t: 'the same' })))
  t.deepEqual(sizes().slice(3), [1])
  const { body } = await server.get(`/batches/${String(task.batchUid)}`)
  t.deepEqual((body.stats as TestBody).embedderRequests, { total: 1, failed: 0 })
})

test.serial('missing dimensions are requested from the provider once, and not shown', async (t) => {
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
