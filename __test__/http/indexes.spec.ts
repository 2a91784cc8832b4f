import test from 'ava'
import { checkError, checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

test('an index is created, listed, renamed and deleted', async (t) => {
  const server = await startServer(t)
  for (const uid of ['c', 'a', 'b']) {
    const accepted = server.post('/indexes', { uid })
    t.deepEqual(Object.keys((await accepted).body), ['taskUid', 'indexUid', 'status', 'type', 'enqueuedAt'])
    const task = await server.settle(t, accepted)
    t.deepEqual([task.status, task.type, task.details], ['succeeded', 'indexCreation', { primaryKey: null }])
  }
  const { body: page } = await server.get('/indexes?limit=2')
  t.deepEqual(
    page.results.map((index) => index.uid),
    ['a', 'b'],
  )
  t.deepEqual([page.offset, page.limit, page.total], [0, 2, 3])
  const { body: index } = await server.get('/indexes/a')
  t.deepEqual(Object.keys(index), ['uid', 'createdAt', 'updatedAt', 'primaryKey'])

  const renamed = await server.settle(t, server.patch('/indexes/a', { uid: 'd', primaryKey: 'code' }))
  t.deepEqual(renamed.details, { primaryKey: 'code', oldIndexUid: 'a', newIndexUid: 'd' })
  checkError(t, await server.get('/indexes/a'), 404, 'index_not_found')
  t.is((await server.get('/indexes/d')).body.primaryKey, 'code')

  await server.settle(t, server.post('/indexes/d/documents', [{ code: 1 }, { code: 2 }]))
  const deleted = await server.settle(t, server.delete('/indexes/d'))
  t.deepEqual(deleted.details, { deletedDocuments: 2 })
  checkError(t, await server.get('/indexes/d'), 404, 'index_not_found')
})

test('a write on a missing index is accepted and fails as a task; a read fails at once', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const failures = [
    [server.post('/indexes', { uid: 'a' }), 'index_already_exists'],
    [server.patch('/indexes/ghost', {}), 'index_not_found'],
    [server.delete('/indexes/ghost'), 'index_not_found'],
    [server.post('/indexes/ghost/compact'), 'index_not_found'],
    [server.delete('/indexes/ghost/documents'), 'index_not_found'],
    [server.delete('/indexes/ghost/settings'), 'index_not_found'],
  ] as const
  for (const [accepted, code] of failures) {
    const task = await server.settle(t, accepted)
    t.deepEqual([task.status, task.error.code], ['failed', code])
  }
  const notFound = { status: 404, code: 'index_not_found', names: 'ghost' }
  await checkRefusals(t, server, [
    { method: 'GET', path: '/indexes/ghost', ...notFound },
    { method: 'GET', path: '/indexes/ghost/stats', ...notFound },
    { method: 'GET', path: '/indexes/ghost/settings', ...notFound },
    { method: 'GET', path: '/indexes/ghost/settings/stop-words', ...notFound },
    { method: 'GET', path: '/indexes/ghost/documents', ...notFound },
    { method: 'GET', path: '/indexes/ghost/documents/1', ...notFound },
    { path: '/indexes/ghost/documents/fetch', body: {}, ...notFound },
    { path: '/indexes/ghost/fields', body: {}, ...notFound },
    { path: '/indexes/ghost/search', body: {}, ...notFound },
    { path: '/indexes/ghost/facet-search', body: { facetName: 'x' }, ...notFound },
  ])
})

test('a bad uid or primary key of an index is refused and changes nothing', async (t) => {
  const server = await startServer(t)
  const longest = 'a'.repeat(400)
  await checkRefusals(t, server, [
    { path: '/indexes', body: { uid: 'my shelf' }, code: 'invalid_index_uid', names: '.uid' },
    { path: '/indexes', body: { uid: 12 }, code: 'invalid_index_uid' },
    { path: '/indexes', body: { uid: '' }, code: 'invalid_index_uid' },
    { path: '/indexes', body: { uid: `${longest}a` }, code: 'invalid_index_uid' },
    { path: '/indexes', body: { uid: 'a', primaryKey: 3 }, code: 'invalid_index_primary_key' },
    { method: 'PATCH', path: '/indexes/a', body: { createdAt: 'x' }, code: 'immutable_index_created_at' },
    { method: 'PATCH', path: '/indexes/a', body: { updatedAt: 'x' }, code: 'immutable_index_updated_at' },
    { method: 'PATCH', path: '/indexes/a', body: { uid: 'b c' }, code: 'invalid_index_uid' },
    { method: 'GET', path: '/indexes?limit=abc', code: 'invalid_index_limit' },
    { method: 'GET', path: '/indexes?offset=-1', code: 'invalid_index_offset' },
    { method: 'GET', path: '/indexes/a%20b', code: 'invalid_index_uid' },
    { method: 'DELETE', path: '/indexes/a%20b', code: 'invalid_index_uid' },
    { method: 'GET', path: `/indexes/${longest}a`, code: 'invalid_index_uid' },
    { method: 'GET', path: '/indexes/a/stats?sizeFormat=big', code: 'invalid_stats_size_format' },
    {
      method: 'GET',
      path: '/stats?showInternalDatabaseSizes=1',
      code: 'invalid_stats_show_internal_database_sizes',
    },
    { path: '/indexes/a/fields', body: { filter: 3 }, code: 'invalid_index_fields_filter' },
    { path: '/indexes/a/fields', body: { filter: { ghost: 1 } }, code: 'invalid_index_fields_filter' },
    {
      path: '/indexes/a/fields',
      body: { filter: { rankingRule: 'yes' } },
      code: 'invalid_index_fields_filter_ranking_rule',
    },
  ])
  t.is((await server.get('/tasks')).body.total, 0)
  const created = await server.settle(t, server.post('/indexes', { uid: longest }))
  t.is(created.status, 'succeeded')
  t.is((await server.get(`/indexes/${longest}`)).status, 200)
})

