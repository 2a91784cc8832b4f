import test from 'ava'
import { heldServer } from '../support/held-server.js'
import { startReceiver } from '../support/receiver.js'

const document = [{ id: 1 }]

// Writes that are sent while the queue is blocked, as tasks 1, 2, …, and their expected batches.
type Write = readonly [method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown]
const add = (index: string, query = ''): Write => ['POST', `/indexes/${index}/documents${query}`, document]
const settings = (index: string): Write => [
  'PATCH',
  `/indexes/${index}/settings`,
  { filterableAttributes: ['n'] },
]
const byFilter = (index: string): Write => ['POST', `/indexes/${index}/documents/delete`, { filter: 'n = 1' }]
const clear = (index: string): Write => ['DELETE', `/indexes/${index}/documents`]
const create = (index: string): Write => ['POST', '/indexes', { uid: index }]

const merges: readonly (readonly [
  claim: string,
  writes: readonly Write[],
  batches: readonly (readonly number[])[],
])[] = [
  [
    'additions are batched across additions to other indexes',
    [add('a'), add('a'), add('b'), add('a')],
    [[1, 2, 4], [3]],
  ],
  ['settings separate additions', [add('a'), settings('a'), add('a')], [[1], [2], [3]]],
  ['settings and a clear share a batch', [settings('a'), settings('a'), clear('a')], [[1, 2, 3]]],
  ['an addition joins a deletion by filter', [create('a'), byFilter('a'), add('a')], [[1], [2, 3]]],
  ['a deletion by filter does not join an addition', [add('a'), byFilter('a')], [[1], [2]]],
  [
    'different primary keys separate additions',
    [add('a', '?primaryKey=id'), add('a', '?primaryKey=sku')],
    [[1], [2]],
  ],
  [
    'a deletion of the index includes earlier additions',
    [add('a'), add('a'), ['DELETE', '/indexes/a']],
    [[1, 2, 3]],
  ],
]
for (const [claim, writes, batches] of merges) {
  test(`batches: ${claim}`, async (t) => {
    const server = await heldServer(t)
    for (const [method, path, body] of writes) {
      t.is((await server.request(method, path, body === undefined ? {} : { body })).status, 202, path)
    }
    server.release()
    for (let uid = 1; uid <= writes.length; uid++) await server.ended(uid)
    const { results } = (await server.get('/tasks?reverse=true&from=1')).body
    const found = new Map<unknown, unknown[]>()
    for (const { batchUid, uid } of results) found.set(batchUid, [...(found.get(batchUid) ?? []), uid])
    t.deepEqual([...found.values()], batches as unknown[][])
  })
}

test('an addition with a conflicting primary key fails in a separate batch', async (t) => {
  const server = await heldServer(t)
  await server.post('/indexes', { uid: 'a', primaryKey: 'code' })
  await server.post('/indexes/a/documents?primaryKey=code', [{ code: 1 }])
  await server.post('/indexes/a/documents?primaryKey=sku', [{ sku: 1 }])
  server.release()
  const [first, second] = [await server.ended(2), await server.ended(3)]
  t.not(first.batchUid, second.batchUid)
  t.is(first.status, 'succeeded')
  t.like(second, { status: 'failed', details: { receivedDocuments: 1, indexedDocuments: 0 } })
  t.is(second.error.code, 'index_primary_key_already_exists')
})

test('a batch reports its content, its progress, and why it stopped growing', async (t) => {
  const server = await heldServer(t, { limits: { tasksMax: 2 } })
  const { body: running } = await server.get('/batches/0')
  t.like(running, {
    uid: 0,
    finishedAt: null,
    duration: null,
    stats: { totalNbTasks: 1, status: { processing: 1 } },
  })
  const { steps, percentage } = running.progress as { steps: Record<string, unknown>[]; percentage: number }
  t.like(steps[0], { currentStep: 'processing tasks', finished: 0, total: 2 })
  t.true(percentage >= 0 && percentage < 100)
  for (let i = 0; i < 5; i++) await server.post('/indexes/a/documents', document)
  server.release()
  await server.ended(5)
  const { results } = (await server.get('/batches?reverse=true&from=1')).body
  t.deepEqual(
    results.map(({ stats }) => (stats as { totalNbTasks: number }).totalNbTasks),
    [2, 2, 1],
  )
  t.regex(String(results[0]?.batchStrategy), /limit of 2 tasks/)
  t.is((await server.get('/batches/0')).body.progress, null)
})

test('a cancelation includes waiting tasks in its batch, task deletions count once', async (t) => {
  const server = await heldServer(t)
  for (const index of ['a', 'b']) await server.post('/indexes', { uid: index })
  const { body } = await server.post('/tasks/cancel?uids=0,1,2')
  t.like(body, { taskUid: 3, indexUid: null, type: 'taskCancelation' })
  const cancelation = await server.ended(3)
  t.deepEqual(cancelation.details as unknown, {
    matchedTasks: 3,
    canceledTasks: 3,
    originalFilter: '?uids=0,1,2',
  })
  for (const uid of [0, 1, 2]) {
    const task = await server.ended(uid)
    t.like(task, { status: 'canceled', canceledBy: 3, batchUid: cancelation.batchUid })
    t.regex(String(task.startedAt), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  }
  const deletions = [await server.delete('/tasks?uids=1'), await server.delete('/tasks?uids=1')]
  const counts = await Promise.all(
    deletions.map(async ({ body: { taskUid } }) => (await server.ended(taskUid)).details.deletedTasks),
  )
  t.deepEqual(counts, [1, 0])
  t.is((await server.get('/tasks/1')).body.code, 'task_not_found')
  t.is((await server.post('/indexes', { uid: 'c' })).body.taskUid, 6)
})

test('a webhook is called once per batch, from its creation on', async (t) => {
  const receiver = await startReceiver(t)
  const server = await heldServer(t, { allowedNetworks: ['127.0.0.0/8'] })
  t.is((await server.post('/webhooks', { url: receiver.url })).status, 201)
  for (let i = 0; i < 3; i++) await server.post('/indexes/a/documents', document)
  server.release()
  await receiver.until(() => receiver.uids().length === 4)
  t.deepEqual(
    receiver.receipts.map(({ tasks }) => tasks.map(({ uid }) => uid)),
    [[0], [1, 2, 3]],
  )
})
