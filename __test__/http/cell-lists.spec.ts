import test, { type ExecutionContext } from 'ava'
import { Meilisearch } from 'meilisearch'
import { type CellServer, type CellWorld, masterKey, startCells } from '../support/cells.js'
import { checkError } from '../support/refusals.js'

// Lists show what all cells have, in the order of one instance.

const uids = ['films', 'books', 'songs', 'boats', 'films', 'films', 'books']

/** Cells with four indexes and seven tasks: 0, 64, 128, 192 in `a`, and 1, 65, 129 in `b`. */
async function filled(t: ExecutionContext): Promise<CellWorld> {
  const world = await startCells(t)
  for (const uid of uids) await world.a.settle(t, world.b.post(`/indexes/${uid}/documents`, [{ id: 1 }]))
  return world
}

const listed = async (server: CellServer, path: string): Promise<readonly unknown[]> =>
  (await server.get(path)).body.results.map(({ uid }) => uid)

test('tasks and batches of all cells are listed by uid, in pages', async (t) => {
  const { a, b } = await filled(t)
  const all = [192, 129, 128, 65, 64, 1, 0]
  for (const server of [a, b])
    for (const path of ['/tasks', '/batches']) {
      const first = await server.get(`${path}?limit=3`)
      t.like(first.body, { total: 7, limit: 3, from: 192, next: 65 })
      t.deepEqual(await listed(server, `${path}?limit=100`), all)
      t.deepEqual(await listed(server, `${path}?reverse=true`), all.toReversed())
      for (const limit of [1, 2, 3, 5])
        for (const reverse of [false, true]) {
          const found: unknown[] = []
          for (let from: unknown = ''; from !== null; ) {
            const { body } = await server.get(
              `${path}?limit=${limit}&reverse=${reverse}${from === '' ? '' : `&from=${from}`}`,
            )
            t.is(body.total, 7)
            found.push(...body.results.map(({ uid }) => uid))
            from = body.next
          }
          t.deepEqual(found, reverse ? all.toReversed() : all, `${path} ${limit} ${reverse}`)
        }
      t.like((await server.get(`${path}?limit=0`)).body, { results: [], total: 7, from: null, next: 192 })
    }
  t.deepEqual(await listed(a, '/tasks?indexUids=books,songs'), [129, 64, 1])
  t.deepEqual(await listed(b, '/tasks?uids=64,65,66'), [65, 64])
})

test('indexes and statistics of all cells are merged', async (t) => {
  const { a, b } = await filled(t)
  for (const server of [a, b]) {
    const { body } = await server.get('/indexes')
    t.deepEqual(await listed(server, '/indexes'), ['boats', 'books', 'films', 'songs'])
    t.like(body, { offset: 0, limit: 20, total: 4 })
    t.deepEqual(await listed(server, '/indexes?offset=1&limit=2'), ['books', 'films'])
    t.deepEqual(await listed(server, '/indexes?offset=9'), [])
    const stats = (await server.get('/stats')).body
    t.deepEqual(Object.keys(stats.indexes as object), ['boats', 'books', 'films', 'songs'])
    t.true(Number(stats.databaseSize) > 0)
    t.regex(String((await server.get('/stats?sizeFormat=human')).body.databaseSize), /^[\d.]+ [KM]iB$/)
  }
  const client = new Meilisearch({ host: a.url, apiKey: masterKey })
  t.is((await client.getRawIndexes()).total, 4)
  t.is((await client.tasks.getTasks({ indexUids: ['books'] })).total, 2)
  t.is((await client.getStats()).indexes.books?.numberOfDocuments, 1)
})

test('a key sees the indexes and tasks of its patterns in all cells', async (t) => {
  const { a, b } = await filled(t)
  const key = {
    uid: 'a5f27a4c-6a0b-4f7d-8d7e-6f1c3f9f0a11',
    actions: ['*'],
    indexes: ['bo*', 'films'],
    expiresAt: null,
  }
  const made = await b.post('/keys', key)
  const headers = { authorization: `Bearer ${made.body.key}` }
  const { body } = await a.get('/indexes', { headers })
  t.deepEqual([body.total, body.results.map(({ uid }) => uid)], [3, ['boats', 'books', 'films']])
  const tasks = (await a.get('/tasks', { headers })).body.results
  t.deepEqual([...new Set(tasks.map(({ indexUid }) => indexUid))].sort(), ['boats', 'books', 'films'])
  checkError(t, await a.get('/tasks', { headers: { authorization: 'Bearer x' } }), 403, 'invalid_api_key')
})

test('tasks of one cell are deleted and canceled through any server', async (t) => {
  const { a, b } = await filled(t)
  for (const filter of ['uids=*', 'statuses=succeeded', 'indexUids=films,books', 'uids=0,1']) {
    const refused = await a.delete(`/tasks?${filter}`)
    checkError(t, refused, 400, 'missing_task_filters')
    t.regex(refused.body.message, /tasks of the cells `a`, `b`.*of one cell$/)
  }
  checkError(t, await a.delete('/tasks'), 400, 'missing_task_filters')
  for (const [server, filter, deleted, rest] of [
    [a, 'indexUids=books&statuses=succeeded', 2, 1],
    [b, 'uids=0,64', 2, 0],
    [b, 'uids=*&indexUids=boats', 1, 1],
  ] as const) {
    const task = await server.settle(t, server.delete(`/tasks?${filter}`))
    t.is(Number(task.uid) % 64, rest, filter)
    t.is(task.details.deletedTasks, deleted, filter)
  }
  const canceled = await a.settle(t, a.post('/tasks/cancel?indexUids=boats'))
  t.is(Number(canceled.uid) % 64, 1)
  // No cell can have tasks that match both, so nothing is passed on.
  t.is((await a.delete('/tasks?uids=0&indexUids=books')).status, 200)
})

test('lists fail while a cell is away', async (t) => {
  const { a, b } = await filled(t)
  await b.stop()
  for (const path of ['/indexes', '/tasks', '/batches', '/stats'])
    checkError(t, await a.get(path), 503, 'bucket_unavailable')
  t.is((await a.get('/tasks/0')).status, 200)
  t.is((await a.get('/indexes/films/stats')).status, 200)
  t.is((await a.get('/health')).status, 200)
})

test('tools for agents name the indexes of all cells', async (t) => {
  const { a, b } = await filled(t)
  for (const server of [a, b]) {
    t.deepEqual(await listed(server, '/descriptions'), ['boats', 'books', 'films', 'songs'])
    const { body } = await server.get('/descriptions?offset=1&limit=2')
    t.like(body, { offset: 1, limit: 2, total: 4 })
    t.deepEqual(
      body.results.map(({ uid, numberOfDocuments }) => [uid, numberOfDocuments]),
      [
        ['books', 1],
        ['films', 1],
      ],
    )
  }
  const key = { actions: ['search'], indexes: ['b*'], expiresAt: null }
  const headers = { authorization: `Bearer ${(await a.post('/keys', key)).body.key}` }
  t.is((await a.get('/descriptions', { headers })).body.total, 2)
})
