import test from 'ava'
import { checkRefusals } from '../support/refusals.js'
import { startServer, testEngine } from '../support/server.js'

// Acceptance cases of the task engine and their tests. Names without a file are in this file.
//
//  1, 2   a created index is task 0, then batch 0
//  3      a task has the metadata of its write and its counters
//  4, 6   a failed task has a code and counters of zero
//  5      snapshots: tasks/queue.spec.ts, a snapshot task has no details
//  7      the key of an embedder never appears in details
//  8–10   a page of tasks begins at `from` and ends before `next`
//  11     tasks.spec.ts, a bad task filter is refused with its code
//  12     a star among the values of a task filter disables the filter
//  13     a task filter by date covers the complete day; tasks/time.spec.ts and tasks/queue.spec.ts by the microsecond
//  14     a cancelation without a filter is refused, a cancelation by star is accepted
//  15, 16 task-cases.spec.ts, a cancelation includes waiting tasks in its batch, task deletions count once
//  17–20  task-cases.spec.ts, batches: …; 19 also tasks/queue.spec.ts, a batch shows the merged details …
//  21     task-cases.spec.ts, an addition with a conflicting primary key fails in a separate batch
//  22     tasks/queue.spec.ts, additions in front of an index deletion end with it, and the index never shows
//  23, 33 task-cases.spec.ts, a batch reports its content, its progress, and why it stopped growing
//  24     tasks/kill.spec.ts; e2e/ended-while-embedding.spec.ts
//  25     a swap renames the indexes of older tasks
//  26     invalid swaps are refused at once or fail as a task
//  27     task-cases.spec.ts, a webhook is called once per batch
//  28     not held: webhooks/delivery.spec.ts, a call that fails is repeated, and later batches wait for it
//  29–31  webhooks.spec.ts
//  32     tasks/time.spec.ts, durations are days and seconds with the fewest exact digits
//  34     tasks.spec.ts, a key limited to some indexes sees only their tasks

test('a created index is task 0, then batch 0', async (t) => {
  const server = await startServer(t)
  const accepted = await server.post('/indexes', { uid: 'ferries' })
  t.is(accepted.status, 202)
  t.deepEqual(Object.keys(accepted.body), ['taskUid', 'indexUid', 'status', 'type', 'enqueuedAt'])
  t.like(accepted.body, { taskUid: 0, indexUid: 'ferries', type: 'indexCreation', status: 'enqueued' })
  const task = await server.settle(t, Promise.resolve(accepted))
  t.like(task, { status: 'succeeded', batchUid: 0, error: null, canceledBy: null })
  t.deepEqual(task.details as unknown, { primaryKey: null })
})

test('a task has the metadata of its write and its counters', async (t) => {
  const server = await startServer(t)
  const documents = [{ id: 1 }, { id: 2 }, { id: 3 }]
  const accepted = await server.post('/indexes/ferries/documents?customMetadata=night-load', documents)
  t.is(accepted.body.customMetadata, 'night-load')
  const task = await server.settle(t, Promise.resolve(accepted))
  t.deepEqual(task.details as unknown, { receivedDocuments: 3, indexedDocuments: 3 })
  t.is(task.customMetadata, 'night-load')
})

test('a failed task has a code and counters of zero', async (t) => {
  const server = await startServer(t)
  const ghost = await server.settle(t, server.delete('/indexes/ghost'))
  t.like(ghost, { status: 'failed', error: { code: 'index_not_found' } })
  t.deepEqual(ghost.details as unknown, { deletedDocuments: 0 })
  await server.settle(t, server.post('/indexes/ferries/documents', [{ id: 1, deck: 2 }]))
  const filtered = await server.settle(
    t,
    server.post('/indexes/ferries/documents/delete', { filter: 'deck = 2' }),
  )
  t.like(filtered, { status: 'failed', error: { code: 'invalid_document_filter' } })
  t.deepEqual(filtered.details as unknown, {
    providedIds: 0,
    deletedDocuments: 0,
    originalFilter: '"deck = 2"',
  })
})

