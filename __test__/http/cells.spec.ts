import { once } from 'node:events'
import { createServer as httpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import test from 'ava'
import { Meilisearch } from 'meilisearch'
import { openOutbound } from '../../ts/outbound/index.js'
import { masterKey, startCells } from '../support/cells.js'
import { defaultWaitOptions } from '../support/client.js'
import { listening } from '../support/listening.js'
import { checkError } from '../support/refusals.js'
import { alone } from '../support/replicated.js'

// Two cells: any server takes the requests for the indexes of both.

const books = [
  { id: 1, title: 'Solaris', year: 1961 },
  { id: 2, title: 'Roadside Picnic', year: 1972 },
]

test('the official client uses an index of another cell', async (t) => {
  const { a, b } = await startCells(t)
  const client = new Meilisearch({ host: a.url, apiKey: masterKey, defaultWaitOptions })
  const created = await client.createIndex('books', { primaryKey: 'id' }).waitTask()
  t.is(created.status, 'succeeded')
  t.is(created.uid % 64, 1)
  const index = client.index('books')
  await index.updateSettings({ filterableAttributes: ['year'] }).waitTask()
  t.is((await index.addDocuments(books).waitTask()).status, 'succeeded')
  t.deepEqual((await index.search('solaris', { filter: 'year = 1961' })).hits, [books[0]!])
  t.deepEqual((await index.searchGet('picnic')).hits, [books[1]!])
  t.deepEqual(await index.getDocument(1), books[0]!)
  t.is((await index.getStats()).numberOfDocuments, 2)
  t.truthy(b.parts.tasks.index('books'))
  t.is(a.parts.tasks.index('books'), null)
  await index.deleteAllDocuments().waitTask()
  t.is((await client.deleteIndex('books').waitTask()).status, 'succeeded')
  checkError(t, await a.get('/indexes/books'), 404, 'index_not_found')
})

test('an index that is not placed is in the home cell, from any server', async (t) => {
  const { a, b } = await startCells(t)
  const task = await b.settle(t, b.post('/indexes/films/documents', [{ id: 1 }]))
  t.is(Number(task.uid) % 64, 0)
  t.truthy(a.parts.tasks.index('films'))
  t.deepEqual((await b.get('/indexes/films/documents/1')).body, { id: 1 } as never)
})

test('an upload is streamed to the other cell with its type, query and key', async (t) => {
  const { a, b } = await startCells(t)
  const headers = { 'content-type': 'text/csv' }
  const body = `key,text\n${'1,some words\n'.repeat(20_000)}`
  await a.settle(t, a.post('/indexes/books/documents?primaryKey=key', body, { headers }))
  t.deepEqual((await b.get('/indexes/books/documents/1')).body, { key: '1', text: 'some words' } as never)
  const foreign = { headers: { authorization: 'Bearer of-nobody', 'content-type': 'text/csv' } }
  checkError(t, await a.post('/indexes/books/documents', body, foreign), 403, 'invalid_api_key')
})

test('tasks and batches have uids of their cell, and are found through any server', async (t) => {
  const { a, b } = await startCells(t)
  for (const uid of ['films', 'books', 'films', 'books'])
    await a.settle(t, a.patch(`/indexes/${uid}/settings`, { stopWords: ['a'] }))
  const tasks = async (server: typeof a) =>
    (await server.parts.tasks.list({}, { from: null, limit: 9, reverse: true })).results.map(
      (task) => (task as { uid: number }).uid,
    )
  t.deepEqual(
    [await tasks(a), await tasks(b)],
    [
      [0, 64],
      [1, 65],
    ],
  )
  for (const uid of [0, 64, 1, 65])
    for (const server of [a, b]) {
      t.is((await server.get(`/tasks/${uid}`)).body.uid, uid as never)
      t.is((await server.get(`/batches/${uid}`)).body.uid, uid as never)
    }
  for (const uid of [2, 128, 129]) checkError(t, await a.get(`/tasks/${uid}`), 404, 'task_not_found')
  checkError(t, await a.get('/tasks/x'), 400, 'invalid_task_uids')
})

test('a task of another cell is waited for there', async (t) => {
  const { a } = await startCells(t)
  const ended = await a.post('/indexes/books/documents?waitMs=60000', books)
  t.deepEqual([ended.status, ended.body.status], [200, 'succeeded'])
})

test('a follower passes writes for its cell to its leader, and others to their cell', async (t) => {
  const world = await startCells(t)
  const peers = openOutbound({ allowedNetworks: 'any' })
  t.teardown(() => peers.close())
  const leader = async () => ({ address: world.a.url })
  const figures = async () => ({
    ...{ role: 'follower', position: 1, unsentTransactions: 0, awaySeconds: 0, staleSeconds: 0 },
    ...{ leadConfirmed: null, writer: world.a.url, replaceable: null, problem: null },
  })
  const replicated = {
    ...{ ...alone, peers, leader, figures, isTooStale: () => false },
    ...{ position: async () => null, reaches: async () => true },
  } as never
  const follower = await world.start('a', { replicated })
  t.is(Number((await follower.post('/indexes', { uid: 'films' })).body.taskUid) % 64, 0)
  t.is(Number((await follower.post('/indexes', { uid: 'books' })).body.taskUid) % 64, 1)
  t.is(Number((await follower.post('/indexes/boats/documents', books)).body.taskUid) % 64, 1)
})

test('a cell of which no server answers is away, and the other one works', async (t) => {
  const { a, b } = await startCells(t)
  await b.settle(t, b.post('/indexes', { uid: 'films' }))
  await b.stop()
  for (const answer of [
    await a.post('/indexes/books/search', { q: 'x' }),
    await a.post('/indexes/books/documents', books),
    await a.post('/indexes', { uid: 'books' }),
    await a.delete('/indexes/books'),
    await a.get('/tasks/1'),
  ]) {
    checkError(t, answer, 503, 'bucket_unavailable')
    t.regex(answer.body.message, /the cell `b` cannot be reached(: nothing was written)?; retry/)
    t.truthy(answer.headers['retry-after'])
  }
  t.is((await a.post('/indexes/films/search', { q: 'x' })).status, 200)
})

test('a request is sent to the next address of a cell if it cannot reach the first', async (t) => {
  const { a, b, place } = await startCells(t)
  const urls = ['http://127.0.0.1:9', b.url]
  place((placement) => ({ ...placement, cells: { ...placement.cells, b: { number: 1, urls } } }))
  t.is((await a.post('/indexes', { uid: 'books' })).status, 202)
  for (const _ of [1, 2]) t.is((await a.post('/indexes/boats/documents', books)).status, 202)
})

test('a read is sent to the next address of a cell if the first accepts it and never answers', async (t) => {
  t.timeout(120_000)
  const { a, b, place } = await startCells(t)
  await a.settle(t, a.post('/indexes/books/documents', books))
  for (const path of ['/indexes/books/search', '/multi-search']) {
    let requests = 0
    const frozen = createServer((socket) => {
      socket.once('data', () => requests++).on('error', () => undefined)
    })
    await new Promise<void>((resolve) => frozen.listen(0, '127.0.0.1', resolve))
    t.teardown(() => frozen.close())
    const urls = [`http://127.0.0.1:${(frozen.address() as AddressInfo).port}`, b.url]
    place((placement) => ({ ...placement, cells: { ...placement.cells, b: { number: 1, urls } } }))
    const body = path === '/multi-search' ? { queries: [{ indexUid: 'books' }] } : {}
    for (const _ of [1, 2]) t.is((await a.post(path, body)).status, 200)
    t.is(requests, 1)
  }
})

test('a request with an absolute URL goes to the cell of its index', async (t) => {
  const { a } = await startCells(t)
  await a.settle(t, a.post('/indexes/books/documents', books))
  const socket = connect(Number(new URL(a.url).port), '127.0.0.1')
  const lines = [
    'GET http://search.example/indexes/books/search?q=picnic HTTP/1.1',
    ...['Host: search.example', `Authorization: Bearer ${masterKey}`, 'Connection: close'],
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  t.regex(await text(socket), /^HTTP\/1.1 200 .*Roadside Picnic/s)
})

test('two servers with different placements pass nothing on in circles', async (t) => {
  const { a, b } = await startCells(t)
  a.known.current = { ...a.known.current, version: 5, indexes: { films: 'b' } }
  b.known.current = { ...b.known.current, version: 5, indexes: {} }
  const answer = await a.get('/indexes/films')
  checkError(t, answer, 503, 'follower_behind')
  t.regex(answer.body.message, /nothing was written; retry/)
  // A refusal by a newer placement is followed once.
  b.known.current = { ...b.known.current, version: 6 }
  a.known.next = b.known.current
  checkError(t, await a.get('/indexes/films'), 404, 'index_not_found')
  t.is(a.known.refreshes, 1)
})

test('the receiver reads its placement if that of the sender is newer', async (t) => {
  const { a, b } = await startCells(t)
  const newer = { ...a.known.current, version: 2, indexes: { films: 'b' } }
  a.known.current = newer
  b.known.next = newer
  t.is((await a.patch('/indexes/films/settings', { stopWords: ['a'] })).status, 202)
  t.is(b.known.refreshes, 1)
})

test('a refusal that is cut off is followed like a complete one', async (t) => {
  const { a } = await startCells(t)
  let ended: Promise<unknown> = Promise.resolve()
  const cutting = httpServer((_request, response) => {
    ended = once(response, 'close')
    response.writeHead(503, { 'x-siftd-placement': '2', 'content-length': '1000' })
    response.write('{', () => response.destroy())
  })
  const url = await listening(t, cutting)
  const { current } = a.known
  a.known.next = { ...current, version: 2 }
  a.known.current = {
    ...current,
    cells: { ...current.cells, b: { number: 1, urls: [url] } },
    indexes: { films: 'b' },
  }
  checkError(t, await a.get('/indexes/films'), 404, 'index_not_found')
  await ended
  t.is((await a.get('/health')).status, 200)
})

test('a forged header of a cell gives no rights, and nothing is passed on', async (t) => {
  const { a, b } = await startCells(t)
  await a.settle(t, a.post('/indexes', { uid: 'books' }))
  for (const version of ['0', '1', '999', 'x', '']) {
    const headers = { authorization: undefined, 'x-siftd-cell': version, 'x-siftd-cell-proof': 'forged' }
    checkError(t, await b.get('/indexes/books', { headers }), 401, 'missing_authorization_header')
    const refused = await a.get('/indexes/books', { headers })
    checkError(t, refused, 503, 'follower_behind')
    checkError(t, await a.get('/tasks/1', { headers }), 503, 'follower_behind')
  }
})

test('hostile names of indexes and tasks are answered here', async (t) => {
  const { a, b } = await startCells(t)
  await b.stop()
  const long = 'x'.repeat(1_000_000)
  checkError(t, await a.post('/indexes', { uid: long }), 400, 'invalid_index_uid')
  t.is((await a.get('/indexes/__proto__')).status, 404)
  t.is((await a.get('/indexes/constructor')).status, 404)
  checkError(t, await a.get('/indexes/a%2Fb'), 400, 'invalid_index_uid')
  checkError(t, await a.get('/tasks/99999999999999999999'), 400, 'invalid_task_uids')
})

test('indexes of several cells do not change in one task', async (t) => {
  const { a, b } = await startCells(t)
  for (const uid of ['films', 'songs', 'books', 'boats']) await a.settle(t, a.post('/indexes', { uid }))
  const across = await a.post('/swap-indexes', [{ indexes: ['films', 'books'] }])
  checkError(t, across, 400, 'invalid_swap_indexes')
  t.regex(across.body.message, /`films` is in `a`, `books` is in `b`/)
  checkError(t, await a.patch('/indexes/books', { uid: 'novels' }), 400, 'invalid_index_uid')
  for (const [indexes, server] of [
    [['films', 'songs'], b],
    [['books', 'boats'], a],
  ] as const)
    t.is((await server.settle(t, server.post('/swap-indexes', [{ indexes }]))).status, 'succeeded')
})

test('the metrics of a server have the version of its placement', async (t) => {
  const { a, place } = await startCells(t, { features: ['metrics'] })
  place((placement) => ({ ...placement, version: 7 }))
  t.regex((await a.get('/metrics')).bytes.toString(), /^siftd_placement_version 7$/m)
})
