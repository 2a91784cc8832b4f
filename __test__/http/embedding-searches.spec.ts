/** A hybrid search embeds its query only if words do not suffice. */
import test from 'ava'
import { startProvider } from '../support/provider.js'
import { startServer, type TestBody } from '../support/server.js'
import { type Answer, bare, single, template, world } from './embedding-world.js'

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

test.serial('a hybrid search that words can answer calls no provider', async (t) => {
  const { server, add, search, provider } = await world(t, bare, { ...single, ...template })
  await add(...three)
  const asked = provider.calls.length
  const { body } = await search({ q: 'red', limit: 1, hybrid: { embedder: 'g', semanticRatio: 0.1 } })
  t.deepEqual([body.hits.length, body.semanticHitCount, provider.calls.length - asked], [1, 0, 0])
  const both = await search({ q: 'red', hybrid: { embedder: 'g', semanticRatio: 0.1 } })
  t.deepEqual([both.body.hits.length, both.body.semanticHitCount, provider.calls.length - asked], [3, 2, 1])
  await search({ q: 'red', hybrid: { embedder: 'g', semanticRatio: 0 } })
  await search({ q: 'red', vector: [1, 2], hybrid: { embedder: 'g', semanticRatio: 1 } })
  t.is(provider.calls.length - asked, 1)
  const relevance = { rankingRules: ['relevance'], matchingStrategy: 'any' }
  await server.settle(t, server.patch('/indexes/i/settings', relevance))
  await add({ id: 4, t: 'grey grey grey grey grey' })
  const before = provider.calls.length
  const hybrid = { embedder: 'g', semanticRatio: 0.1 }
  const byRelevance = await search({ q: 'grey', limit: 1, hybrid })
  t.deepEqual([byRelevance.body.semanticHitCount, provider.calls.length - before], [0, 0])
  await search({ q: 'grey', limit: 2, hybrid })
  t.is(provider.calls.length - before, 1)
})

test.serial(
  'a query that cannot be embedded is ranked by words, and refused if it uses vectors alone',
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

test.serial('query vectors are cached up to the limit of the option', async (t) => {
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
