// The steps of `../steps.ts` with the JavaScript SDK.
import assert from 'node:assert/strict'
import { Meilisearch, MeilisearchApiError } from 'meilisearch'
import { generateTenantToken } from 'meilisearch/token'

const host = process.env.CLIENTS_URL
const apiKey = process.env.CLIENTS_MASTER_KEY
const client = new Meilisearch({ host, apiKey, defaultWaitOptions: { interval: 20, timeout: 30_000 } })
const index = client.index('films')

async function step(name, run) {
  try {
    await run()
    console.log(`passed ${name}`)
  } catch (error) {
    console.log(`failed ${name}: ${String(error).replaceAll('\n', ' ')}`)
  }
}
/** Waits for a task, which must succeed. */
async function done(promise) {
  const task = await promise.waitTask()
  assert.equal(task.status, 'succeeded', JSON.stringify(task.error))
  return task
}
const ids = ({ hits }) => hits.map(({ id }) => id)

await step('health', async () => {
  assert.equal((await client.health()).status, 'available')
  assert.equal(await client.isHealthy(), true)
})
await step('version', async () => {
  assert.match((await client.getVersion()).pkgVersion, /^\d+\.\d+\.\d+/)
})
await step('create-index', async () => {
  assert.equal((await done(client.createIndex('films', { primaryKey: 'id' }))).type, 'indexCreation')
  assert.equal((await client.getIndex('films')).primaryKey, 'id')
})
await step('settings', async () => {
  await done(
    index.updateSettings({
      filterableAttributes: ['genre', 'year'],
      sortableAttributes: ['year'],
      synonyms: { movie: ['film'] },
      embedders: { plain: { source: 'userProvided', dimensions: 2 } },
    }),
  )
  const { filterableAttributes, embedders, synonyms } = await index.getSettings()
  assert.deepEqual(filterableAttributes, ['genre', 'year'])
  assert.deepEqual(synonyms, { movie: ['film'] })
  assert.equal(embedders.plain.dimensions, 2)
})
await step('add-documents', async () => {
  const { details } = await done(
    index.addDocuments([
      { id: 1, title: 'Solaris', genre: 'drama', year: 1972, _vectors: { plain: [1, 0] } },
      { id: 2, title: 'Alien', genre: 'horror', year: 1979, _vectors: { plain: [0, 1] } },
      { id: 3, title: 'Stalker', genre: 'drama', year: 1979, _vectors: { plain: [0.9, 0.1] } },
      { id: 4, title: 'The Lighthouse', genre: 'horror', year: 2019, _vectors: { plain: [0.1, 0.9] } },
    ]),
  )
  assert.deepEqual(details, { receivedDocuments: 4, indexedDocuments: 4 })
})
await step('typo', async () => {
  assert.deepEqual(ids(await index.search('lihgthouse')), [4])
})
await step('filter', async () => {
  assert.deepEqual(ids(await index.search('', { filter: ['genre = drama', 'year > 1975'] })), [3])
})
await step('facets', async () => {
  const { facetDistribution, facetStats } = await index.search('', { facets: ['genre', 'year'] })
  assert.deepEqual(facetDistribution.genre, { drama: 2, horror: 2 })
  assert.deepEqual(facetStats.year, { min: 1972, max: 2019 })
})
await step('sort', async () => {
  assert.deepEqual(ids(await index.search('', { sort: ['year:desc'] })), [4, 2, 3, 1])
})
await step('pages', async () => {
  const found = await index.search('', { hitsPerPage: 3, page: 2 })
  assert.deepEqual([ids(found), found.totalHits, found.totalPages], [[4], 4, 2])
})
await step('highlight', async () => {
  const { hits } = await index.search('sola', { attributesToHighlight: ['title'] })
  assert.equal(hits[0]._formatted.title, '<em>Sola</em>ris')
})
await step('facet-search', async () => {
  const { facetHits } = await index.searchForFacetValues({ facetName: 'genre', facetQuery: 'hor' })
  assert.deepEqual(facetHits, [{ value: 'horror', count: 2 }])
})
await step('multi-search', async () => {
  const { results } = await client.multiSearch({
    queries: [
      { indexUid: 'films', q: 'alien' },
      { indexUid: 'films', q: 'stalker' },
    ],
  })
  assert.deepEqual(results.map(ids), [[2], [3]])
})
await step('federated', async () => {
  const found = await client.multiSearch({
    federation: { limit: 5 },
    queries: [
      { indexUid: 'films', q: 'alien' },
      { indexUid: 'films', q: 'stalker', federationOptions: { weight: 2 } },
    ],
  })
  assert.deepEqual(ids(found), [3, 2])
  assert.equal(found.hits[0]._federation.queriesPosition, 1)
})
await step('hybrid', async () => {
  const found = await index.search('', {
    vector: [1, 0],
    hybrid: { embedder: 'plain', semanticRatio: 1 },
    limit: 2,
  })
  assert.deepEqual(ids(found), [1, 3])
})
await step('similar', async () => {
  assert.deepEqual(ids(await index.searchSimilarDocuments({ id: 2, embedder: 'plain', limit: 1 })), [4])
})
await step('get-document', async () => {
  assert.equal((await index.getDocument(2)).title, 'Alien')
  const { results, total } = await index.getDocuments({ filter: 'genre = drama', fields: ['id'] })
  assert.deepEqual([results, total], [[{ id: 1 }, { id: 3 }], 2])
})
await step('update-document', async () => {
  await done(index.updateDocuments([{ id: 2, year: 1980 }]))
  const { title, year } = await index.getDocument(2)
  assert.deepEqual([title, year], ['Alien', 1980])
})
await step('delete-document', async () => {
  await done(index.deleteDocument(3))
  await done(index.deleteDocuments({ filter: 'year = 1980' }))
  assert.deepEqual(ids(await index.search('')), [1, 4])
})
await step('stats', async () => {
  assert.equal((await index.getStats()).numberOfDocuments, 2)
  assert.equal((await client.getStats()).indexes.films.numberOfDocuments, 2)
})
await step('keys', async () => {
  const key = await client.createKey({
    name: 'for a moment',
    actions: ['search'],
    indexes: ['films'],
    expiresAt: new Date(Date.now() + 3_600_000),
  })
  assert.ok((await client.getKeys()).results.some(({ uid }) => uid === key.uid))
  assert.deepEqual((await client.getKey(key.uid)).actions, ['search'])
  await client.deleteKey(key.uid)
  assert.ok(!(await client.getKeys()).results.some(({ uid }) => uid === key.uid))
})
await step('tenant-token', async () => {
  const key = await client.createKey({ actions: ['search'], indexes: ['films'], expiresAt: null })
  const token = await generateTenantToken({
    apiKey: key.key,
    apiKeyUid: key.uid,
    searchRules: { films: { filter: 'genre = drama' } },
    expiresAt: new Date(Date.now() + 3_600_000),
  })
  const tenant = new Meilisearch({ host, apiKey: token })
  assert.deepEqual(ids(await tenant.index('films').search('')), [1])
})
await step('error', async () => {
  const error = await client.getIndex('ghost').then(
    () => null,
    (thrown) => thrown,
  )
  assert.ok(error instanceof MeilisearchApiError)
  assert.deepEqual([error.cause.code, error.cause.type], ['index_not_found', 'invalid_request'])
  const refused = await new Meilisearch({ host, apiKey: 'wrong' }).getKeys().then(
    () => null,
    (thrown) => thrown,
  )
  assert.equal(refused.cause.code, 'invalid_api_key')
})
await step('failed-task', async () => {
  const task = await index.addDocuments([{ title: 'without an id' }]).waitTask()
  assert.deepEqual([task.status, task.error.code], ['failed', 'missing_document_id'])
})
await step('tasks', async () => {
  const { results, total } = await client.tasks.getTasks({
    types: ['documentDeletion'],
    indexUids: ['films'],
  })
  assert.deepEqual([results.length, total], [2, 2])
  assert.equal((await client.tasks.getTask(results[0].uid)).status, 'succeeded')
})
await step('batches', async () => {
  const { results } = await client.batches.getBatches({ types: ['settingsUpdate'] })
  assert.deepEqual([results.length, results[0].stats.status], [1, { succeeded: 1 }])
  assert.equal((await client.batches.getBatch(results[0].uid)).details.sortableAttributes[0], 'year')
})
await step('cancel', async () => {
  const task = await done(client.tasks.cancelTasks({ statuses: ['enqueued', 'processing'] }))
  assert.deepEqual([task.type, task.details.canceledTasks], ['taskCancelation', 0])
})
await step('swap-indexes', async () => {
  await done(client.createIndex('others'))
  await done(client.swapIndexes([{ indexes: ['films', 'others'] }]))
  assert.deepEqual(ids(await client.index('others').search('')), [1, 4])
})
await step('dump', async () => {
  assert.equal(typeof (await done(client.createDump())).details.dumpUid, 'string')
})
await step('delete-index', async () => {
  await done(client.deleteIndex('films'))
  await done(client.deleteIndex('others'))
  assert.equal((await client.getIndexes()).total, 0)
})
