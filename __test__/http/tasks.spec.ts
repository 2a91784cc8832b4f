import { once } from 'node:events'
import { readdir, readlink } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import test from 'ava'
import { checkError, checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const uids = (body: { readonly results: readonly { readonly [key: string]: unknown }[] }) =>
  body.results.map((task) => task.uid)

test('tasks are listed newest first, by page and by filter', async (t) => {
  const server = await startServer(t)
  for (const index of ['a', 'b', 'a', 'c']) {
    await server.settle(t, server.post(`/indexes/${index}/documents`, [{ id: 1 }]))
  }
  await server.settle(t, server.delete('/indexes/ghost'))
  const { body } = await server.get('/tasks?limit=2')
  t.deepEqual(Object.keys(body), ['results', 'total', 'limit', 'from', 'next'])
  t.deepEqual([uids(body), body.total, body.limit, body.from, body.next], [[4, 3], 5, 2, 4, 2])
  const cases: readonly (readonly [string, readonly number[]])[] = [
    ['from=2', [2, 1, 0]],
    ['reverse=true&limit=2', [0, 1]],
    ['indexUids=a', [2, 0]],
    ['indexUids=a,c', [3, 2, 0]],
    ['uids=1,3', [3, 1]],
    ['uids=*,1', [4, 3, 2, 1, 0]],
    ['uids=', []],
    ['statuses=FAILED', [4]],
    ['types=indexdeletion,indexCreation', [4]],
    ['statuses=succeeded&indexUids=b', [1]],
    ['afterEnqueuedAt=2090-01-01', []],
    ['beforeEnqueuedAt=2090-01-01&limit=1', [4]],
    ['beforeEnqueuedAt=*&limit=1', [4]],
    ['limit=0', []],
  ]
  for (const [query, expected] of cases)
    t.deepEqual(uids((await server.get(`/tasks?${query}`)).body), expected, query)
  const { body: task } = await server.get('/tasks/0')
  t.deepEqual(Object.keys(task), [
    'uid',
    'batchUid',
    'indexUid',
    'status',
    'type',
    'canceledBy',
    'details',
    'error',
    'duration',
    'enqueuedAt',
    'startedAt',
    'finishedAt',
  ])
  const { body: batches } = await server.get('/batches')
  t.is(batches.total, 5)
  t.is((await server.get('/batches/0')).body.uid, 0)
})

test('finished tasks are deleted by filter; cancelling finished tasks changes nothing', async (t) => {
  const server = await startServer(t)
  for (const index of ['a', 'b']) await server.settle(t, server.post('/indexes', { uid: index }))
  const accepted = server.post('/tasks/cancel?indexUids=a&statuses=*')
  t.is((await accepted).status, 200)
  const canceled = await server.settle(t, accepted)
  t.deepEqual(canceled.details as unknown, {
    matchedTasks: 1,
    canceledTasks: 0,
    originalFilter: '?indexUids=a&statuses=*',
  })
  const deletion = server.delete('/tasks?uids=0,1,99')
  t.is((await deletion).status, 200)
  const deleted = await server.settle(t, deletion)
  t.deepEqual(deleted.details as unknown, {
    matchedTasks: 2,
    deletedTasks: 2,
    originalFilter: '?uids=0,1,99',
  })
  checkError(t, await server.get('/tasks/0'), 404, 'task_not_found')
})

test('a bad task filter is refused with its code, and a task operation without a filter is refused', async (t) => {
  const server = await startServer(t)
  const bad: readonly (readonly [string, string])[] = [
    ['limit=-1', 'invalid_task_limit'],
    ['limit=4294967296', 'invalid_task_limit'],
    ['from=*', 'invalid_task_from'],
    ['reverse=1', 'invalid_task_reverse'],
    ['uids=1,x', 'invalid_task_uids'],
    ['uids=*,x', 'invalid_task_uids'],
    ['batchUids=x', 'invalid_batch_uids'],
    ['canceledBy=x', 'invalid_task_canceled_by'],
    ['types=ghost', 'invalid_task_types'],
    ['statuses=done', 'invalid_task_statuses'],
    ['indexUids=a%20b', 'invalid_index_uid'],
    ['afterEnqueuedAt=yesterday', 'invalid_task_after_enqueued_at'],
    ['beforeStartedAt=2026-13-01', 'invalid_task_before_started_at'],
    ['afterFinishedAt=2026-01-01T00:00', 'invalid_task_after_finished_at'],
    ['ghost=1', 'bad_request'],
  ]
  await checkRefusals(
    t,
    server,
    bad.flatMap(([query, code]) => [
      { method: 'GET', path: `/tasks?${query}`, code },
      { method: 'GET', path: `/batches?${query}`, code },
    ]),
  )
  await checkRefusals(t, server, [
    { path: '/tasks/cancel', code: 'missing_task_filters', names: 'indexUids' },
    { method: 'DELETE', path: '/tasks', code: 'missing_task_filters' },
    { method: 'DELETE', path: '/tasks?limit=3', code: 'bad_request' },
    { path: '/tasks/cancel?from=3', code: 'bad_request' },
    { path: '/tasks/cancel?uids=x', code: 'invalid_task_uids' },
    { method: 'GET', path: '/tasks/abc', code: 'invalid_task_uids', names: 'abc' },
    { method: 'GET', path: '/tasks/-1', code: 'invalid_task_uids' },
    { method: 'GET', path: '/tasks/7', status: 404, code: 'task_not_found', names: '7' },
    { method: 'GET', path: '/batches/abc', code: 'invalid_batch_uids' },
    { method: 'GET', path: '/batches/7', status: 404, code: 'batch_not_found' },
    { method: 'GET', path: '/tasks/0/documents', code: 'feature_not_enabled' },
    { path: '/tasks/compact', code: 'feature_not_enabled' },
  ])
  t.is((await server.get('/tasks')).body.total, 0)
})

test('a key limited to some indexes sees only their tasks', async (t) => {
  const masterKey = 'harbour-lantern-4471-xyz'
  const server = await startServer(t, { masterKey })
  for (const uid of ['boats', 'trains']) await server.settle(t, server.post('/indexes', { uid }))
  await server.settle(t, server.post('/swap-indexes', [{ indexes: ['boats', 'trains'] }]))
  const { body: key } = await server.post('/keys', {
    actions: ['tasks.*'],
    indexes: ['boats'],
    expiresAt: null,
  })
  const holder = { headers: { authorization: `Bearer ${key.key}` } }
  const { body } = await server.get('/tasks', holder)
  t.deepEqual(
    body.results.map((task) => task.indexUid),
    ['boats'],
  )
  t.deepEqual(
    [body.total, body.from, body.next],
    [3, body.results[0]?.uid, null],
    'the total counts all tasks',
  )
  t.is((await server.get('/tasks?indexUids=trains', holder)).body.total, 2)
  t.is((await server.get('/batches', holder)).body.total, 3)
  checkError(t, await server.get('/tasks/2', holder), 404, 'task_not_found')
  const deletion = await server.delete('/tasks?uids=*', holder)
  const task = await server.settle(t, Promise.resolve(deletion))
  t.is(task.details.deletedTasks, 1)
})

test('the documents of an unfinished task are returned as NDJSON, whatever their format', async (t) => {
  const server = await startServer(t, { features: ['getTaskDocumentsRoute'], limits: { tasksMax: 0 } })
  const large = Array.from({ length: 400 }, (_, id) => ({ id, text: 'a ferry of the northern line' }))
  const sent: readonly (readonly [type: string, body: string, lines: readonly unknown[]])[] = [
    ['application/json', '[{"id":1,"n":1.5},\n {"id":2}]', ['{"id":1,"n":1.5}', '{"id":2}']],
    ['application/x-ndjson', '{"id":1}\n\n{"id":2}', ['{"id":1}', '{"id":2}']],
    ['text/csv', 'id,price:number\na,3\nb,', ['{"id":"a","price":3}', '{"id":"b","price":null}']],
    ['application/json', JSON.stringify(large), large.map((one) => JSON.stringify(one))],
  ]
  for (const [uid, [type, body, lines]] of sent.entries()) {
    const headers = { 'content-type': type }
    t.is((await server.post('/indexes/ferries/documents', body, { headers })).status, 202)
    const answer = await server.get(`/tasks/${uid}/documents`)
    t.is(answer.headers['content-type'], 'application/x-ndjson')
    t.deepEqual(answer.bytes.toString(), lines.map((line) => `${line}\n`).join(''), type)
  }
  await server.post('/indexes', { uid: 'boats' })
  checkError(t, await server.get('/tasks/4/documents'), 404, 'task_file_not_found')
  checkError(t, await server.get('/tasks/9/documents'), 404, 'task_not_found')
  checkError(t, await server.get('/tasks/x/documents'), 400, 'invalid_task_uids')
})

const onLinux = process.platform === 'linux' ? test : test.skip
onLinux('the upload of a task is closed if its reader leaves before the first document', async (t) => {
  const server = await startServer(t, { limits: { tasksMax: 0 } })
  const body = Array.from({ length: 20_000 }, (_, id) => `{"id":${id},"text":"a ferry"}\n`).join('')
  const headers = { 'content-type': 'application/x-ndjson' }
  await server.post('/indexes/ferries/documents', body, { headers })
  const { tasks, directory } = server.parts
  const openUploads = async (): Promise<readonly string[]> => {
    const files = await Promise.all(
      (await readdir('/proc/self/fd')).map((one) => readlink(`/proc/self/fd/${one}`).catch(() => '')),
    )
    return files.filter((path) => path.startsWith(`${directory}/update_files/`))
  }
  const documents = await tasks.documents(0)
  t.is((await openUploads()).length, 1)
  const stream = Readable.from(documents ?? []).destroy()
  await once(stream, 'close')
  // The system closes a file in another thread.
  for (let reads = 0; reads < 1_000 && (await openUploads()).length > 0; reads++) await turn()
  t.deepEqual(await openUploads(), [])
})

test('the task queue is compacted while it runs', async (t) => {
  const server = await startServer(t, { features: ['taskQueueCompactionRoute'] })
  const { status, body } = await server.post('/tasks/compact')
  t.is(status, 200)
  t.deepEqual(Object.keys(body), ['preSize', 'postSize', 'status', 'actionRequired'])
  t.is(body.status, 'succeeded')
  t.regex(String(body.preSize), /^[\d.]+ [KM]iB$/)
  t.is((await server.settle(t, server.post('/indexes', { uid: 'boats' }))).status, 'succeeded')
})

test('a key sees only the parts of a batch that belong to its indexes', async (t) => {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const server = await startServer(t, {
    masterKey: 'a-master-key-of-16-bytes',
    queueEngine: (engine) =>
      new Proxy(engine, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          if (name !== 'prepare') return value.bind(target)
          return async (...given: readonly unknown[]) => {
            await released
            return Reflect.apply(value, target, given)
          }
        },
      }),
  })
  t.teardown(() => release())
  const { key } = (
    await server.post('/keys', { actions: ['tasks.get'], indexes: ['mine*'], expiresAt: null })
  ).body
  for (const index of ['mine', 'theirs', 'theirs'])
    await server.post(`/indexes/${index}/documents`, [{ id: 1 }, { id: 2 }])
  const cancelation = await server.settle(t, server.post('/tasks/cancel?indexUids=mine,theirs'))
  t.like(cancelation, { details: { matchedTasks: 3, canceledTasks: 3 } })

  const batch = `/batches/${cancelation.batchUid}`
  const limited = { headers: { authorization: `Bearer ${key}` } }
  t.like((await server.get(batch)).body, {
    details: { canceledTasks: 3, originalFilter: '?indexUids=mine,theirs', receivedDocuments: 6 },
    stats: { totalNbTasks: 4, indexUids: { mine: 1, theirs: 2 } },
  })
  const part = {
    details: { receivedDocuments: 2, indexedDocuments: 0 },
    stats: {
      totalNbTasks: 1,
      status: { canceled: 1 },
      types: { documentAdditionOrUpdate: 1 },
      indexUids: { mine: 1 },
    },
  }
  const shown = (await server.get(batch, limited)).body
  t.deepEqual(shown.details, part.details as never)
  t.like(shown.stats, part.stats)
  const [listed, ...others] = (await server.get('/batches', limited)).body.results
  t.deepEqual([listed, others], [shown, []])
  t.notRegex(JSON.stringify(shown), /theirs/)
  t.deepEqual((await server.get('/batches?indexUids=theirs', limited)).body.results, [])
})