test('the key of an embedder never appears in details', async (t) => {
  const server = await startServer(t)
  const apiKey = 'sk-abcdefghijklmnop'
  const embedders = { harbour: { source: 'openAi', apiKey } }
  const { body } = await server.patch('/indexes/ferries/settings', { embedders })
  t.is(body.taskUid, 0, body.message)
  const shown = async (path: string) => JSON.stringify((await server.get(path)).body)
  const task = await shown(`/tasks/${body.taskUid}`)
  t.false(task.includes(apiKey))
  t.regex(task, /"apiKey":"skXXXX\.\.\."/)
  t.false((await shown('/tasks')).includes(apiKey))
  t.false((await shown('/batches')).includes(apiKey))
})

test('a page of tasks begins at `from` and ends before `next`', async (t) => {
  const server = await startServer(t)
  for (let i = 0; i < 10; i++) await server.post('/indexes', { uid: `boats-${i}` })
  const cases: readonly (readonly [
    query: string,
    uids: readonly number[],
    from: number | null,
    next: number | null,
  ])[] = [
    ['limit=3', [9, 8, 7], 9, 6],
    ['limit=3&from=8&reverse=true', [8, 9], 8, null],
    ['limit=0', [], null, 9],
    ['limit=3&from=2', [2, 1, 0], 2, null],
  ]
  for (const [query, uids, from, next] of cases) {
    const { body } = await server.get(`/tasks?${query}`)
    t.deepEqual(
      body.results.map(({ uid }) => uid),
      uids as unknown[],
      query,
    )
    t.like(body, { total: 10, from, next }, query)
  }
})

test('a star among the values of a task filter disables the filter', async (t) => {
  const server = await startServer(t)
  await server.post('/indexes', { uid: 'ferries' })
  for (const query of ['types=SETTINGSUPDATE,*', 'statuses=*,Failed', 'indexUids=*', 'beforeEnqueuedAt=*']) {
    const { status, body } = await server.get(`/tasks?${query}`)
    t.deepEqual([status, body.total], [200, 1], query)
  }
})

test('a task filter by date covers the complete day', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes', { uid: 'ferries' }))
  const enqueuedAt = String((await server.get('/tasks/0')).body.enqueuedAt)
  const day = (shift: number) =>
    new Date(Date.parse(enqueuedAt.slice(0, 10)) + shift * 86_400_000).toISOString().slice(0, 10)
  const cases: readonly (readonly [query: string, total: number])[] = [
    [`afterEnqueuedAt=${day(-1)}`, 1],
    [`afterEnqueuedAt=${day(0)}`, 0],
    [`beforeEnqueuedAt=${day(0)}`, 0],
    [`beforeEnqueuedAt=${day(1)}`, 1],
    [`afterEnqueuedAt=${day(-1)}&beforeEnqueuedAt=${day(1)}`, 1],
  ]
  for (const list of ['tasks', 'batches']) {
    for (const [query, total] of cases) {
      const filter = list === 'tasks' ? 'uids=0' : 'batchUids=0'
      t.is((await server.get(`/${list}?${filter}&${query}`)).body.total, total, `${list} ${query}`)
    }
  }
  await checkRefusals(t, server, [
    { method: 'GET', path: '/tasks?afterEnqueuedAt=2031-02', code: 'invalid_task_after_enqueued_at' },
  ])
})

test('a cancelation without a filter is refused, a cancelation by star is accepted', async (t) => {
  const server = await startServer(t)
  await checkRefusals(t, server, [
    { path: '/tasks/cancel', code: 'missing_task_filters' },
    { path: '/tasks/cancel?limit=3', code: 'bad_request' },
  ])
  const { status, body } = await server.post('/tasks/cancel?uids=*')
  t.is(status, 200)
  t.is(body.type, 'taskCancelation')
})

