import test from 'ava'
import { checkError, checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const path = '/indexes/shelf/documents'
const type = (contentType: string) => ({ headers: { 'content-type': contentType } })

test('documents are replaced by POST and merged by PUT', async (t) => {
  const server = await startServer(t)
  const added = await server.settle(t, server.post(path, { id: 1, a: 1, b: 2 }))
  t.deepEqual(added.details, { receivedDocuments: 1, indexedDocuments: 1 })
  await server.settle(t, server.put(path, [{ id: 1, a: 9, c: null }]))
  t.deepEqual((await server.get(`${path}/1`)).body, { id: 1, a: 9, b: 2, c: null } as never)
  await server.settle(t, server.post(path, [{ id: 1, a: 3 }]))
  t.deepEqual((await server.get(`${path}/1`)).body, { id: 1, a: 3 } as never)
})

test('documents keep every digit and the order of their keys', async (t) => {
  const server = await startServer(t)
  const text = '{"id":"z","big":12345678901234567890,"a":1.0,"B":{"y":1,"x":2}}'
  await server.settle(t, server.post(path, text))
  t.is((await server.get(`${path}/z`)).bytes.toString(), text)
})

test('uploads of JSON, NDJSON and CSV are stored according to their parameters', async (t) => {
  const server = await startServer(t)
  const uploads = [
    ['application/json; charset=utf-8', '', '[{"id":1},{"id":2}]'],
    ['Application/X-NDJSON', '', '{"id":3}\n\n{"id":4}\n'],
    ['text/csv', '', 'id:number,title\n5,"Fern, tall"\n6,\n'],
    ['text/csv', '?csvDelimiter=%3B', 'id:number;title\n7;a,b\n'],
  ] as const
  for (const [contentType, query, body] of uploads) {
    const task = await server.settle(t, server.post(`${path}${query}`, body, type(contentType)))
    t.is(task.status, 'succeeded', `${contentType}: ${JSON.stringify(task.error)}`)
  }
  const { body } = await server.get(`${path}?fields=id,title`)
  t.is(body.total, 7)
  t.deepEqual(body.results.slice(4), [
    { id: 5, title: 'Fern, tall' },
    { id: 6, title: null },
    { id: 7, title: 'a,b' },
  ] as never)
})

test('an upload sets its primary key, passes its metadata to its task and skips new documents on request', async (t) => {
  const server = await startServer(t)
  const first = server.post(`${path}?primaryKey=sku&customMetadata=run-7`, [{ sku: 'a', id: 1 }])
  t.is((await first).body.customMetadata, 'run-7')
  const task = await server.settle(t, first)
  t.is(task.customMetadata, 'run-7')
  t.is((await server.get('/indexes/shelf')).body.primaryKey, 'sku')
  const skipping = server.post(`${path}?skipCreation=TRUE`, [
    { sku: 'a', n: 2 },
    { sku: 'new', n: 2 },
  ])
  t.deepEqual((await server.settle(t, skipping)).details, { receivedDocuments: 2, indexedDocuments: 2 })
  t.is((await server.get(`${path}/a`)).body.n, 2)
  checkError(t, await server.get(`${path}/new`), 404, 'document_not_found')
})

test('unreadable uploads are refused before a task is enqueued', async (t) => {
  const server = await startServer(t)
  const csv = type('text/csv')
  const ndjson = type('application/x-ndjson')
  await checkRefusals(t, server, [
    { path, body: '[]', headers: { 'content-type': undefined }, status: 415, code: 'missing_content_type' },
    { path, body: '[]', ...type('text/plain'), status: 415, code: 'invalid_content_type', names: 'text/csv' },
    { path, body: '[]', ...type('application/vnd.api+json'), status: 415, code: 'invalid_content_type' },
    { path: `${path}?csvDelimiter=%3B`, body: '[]', status: 415, code: 'invalid_content_type' },
    { path, ...type('application/json'), code: 'missing_payload', names: 'json' },
    { path, ...ndjson, code: 'missing_payload', names: 'ndjson' },
    { path, ...csv, code: 'missing_payload', names: 'csv' },
    { path, body: '[{"id":1},', code: 'malformed_payload', names: 'json' },
    { path, body: '"hello"', code: 'malformed_payload' },
    { path, body: 'null', code: 'malformed_payload' },
    { path, body: '[1,2]', code: 'malformed_payload' },
    { path, body: '[{"id":1},[2]]', code: 'malformed_payload' },
    { path, body: '{"id":1}\n{"id":', ...ndjson, code: 'malformed_payload', names: 'ndjson' },
    { path, body: '{"id":1}\n[2]', ...ndjson, code: 'malformed_payload' },
    { path, body: 'id,t\n1,a,b', ...csv, code: 'malformed_payload', names: 'csv' },
    { path, body: 'id,n:number\n1,two', ...csv, code: 'malformed_payload', names: 'two' },
    { path, body: 'id,b:boolean\n1,True', ...csv, code: 'malformed_payload', names: 'True' },
    { path: `${path}?csvDelimiter=%3B%3B`, body: 'a', ...csv, code: 'invalid_document_csv_delimiter' },
    { path: `${path}?csvDelimiter=%C3%A9`, body: 'a', ...csv, code: 'invalid_document_csv_delimiter' },
    { path: `${path}?csvDelimiter=`, body: 'a', ...csv, code: 'invalid_document_csv_delimiter' },
    { path: `${path}?skipCreation=maybe`, body: '[]', code: 'invalid_skip_creation' },
    { path: `${path}?colour=red`, body: '[]', code: 'bad_request', names: 'colour' },
    { path: '/indexes/a%20b/documents', body: '[]', code: 'invalid_index_uid' },
    { method: 'PUT', path, body: '{', code: 'malformed_payload' },
  ])
  t.is((await server.get('/tasks')).body.total, 0)
})

test('documents without a usable id fail as a task and change nothing', async (t) => {
  const server = await startServer(t)
  const failures = [
    [[{ name: 'Fern' }], 'index_primary_key_no_candidate_found'],
    [[{ userid: 1, docId: 2 }], 'index_primary_key_multiple_candidates_found'],
    [[{ id: 'a b' }], 'invalid_document_id'],
    [[{ id: 1.5 }], 'invalid_document_id'],
    [[{ id: null }], 'invalid_document_id'],
    [[{ id: 'z'.repeat(512) }], 'invalid_document_id'],
    [[{ id: 5 }, { name: 'noid' }], 'missing_document_id'],
  ] as const
  for (const [documents, code] of failures) {
    const task = await server.settle(t, server.post(path, documents))
    t.deepEqual([task.status, task.error?.code], ['failed', code])
    t.is(task.details.indexedDocuments, 0)
  }
  t.is((await server.get(path)).body.total, 0)
})

test('documents are listed in order, by page, by id, by filter, with the requested fields', async (t) => {
  const server = await startServer(t)
  await server.settle(
    t,
    server.patch('/indexes/shelf/settings', { filterableAttributes: ['n', 'g'], sortableAttributes: ['n'] }),
  )
  const documents = [
    { id: 2, n: 5, g: 'u' },
    { id: 1, n: 9, g: 'v' },
    { id: 3, g: 'u' },
  ]
  await server.settle(t, server.post(path, documents))
  const ids = (body: { readonly results: readonly { readonly [key: string]: unknown }[] }) =>
    body.results.map((document) => document.id)

  const { body: all } = await server.get(path)
  t.deepEqual([ids(all), all.offset, all.limit, all.total], [[2, 1, 3], 0, 20, 3])
  t.deepEqual((await server.get(`${path}?limit=1&offset=1&fields=n`)).body.results, [{ n: 9 }] as never)
  t.deepEqual((await server.get(`${path}?fields=`)).body.results, [{}, {}, {}] as never)
  t.deepEqual(ids((await server.get(`${path}?fields=n,*`)).body), [2, 1, 3])
  t.deepEqual(ids((await server.get(`${path}?sort=n:desc`)).body), [1, 2, 3])
  t.deepEqual(ids((await server.get(`${path}?filter=${encodeURIComponent('n > 5')}`)).body), [1])
  t.deepEqual(ids((await server.get(`${path}?filter=${encodeURIComponent('["g = u"]')}`)).body), [2, 3])
  t.deepEqual(ids((await server.get(`${path}?ids=3,2,99`)).body), [2, 3])
  t.deepEqual(ids((await server.get(`${path}?ids=`)).body), [])
  const fetch = async (body: object) => (await server.post(`${path}/fetch`, body)).body
  t.deepEqual((await fetch({ filter: ['g = u', ['n = 5']], fields: ['id'] })).results, [{ id: 2 }] as never)
  t.deepEqual((await fetch({ ids: [1, '3'], limit: 1 })).total, 2)
  t.deepEqual((await fetch({ fields: ['*'], limit: 1 })).results, [{}] as never)
  t.is((await server.get(`${path}/2?fields=g`)).bytes.toString(), '{"g":"u"}')

  const bad = { method: 'GET' }
  await checkRefusals(t, server, [
    { ...bad, path: `${path}?limit=-1`, code: 'invalid_document_limit' },
    { ...bad, path: `${path}?offset=x`, code: 'invalid_document_offset' },
    { ...bad, path: `${path}?page=1`, code: 'bad_request' },
    { ...bad, path: `${path}?retrieveVectors=1`, code: 'invalid_document_retrieve_vectors' },
    { ...bad, path: `${path}?useNetwork=true`, code: 'invalid_document_use_network' },
    { ...bad, path: `${path}?ids=3,b!d`, code: 'invalid_document_ids', names: 'ids[1]' },
    { ...bad, path: `${path}?sort=g:asc`, code: 'invalid_document_sort' },
    { ...bad, path: `${path}?sort=`, code: 'invalid_document_sort' },
    { ...bad, path: `${path}?filter=id=1`, code: 'invalid_document_filter' },
    { ...bad, path: `${path}?filter=3`, code: 'invalid_document_filter' },
    { ...bad, path: `${path}/2?ghost=1`, code: 'bad_request' },
    { ...bad, path: `${path}/77`, status: 404, code: 'document_not_found', names: '77' },
    { ...bad, path: `${path}/b!d`, status: 404, code: 'document_not_found' },
    { ...bad, path: `${path}/a%2Fb`, status: 404, code: 'document_not_found', names: 'a/b' },
    { ...bad, path: `${path}/${'x'.repeat(9000)}`, status: 404, code: 'document_not_found' },
    { path: `${path}/fetch`, body: 'null', code: 'bad_request' },
    { path: `${path}/fetch`, body: { size: 3 }, code: 'bad_request' },
    { path: `${path}/fetch`, body: { ids: [1, 'b d'] }, code: 'invalid_document_ids', names: '.ids[1]' },
    { path: `${path}/fetch`, body: { ids: [1.5] }, code: 'invalid_document_ids' },
    { path: `${path}/fetch`, body: { fields: 'id' }, code: 'invalid_document_fields' },
    { path: `${path}/fetch`, body: { limit: null }, code: 'invalid_document_limit' },
    { path: `${path}/fetch`, body: { useNetwork: false }, code: 'feature_not_enabled' },
    { path: `${path}/fetch`, body: { filter: { a: 1 } }, code: 'invalid_document_filter' },
  ])
})

test('documents are deleted one by one, in batches, by filter, all at once', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.put('/indexes/shelf/settings/filterable-attributes', ['g']))
  const documents = [1, 2, 3, 4, 5].map((id) => ({ id, g: id > 3 ? 'high' : 'low' }))
  await server.settle(t, server.post(path, documents))
  const details = async (accepted: ReturnType<typeof server.delete>) =>
    (await server.settle(t, accepted)).details as unknown
  const one = { providedIds: 1, deletedDocuments: 1, originalFilter: null }
  t.deepEqual(await details(server.delete(`${path}/1`)), one)
  t.deepEqual(await details(server.delete(`${path}/1`)), { ...one, deletedDocuments: 0 })
  const batch = [2, '3', 40, null, 1.5]
  t.deepEqual(await details(server.post(`${path}/delete-batch`, batch)), {
    providedIds: 5,
    deletedDocuments: 2,
    originalFilter: null,
  })
  t.deepEqual(await details(server.post(`${path}/delete`, { filter: 'g = high' })), {
    providedIds: 0,
    deletedDocuments: 2,
    originalFilter: '"g = high"',
  })
  await server.settle(t, server.post(path, documents))
  t.deepEqual(await details(server.delete(`${path}?customMetadata=m`)), { deletedDocuments: 5 })
  t.is((await server.get('/indexes/shelf')).body.primaryKey, 'id')

  const before = (await server.get('/tasks')).body.total
  await checkRefusals(t, server, [
    { path: `${path}/delete-batch`, body: { ids: [1] }, code: 'bad_request' },
    { path: `${path}/delete-batch`, body: '[1', code: 'malformed_payload' },
    { path: `${path}/delete`, body: {}, code: 'missing_document_filter' },
    { path: `${path}/delete`, body: { filter: '' }, code: 'invalid_document_filter' },
    { path: `${path}/delete`, body: { filter: '  ' }, code: 'invalid_document_filter' },
    { path: `${path}/delete`, body: { filter: [] }, code: 'invalid_document_filter' },
    { path: `${path}/delete`, body: { filter: null }, code: 'invalid_document_filter' },
    { path: `${path}/delete`, body: { filter: true }, code: 'invalid_document_filter' },
    { path: `${path}/delete`, body: { filter: 'g ==' }, code: 'invalid_document_filter', names: 'g ==' },
    { path: `${path}/delete`, body: { filter: 'g = x', ghost: 1 }, code: 'bad_request' },
    { path: `${path}/edit`, body: {}, code: 'missing_document_edition_function' },
    { path: `${path}/edit`, body: { function: null }, code: 'invalid_document_edition_function_filter' },
    { path: `${path}/edit`, body: { function: 'x', context: 3 }, code: 'invalid_document_edition_context' },
    { path: `${path}/edit`, body: { function: 'doc.n = 1' }, code: 'feature_not_enabled' },
    { method: 'DELETE', path: `${path}?ghost=1`, code: 'bad_request' },
  ])
  t.is((await server.get('/tasks')).body.total, before)
  const later = await server.settle(t, server.post(`${path}/delete`, { filter: 'ghost = 1' }))
  t.deepEqual([later.status, later.error.code], ['failed', 'invalid_document_filter'])
})
