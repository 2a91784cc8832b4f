import { setTimeout } from 'node:timers/promises'
import test from 'ava'
import { checkRefusals } from '../support/refusals.js'
import { scriptInterpreter } from '../support/requirements.js'
import { startServer, type TestServer } from '../support/server.js'
import { testNeeding } from '../support/test-needing.js'

const path = '/indexes/a/documents/edit'
const features = ['editDocumentsByFunction'] as const
// Functions run in a separate addon.
const edits = testNeeding([scriptInterpreter], test)

const stored = async (server: TestServer): Promise<readonly unknown[]> =>
  (await server.get('/indexes/a/documents')).body.results

edits('a function edits, deletes or leaves each document that the filter matches', async (t) => {
  const server = await startServer(t, { features })
  await server.settle(t, server.put('/indexes/a/settings/filterable-attributes', ['g']))
  const documents = [
    { id: 2, n: 5, g: 'u', big: 1 },
    { id: 1, n: 9, g: 'v' },
    { id: 3, g: 'u' },
  ]
  await server.settle(t, server.post('/indexes/a/documents', documents))
  const edited = await server.settle(
    t,
    server.post(`${path}?customMetadata=run-7`, {
      function: 'if doc.n == () { doc = () } else { doc.n += context.by; doc.by = `${context.by}` }',
      filter: 'g = u',
      context: { by: 2 },
    }),
  )
  t.is(edited.status, 'succeeded', JSON.stringify(edited))
  t.is(edited.type, 'documentEdition')
  t.is(edited.customMetadata, 'run-7')
  t.deepEqual(edited.details as unknown, {
    editedDocuments: 2,
    deletedDocuments: 2,
    originalFilter: '"g = u"',
    context: { by: 2 },
    function: 'if doc.n == () { doc = () } else { doc.n += context.by; doc.by = `${context.by}` }',
  })
  t.deepEqual(await stored(server), [
    { id: 2, n: 7, g: 'u', big: 1, by: '2' },
    { id: 1, n: 9, g: 'v' },
  ])
  await server.settle(t, server.post(path, { function: 'doc.n = 1' }))
  t.deepEqual(
    (await stored(server)).map((document) => (document as { n: number }).n),
    [1, 1],
  )
})

edits('an edit of many documents changes all of them, or none if it fails late', async (t) => {
  const server = await startServer(t, { features })
  const documents = Array.from({ length: 2_500 }, (_, id) => ({ id, n: id }))
  await server.settle(t, server.post('/indexes/a/documents', documents))
  const failing = await server.settle(
    t,
    server.post(path, { function: 'if doc.id == 2400 { throw "no" } doc.n = 0' }),
  )
  t.is(failing.error.code, 'edit_documents_by_function_error')
  t.is((await server.get('/indexes/a/documents/7')).body.n, 7)
  const task = await server.settle(t, server.post(path, { function: 'if doc.n % 2 == 0 { doc = () }' }))
  t.is(task.details.editedDocuments, 2_500)
  t.is((await server.get('/indexes/a/stats')).body.numberOfDocuments, 1_250)
})

edits('a function that fails fails its task by its code and changes nothing', async (t) => {
  const server = await startServer(t, { features })
  await server.settle(t, server.post('/indexes/a/documents', [{ id: 1, n: 1 }]))
  for (const source of ['doc.id = 50', 'doc = 3', 'doc.remove("id")', 'loop {}', 'ghost()']) {
    const task = await server.settle(t, server.post(path, { function: source }))
    t.is(task.status, 'failed', source)
    t.is(task.error.code, 'edit_documents_by_function_error', source)
    t.is(task.details.editedDocuments, 0)
    t.is(task.details.deletedDocuments, null)
  }
  const filtered = await server.settle(t, server.post(path, { function: 'doc.n = 2', filter: 'zz = 1' }))
  t.is(filtered.error.code, 'invalid_document_filter')
  const missing = await server.settle(
    t,
    server.post('/indexes/ghost/documents/edit', { function: 'doc.n = 2' }),
  )
  t.is(missing.error.code, 'index_not_found')
  t.is((await server.get('/indexes/ghost')).status, 404)
  t.deepEqual(await stored(server), [{ id: 1, n: 1 }])
})

edits('a function that allocates without bound fails at its limit', async (t) => {
  const server = await startServer(t, { features })
  await server.settle(t, server.post('/indexes/a/documents', [{ id: 1, s: 'x'.repeat(100_000) }]))
  const variables = Array.from({ length: 60 }, (_, at) => `let v${at} = ""; v${at}.pad(9000000, 'x');`).join(
    '',
  )
  for (const source of ['doc.s.replace("x", doc.s)', variables, 'let x = []; loop { x = [x]; }']) {
    const task = await server.settle(t, server.post(path, { function: source }))
    t.is(task.error?.code, 'edit_documents_by_function_error', source.slice(0, 40))
  }
})

edits('a function under way ends when its task is canceled', async (t) => {
  const server = await startServer(t, { features })
  await server.settle(t, server.post('/indexes/a/documents', [{ id: 1 }]))
  const { body } = await server.post(path, {
    function: 'let a = []; a.pad(900000, 1); loop { a.contains(2); }',
  })
  while ((await server.get(`/tasks/${body.taskUid}`)).body.status === 'enqueued') await setTimeout(5)
  await server.settle(t, server.post(`/tasks/cancel?uids=${body.taskUid}`))
  t.is((await server.get(`/tasks/${body.taskUid}`)).body.status, 'canceled')
})

edits('documents that grow are edited in as many pages as it takes', async (t) => {
  const server = await startServer(t, { features })
  await server.settle(
    t,
    server.post(
      '/indexes/a/documents',
      Array.from({ length: 6 }, (_, id) => ({ id })),
    ),
  )
  const task = await server.settle(
    t,
    server.post(path, { function: 'let s = ""; s.pad(8000000, \'x\'); doc.s = s' }),
  )
  t.is(task.status, 'succeeded', JSON.stringify(task))
  t.is(task.details.editedDocuments, 6)
  t.true(JSON.stringify((await server.get('/indexes/a/documents/5')).body).length > 8_000_000)
})

edits('a function that does not compile is refused at once', async (t) => {
  const server = await startServer(t, { features })
  await checkRefusals(t, server, [
    { path, body: { function: 'doc.n = ' }, code: 'bad_request' },
    { path, body: { function: 'eval("1")' }, code: 'bad_request' },
  ])
  t.is((await server.get('/tasks')).body.total, 0)
})

test('an edit is refused for its parameters first, then for its feature, then for its function', async (t) => {
  const server = await startServer(t)
  const cases = [
    [{ filter: 'g = u' }, 'missing_document_edition_function'],
    [{ function: 3 }, 'invalid_document_edition_function_filter'],
    [{ function: null }, 'invalid_document_edition_function_filter'],
    [{ function: '', context: [] }, 'invalid_document_edition_context'],
    [{ function: '', filter: 3 }, 'invalid_document_filter'],
    [{ function: '', filter: '' }, 'invalid_document_filter'],
    [{ function: '', fliter: 'a = 1' }, 'bad_request'],
    [{ function: 'doc.' }, 'feature_not_enabled'],
  ] as const
  await checkRefusals(
    t,
    server,
    cases.map(([body, code]) => ({ path, body, code })),
  )
})