test('statistics count documents and top-level fields', async (t) => {
  const server = await startServer(t)
  const documents = [
    { id: 1, t: 'a', m: { x: 1 } },
    { id: 2, t: null },
  ]
  t.is((await server.get('/stats')).body.lastUpdate, null)
  await server.settle(t, server.post('/indexes/shelf/documents', documents))
  // The batch may still be cleaning up after the end of its task.
  while ((await server.get('/indexes/shelf/stats')).body.isIndexing === true);
  const { body } = await server.get('/indexes/shelf/stats')
  t.deepEqual(Object.keys(body), [
    'numberOfDocuments',
    'rawDocumentDbSize',
    'avgDocumentSize',
    'isIndexing',
    'indexSize',
    'usedIndexSize',
    'numberOfEmbeddings',
    'numberOfEmbeddedDocuments',
    'fieldDistribution',
  ])
  t.is(body.numberOfDocuments, 2)
  t.true(Number(body.indexSize) > 0)
  t.is(body.usedIndexSize, body.indexSize)
  t.deepEqual(body.fieldDistribution, { id: 2, m: 1, t: 2 })
  const human = await server.get('/indexes/shelf/stats?sizeFormat=human&showInternalDatabaseSizes=true')
  t.regex(String(human.body.rawDocumentDbSize), /^[\d.]+ (B|KiB)$/)
  t.regex(String(human.body.indexSize), /^[\d.]+ (B|KiB)$/)
  t.is(typeof human.body.internalDatabaseSizes, 'object')
  const { body: all } = await server.get('/stats')
  t.deepEqual(Object.keys(all), ['databaseSize', 'usedDatabaseSize', 'lastUpdate', 'indexes'])
  t.deepEqual(all.indexes, { shelf: body })
  t.true(Number(all.databaseSize) > 0)
})

test('fields are listed with their settings', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes/a/documents', [{ id: 1, title: 'x', meta: { lang: 'en' } }]))
  const settings = {
    sortableAttributes: ['title'],
    rankingRules: ['title:desc'],
    searchableAttributes: ['title'],
    filterableAttributes: [
      { attributePatterns: ['meta.*'], features: { filter: { equality: true, comparison: true } } },
    ],
    faceting: { sortFacetValuesBy: { 'meta.lang': 'count' } },
  }
  await server.settle(t, server.patch('/indexes/a/settings', settings))
  const fields = async (filter: object) => {
    const { body } = await server.post('/indexes/a/fields', { filter })
    return body.results.map((field) => field.name)
  }
  t.deepEqual(await fields({ sortable: true }), ['title'])
  t.deepEqual(await fields({ searchable: false, attributePatterns: ['*.lang', 'id'] }), ['id', 'meta.lang'])
  const { body } = await server.post('/indexes/a/fields', { filter: { filterable: true } })
  t.deepEqual(body.results, [
    {
      name: 'meta.lang',
      displayed: { enabled: true },
      searchable: { enabled: false },
      sortable: { enabled: false },
      distinct: { enabled: false },
      rankingRule: { enabled: false },
      filterable: { enabled: true, sortBy: 'count', facetSearch: false, equality: true, comparison: true },
      localized: { locales: [] },
    } as never,
  ])
  t.is(body.total, 1)
})

test('a swap exchanges the names of two indexes, or renames an index', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes/p/documents', [{ id: 1 }]))
  await server.settle(t, server.post('/indexes/q/documents', [{ id: 1 }, { id: 2 }]))
  const task = await server.settle(t, server.post('/swap-indexes', [{ indexes: ['p', 'q'] }]))
  t.is(task.indexUid, null)
  t.deepEqual(task.details, { swaps: [{ indexes: ['p', 'q'], rename: false }] })
  t.is((await server.get('/indexes/p/stats')).body.numberOfDocuments, 2)
  const moved = await server.settle(t, server.post('/swap-indexes', [{ indexes: ['p', 'z'], rename: true }]))
  t.is(moved.status, 'succeeded')
  checkError(t, await server.get('/indexes/p'), 404, 'index_not_found')
  t.is((await server.get('/indexes/z/stats')).body.numberOfDocuments, 2)

  const path = '/swap-indexes'
  const twice = [{ indexes: ['a', 'b'] }, { indexes: ['b', 'c'] }]
  const before = (await server.get('/tasks')).body.total
  await checkRefusals(t, server, [
    { path, body: {}, code: 'bad_request' },
    { path, body: [{}], code: 'missing_swap_indexes' },
    { path, body: [{ indexes: ['p'] }], code: 'invalid_swap_indexes' },
    { path, body: [{ indexes: ['p', 'q', 'r'] }], code: 'invalid_swap_indexes' },
    { path, body: [{ indexes: 'p' }], code: 'invalid_swap_indexes' },
    { path, body: [{ indexes: ['p', 'q r'] }], code: 'invalid_swap_indexes', names: '[0].indexes[1]' },
    { path, body: [{ indexes: ['p', 'q'], rename: 'yes' }], code: 'invalid_swap_rename' },
    { path, body: [{ indexes: ['p', 'p'] }], code: 'invalid_swap_duplicate_index_found', names: '`p`' },
    { path, body: twice, code: 'invalid_swap_duplicate_index_found' },
    { path, body: [{ indexes: ['p', 'q'], ghost: 1 }], code: 'bad_request' },
  ])
  t.is((await server.get('/tasks')).body.total, before)
})