test('a swap renames the indexes of older tasks', async (t) => {
  const server = await startServer(t)
  for (const uid of ['a', 'b']) await server.settle(t, server.post('/indexes', { uid }))
  const swap = await server.settle(t, server.post('/swap-indexes', [{ indexes: ['a', 'b'] }]))
  const indexOf = async (uid: number) => (await server.get(`/tasks/${uid}`)).body.indexUid
  t.deepEqual([await indexOf(0), await indexOf(1), swap.indexUid], ['b', 'a', null])
  t.deepEqual(swap.details as unknown, { swaps: [{ indexes: ['a', 'b'], rename: false }] })
})

test('invalid swaps are refused at once or fail as a task', async (t) => {
  const server = await startServer(t)
  for (const uid of ['a', 'b']) await server.settle(t, server.post('/indexes', { uid }))
  await checkRefusals(t, server, [
    { path: '/swap-indexes', body: [{ indexes: ['a', 'a'] }], code: 'invalid_swap_duplicate_index_found' },
    {
      path: '/swap-indexes',
      body: Array.from({ length: 1_001 }, (_, at) => ({ indexes: [`a${at}`, `b${at}`] })),
      code: 'invalid_swap_indexes',
      names: '1000',
    },
  ])
  const most = Array.from({ length: 1_000 }, (_, at) => ({ indexes: [`a${at}`, `b${at}`] }))
  t.is((await server.settle(t, server.post('/swap-indexes', most))).error.code, 'index_not_found')
  const missing = await server.settle(t, server.post('/swap-indexes', [{ indexes: ['a', 'zz'] }]))
  t.like(missing, { status: 'failed', error: { code: 'index_not_found' } })
  const several = [{ indexes: ['zz', 'a'] }, { indexes: ['yy', 'xx'] }]
  const names = await server.settle(t, server.post('/swap-indexes', several))
  t.is(names.error.message, 'Indexes `xx`, `yy`, `zz` not found.')
  const taken = await server.settle(t, server.post('/swap-indexes', [{ indexes: ['a', 'b'], rename: true }]))
  t.like(taken, { status: 'failed', error: { code: 'index_already_exists' } })
})

test('a batch reports the growth of its files, and the duration of each step', async (t) => {
  const server = await startServer(t)
  const documents = Array.from({ length: 200 }, (_, id) => ({ id, text: `a line of text, number ${id}` }))
  await server.settle(t, server.post('/indexes/ferries/documents', documents))
  const statsOf = async (uid: number) =>
    (await server.get(`/batches/${uid}`)).body.stats as Record<string, Record<string, string>>
  const first = await statsOf(0)
  t.deepEqual(Object.keys(first), [
    'totalNbTasks',
    'status',
    'types',
    'indexUids',
    'progressTrace',
    'internalDatabaseSizes',
  ])
  const size = /^(\d[\d.]* [KM]?i?B) \(([+-])(\d[\d.]* [KM]?i?B)\)$/
  const { internalDatabaseSizes = {}, progressTrace = {} } = first
  t.deepEqual(
    [Object.keys(internalDatabaseSizes).length > 0, Object.keys(progressTrace).length > 0],
    [true, true],
  )
  for (const [part, text] of Object.entries(internalDatabaseSizes)) {
    const [, bytes, sign, grown] = size.exec(text) ?? []
    t.deepEqual([sign, grown], ['+', bytes], `${testEngine}: all of ${part} is new in ${text}`)
  }
  for (const [step, time] of Object.entries(progressTrace)) t.regex(time, /^\d+\.\d\dms$/, step)
  await server.settle(t, server.put('/indexes/ferries/documents', [{ id: 900, text: 'one more' }]))
  const sizes = Object.values((await statsOf(1)).internalDatabaseSizes ?? {})
  t.true(sizes.length > 0)
  for (const text of sizes) t.not(size.exec(text)?.[1], size.exec(text)?.[3], text)
  await server.settle(t, server.post('/swap-indexes', []))
  t.false('internalDatabaseSizes' in (await statsOf(2)))
})
