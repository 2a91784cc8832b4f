import test from 'ava'
import { Meilisearch, MeilisearchApiError, MeilisearchTaskTimeOutError } from 'meilisearch'
import { generateTenantToken } from 'meilisearch/token'
import { type Film, films, masterKey, openClient, refused } from '../support/client.js'
import { startServer } from '../support/server.js'

test('the official client creates, lists, fetches, changes, renames, swaps, compacts and deletes indexes', async (t) => {
  const client = await openClient(t)
  const created = await client.createIndex('films', { primaryKey: 'id' }).waitTask()
  t.deepEqual(
    [created.status, created.type, created.details],
    ['succeeded', 'indexCreation', { primaryKey: 'id' }],
  )
  const twice = await client.createIndex('films').waitTask()
  t.deepEqual(
    [twice.status, twice.error?.code, twice.error?.type],
    ['failed', 'index_already_exists', 'invalid_request'],
  )
  await client.createIndex('books').waitTask()
  const { results, offset, limit, total } = await client.getIndexes({ limit: 1, offset: 1 })
  t.deepEqual([results.map(({ uid }) => uid), offset, limit, total], [['films'], 1, 1, 2])
  t.deepEqual(
    (await client.getRawIndexes()).results.map(({ uid }) => uid),
    ['books', 'films'],
  )
  const raw = await client.getRawIndex('films')
  t.deepEqual(Object.keys(raw), ['uid', 'createdAt', 'updatedAt', 'primaryKey'])
  const fetched = await client.getIndex('films')
  t.true(fetched.createdAt instanceof Date)
  t.is(fetched.primaryKey, 'id')
  const index = client.index<Film>('films')
  t.is(await index.fetchPrimaryKey(), 'id')
  t.is((await index.getRawInfo()).uid, 'films')
  t.is((await index.update({ primaryKey: 'sku' }).waitTask()).status, 'succeeded')
  t.is((await index.fetchInfo()).primaryKey, 'sku')
  const swapped = await client.swapIndexes([{ indexes: ['films', 'books'], rename: false }]).waitTask()
  t.deepEqual(swapped.details, { swaps: [{ indexes: ['films', 'books'], rename: false }] })
  t.is((await client.getRawIndex('books')).primaryKey, 'sku')
  const moved = await client.swapIndexes([{ indexes: ['books', 'shelf'], rename: true }]).waitTask()
  t.is(moved.status, 'succeeded')
  t.is((await client.updateIndex('shelf', { uid: 'rack' }).waitTask()).status, 'succeeded')
  t.is((await client.index('rack').compact().waitTask()).status, 'succeeded')
  t.true(await client.deleteIndexIfExists('rack'))
  t.is((await client.deleteIndex('films').waitTask()).status, 'succeeded')
  // The client does not wait for the first deletion, and tasks of other indexes may overtake it.
  while ((await client.getIndexes()).total > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await refused(t, client.getIndex('ghost'), 'index_not_found', 404)
  await refused(t, client.createIndex('my shelf'), 'invalid_index_uid')
  await refused(
    t,
    client.swapIndexes([{ indexes: ['a', 'a'], rename: false }]),
    'invalid_swap_duplicate_index_found',
  )
})

test('the official client adds, updates, browses, fetches and deletes documents in all ways', async (t) => {
  const client = await openClient(t)
  const index = client.index<Film>('films')
  const add = await index.addDocuments([...films], { primaryKey: 'id', customMetadata: 'first' }).waitTask()
  t.deepEqual(add.details, { receivedDocuments: 3, indexedDocuments: 3 })
  t.is(add.customMetadata, 'first')
  t.is(add.type, 'documentAdditionOrUpdate')
  await index.updateFilterableAttributes(['genre', 'id']).waitTask()
  await index.updateSortableAttributes(['title']).waitTask()
  await index.updateDocuments([{ id: 1, year: 1972 }]).waitTask()
  t.deepEqual(await index.getDocument(1), { id: 1, title: 'Solaris', genre: 'drama', year: 1972 })
  t.deepEqual(await index.getDocument(1, { fields: ['year'] }), { year: 1972 } as never)
  const page = await index.getDocuments({ limit: 1, offset: 1, fields: ['id'] })
  t.deepEqual(page, { results: [{ id: 2 }], offset: 1, limit: 1, total: 3 } as never)
  const fetched = await index.getDocuments({
    filter: [['genre = drama', 'id = 2']],
    sort: ['title:desc'],
    fields: ['id'],
  })
  t.deepEqual(
    fetched.results.map(({ id }) => id),
    [3, 1, 2],
  )
  t.deepEqual(
    (await index.getDocuments({ ids: [3, '2', 99] as never })).results.map(({ id }) => id),
    [2, 3],
  )
  await index.addDocumentsFromString('id:number,title\n4,"Fern, tall"', 'text/csv').waitTask()
  await index.addDocumentsFromString('id:number;title\n5;Moss', 'text/csv', { csvDelimiter: ';' }).waitTask()
  await index
    .updateDocumentsFromString('{"id":4,"genre":"plant"}\n{"id":6}', 'application/x-ndjson')
    .waitTask()
  t.deepEqual(await index.getDocument(4), { id: 4, title: 'Fern, tall', genre: 'plant' })
  for (const batch of index.addDocumentsInBatches([{ id: 7 }, { id: 8 }, { id: 9 }], 2))
    await batch.waitTask()
  for (const batch of index.updateDocumentsInBatches([{ id: 7, title: 'x' }], 1)) await batch.waitTask()
  const stats = await index.getStats()
  t.deepEqual([stats.numberOfDocuments, stats.isIndexing, stats.fieldDistribution.id], [9, false, 9])
  const one = await index.deleteDocument(9, { customMetadata: 'gone' }).waitTask()
  t.deepEqual([one.details, one.customMetadata], [
    { providedIds: 1, deletedDocuments: 1, originalFilter: null },
    'gone',
  ] as never)
  t.is((await index.deleteDocuments([7, 8, 99]).waitTask()).details?.deletedDocuments, 2)
  const byFilter = await index.deleteDocuments({ filter: 'genre = drama' }).waitTask()
  t.deepEqual(byFilter.details, { providedIds: 0, deletedDocuments: 2, originalFilter: '"genre = drama"' })
  t.is((await index.deleteAllDocuments().waitTask()).details?.deletedDocuments, 4)
  await refused(t, index.getDocument(1), 'document_not_found', 404)
  await refused(t, index.getDocuments({ filter: 'nope = 1' }), 'invalid_document_filter')
  await refused(t, index.getDocuments({ sort: ['genre:asc'] }), 'invalid_document_sort')
  await refused(t, index.deleteDocuments({ filter: '' }), 'invalid_document_filter')
  await refused(t, index.updateDocumentsByFunction({ function: 'doc.a = 1' }), 'feature_not_enabled')
  const keyless = await client
    .index('other')
    .addDocuments([{ name: 'x' }])
    .waitTask()
  t.is(keyless.error?.code, 'index_primary_key_no_candidate_found')
})

test('the official client lists, creates, fetches, renames and deletes keys, which take effect', async (t) => {
  const client = await openClient(t)
  const { results, total } = await client.getKeys({ limit: 2 })
  t.deepEqual([results.length, total, results[0]?.name], [2, 4, 'Default Search API Key'])
  const uid = '6f1d2a34-9b0c-4e57-8a11-3c5d7e9f0b24'
  const key = await client.createKey({
    uid,
    name: 'boats',
    description: null as never,
    actions: ['search', 'documents.add'],
    indexes: ['boats'],
    expiresAt: null,
  })
  t.is(key.key, '9a9e3318298a17e7cb5d37648100e33a49edefd26201d04fa722c935ca87f9c0')
  t.deepEqual(await client.getKey(uid), key)
  t.deepEqual(await client.getKey(key.key), key)
  const expiring = await client.createKey({
    actions: ['*'],
    indexes: ['*'],
    expiresAt: new Date('2090-05-06T07:08:09Z'),
  })
  t.is(String(expiring.expiresAt), '2090-05-06T07:08:09Z')
  t.is(
    (await client.updateKey(uid, { name: 'ships', description: 'of any size' })).description,
    'of any size',
  )
  const limited = new Meilisearch({ host: client.config.host, apiKey: key.key })
  await client.createIndex('boats').waitTask()
  await client.createIndex('cars').waitTask()
  t.deepEqual((await limited.index('boats').search('')).hits, [])
  await refused(t, limited.index('cars').search(''), 'invalid_api_key', 403)
  await refused(t, limited.getKeys(), 'invalid_api_key', 403)
  const token = await generateTenantToken({
    apiKey: key.key,
    apiKeyUid: uid,
    searchRules: { boats: {} },
    expiresAt: new Date(Date.now() + 60_000),
  })
  const tenant = new Meilisearch({ host: client.config.host, apiKey: token })
  t.deepEqual((await tenant.index('boats').search('')).hits, [])
  await refused(t, tenant.index('cars').search(''), 'invalid_api_key', 403)
  await client.deleteKey(expiring.uid)
  await refused(t, client.getKey(expiring.uid), 'api_key_not_found', 404)
  await refused(
    t,
    client.createKey({ uid, actions: [], indexes: [], expiresAt: null }),
    'api_key_already_exists',
    409,
  )
  const anonymous = new Meilisearch({ host: client.config.host })
  await refused(t, anonymous.getKeys(), 'missing_authorization_header', 401)
  t.true(await anonymous.isHealthy())
  t.deepEqual(await anonymous.health(), { status: 'available' })
})

test('the official client lists, awaits, cancels and deletes tasks, and stops waiting after its timeout', async (t) => {
  const client = await openClient(t)
  const index = client.index('films')
  const { taskUid, enqueuedAt, status } = await index.addDocuments([{ id: 1 }])
  t.is(status, 'enqueued')
  t.false(Number.isNaN(Date.parse(String(enqueuedAt))))
  const task = await client.tasks.waitForTask(taskUid)
  t.deepEqual(Object.keys(task).sort(), [
    'batchUid',
    'canceledBy',
    'details',
    'duration',
    'enqueuedAt',
    'error',
    'finishedAt',
    'indexUid',
    'startedAt',
    'status',
    'type',
    'uid',
  ])
  const listed = await client.tasks.getTasks({
    uids: [taskUid],
    types: ['documentAdditionOrUpdate', 'settingsUpdate'],
    statuses: ['succeeded'],
    indexUids: ['films'],
    beforeEnqueuedAt: new Date(Date.now() + 60_000).toISOString(),
    afterEnqueuedAt: new Date(Date.now() - 60_000).toISOString(),
    limit: 5,
    reverse: true,
  })
  t.deepEqual(
    [listed.results.map(({ uid }) => uid), listed.from, listed.next, listed.limit],
    [[taskUid], taskUid, null, 5],
  )
  const batch = await client.batches.getBatch(task.batchUid ?? -1)
  t.is(batch.stats.totalNbTasks, 1)
  t.true((await client.batches.getBatches({ limit: 1 })).results.length === 1)
  const canceled = await client.tasks.cancelTasks({ statuses: ['enqueued', 'processing'] }).waitTask()
  t.is(canceled.type, 'taskCancelation')
  const deleted = await client.tasks.deleteTasks({ uids: [taskUid] }).waitTask()
  t.is(deleted.details?.deletedTasks, 1)
  await refused(t, client.tasks.getTask(taskUid), 'task_not_found', 404)
  await refused(t, client.tasks.deleteTasks({}), 'missing_task_filters')
  await refused(t, client.tasks.getTasks({ limit: -1 }), 'invalid_task_limit')
  const late = await t.throwsAsync(client.tasks.waitForTask(999_999, { timeout: 1 }))
  t.true(late instanceof MeilisearchTaskTimeOutError || late instanceof MeilisearchApiError)
})

test('the official client reads and changes the state of the instance', async (t) => {
  const client = await openClient(t, { features: ['network'] })
  await client
    .index<Film>('films')
    .addDocuments([...films])
    .waitTask()
  const stats = await client.getStats()
  t.deepEqual(Object.keys(stats), ['databaseSize', 'usedDatabaseSize', 'lastUpdate', 'indexes'])
  t.is(stats.indexes.films?.numberOfDocuments, 3)
  t.is((await client.getVersion()).pkgVersion, '0.0.0')
  const flags = await client.updateExperimentalFeatures({ containsFilter: true })
  t.true(flags.containsFilter)
  t.deepEqual(await client.getExperimentalFeatures(), flags)
  const fields = await client.index('films').getFields({ limit: 2 })
  t.deepEqual([fields.results.map(({ name }) => name), fields.total], [['genre', 'id'], 3])
  const webhook = await client.createWebhook({
    url: 'https://example.org/',
    headers: { authorization: 'Bearer secret-of-someone' },
  })
  t.is(webhook.headers?.authorization, 'Bearer seXXXX...')
  t.is(
    (await client.updateWebhook(webhook.uuid, { url: 'https://example.net/', headers: {} })).url,
    'https://example.net/',
  )
  t.deepEqual(
    (await client.getWebhooks()).results.map(({ uuid }) => uuid),
    [webhook.uuid],
  )
  await client.deleteWebhook(webhook.uuid)
  await refused(t, client.getWebhook(webhook.uuid), 'webhook_not_found', 404)
  t.is((await client.getNetwork()).self, null)
})

test('the official client sends its own headers, and rejects for a wrong host or an aborted request', async (t) => {
  const server = await startServer(t, { masterKey })
  const client = new Meilisearch({
    host: server.url,
    apiKey: masterKey,
    clientAgents: ['tests'],
    requestInit: { headers: { 'x-own': '1' } },
  })
  t.true(await client.isHealthy())
  t.is((await client.getIndexes()).total, 0)
  const abort = new AbortController()
  abort.abort()
  await t.throwsAsync(client.multiSearch({ queries: [] }, { signal: abort.signal }))
  t.deepEqual(await client.multiSearch({ queries: [] }), { results: [] })
  const lost = new Meilisearch({ host: 'http://127.0.0.1:1', apiKey: masterKey })
  const error = await t.throwsAsync(lost.getIndexes())
  t.is(error.message, 'Request to http://127.0.0.1:1/indexes has failed')
})
