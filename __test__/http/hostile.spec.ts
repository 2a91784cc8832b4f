import type { Socket } from 'node:net'
import test from 'ava'
import { rawSocket, readText } from '../support/raw-socket.js'
import { checkRefusals, type Refusal } from '../support/refusals.js'
import { startServer, type TestServer } from '../support/server.js'

const deep = (levels: number, open: string, close: string): string =>
  open.repeat(levels) + close.repeat(levels)
const csv = { 'content-type': 'text/csv' }
const ndjson = { 'content-type': 'application/x-ndjson' }
const upload = '/indexes/a/documents'

test('values nested 100,000 levels deep are refused in every position', async (t) => {
  const server = await startServer(t, { features: ['editDocumentsByFunction'] })
  await server.settle(t, server.post(upload, [{ id: 1 }]))
  const array = deep(100_000, '[', ']')
  const object = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  const parentheses = `${deep(100_000, '(', '')}a = 1${deep(100_000, ')', '')}`
  const nots = `${'NOT '.repeat(100_000)}a = 1`
  const bodies = [array, object, `{"q":${array}}`, `{"filter":${array}}`]
  await checkRefusals(t, server, [
    ...bodies.map((body) => ({ path: '/indexes/a/search', body, code: 'malformed_payload' })),
    { method: 'PATCH', path: '/indexes/a/settings', body: object, code: 'malformed_payload' },
    { path: '/multi-search', body: `{"queries":${array}}`, code: 'malformed_payload' },
    { path: upload, body: `[{"id":1,"a":${array}}]`, code: 'malformed_payload' },
    { path: upload, body: `{"id":1,"a":${object}}`, headers: ndjson, code: 'malformed_payload' },
    { path: '/indexes/a/search', body: { filter: parentheses }, code: 'invalid_search_filter' },
    { path: '/indexes/a/search', body: { filter: nots }, code: 'invalid_search_filter' },
    { path: `${upload}/delete`, body: { filter: parentheses }, code: 'invalid_document_filter' },
    {
      path: '/indexes/a/search',
      body: { filter: `a IN [${deep(50_000, '[', ']')}]` },
      code: 'invalid_search_filter',
    },
  ])
  t.is((await server.get('/tasks')).body.total, 1)
  t.is((await server.get('/health')).status, 200)
})

test('filters with wrong elements and deeply nested filters are refused in every position', async (t) => {
  const server = await startServer(t, { features: ['editDocumentsByFunction'] })
  await server.settle(t, server.post(upload, [{ id: 1 }]))
  const refusals = (filter: unknown): readonly Refusal[] => [
    { path: '/indexes/a/search', body: { filter }, code: 'invalid_search_filter' },
    { path: '/indexes/a/explain', body: { id: '1', filter }, code: 'invalid_search_filter' },
    { path: '/indexes/a/facet-search', body: { facetName: 'b', filter }, code: 'invalid_search_filter' },
    {
      path: '/multi-search',
      body: { queries: [{ indexUid: 'a', filter }] },
      code: 'invalid_search_filter',
    },
    { path: `${upload}/fetch`, body: { filter }, code: 'invalid_document_filter' },
    { path: `${upload}/delete`, body: { filter }, code: 'invalid_document_filter' },
    { path: `${upload}/edit`, body: { filter, function: 'doc.a = 1' }, code: 'invalid_document_filter' },
  ]
  await server.settle(t, server.patch('/indexes/a/settings', { filterableAttributes: ['b'] }))
  for (const filter of [[null], [1], [{}], ['b = 1', [null]], [[['b = 1']]], JSON.parse(deep(110, '[', ']'))])
    await checkRefusals(t, server, refusals(filter))
  t.is((await server.get('/tasks')).body.total, 2)
})

test('invalid UTF-8 is refused in every format, in paths and in parameters', async (t) => {
  const server = await startServer(t)
  const bad = (text: string): Buffer => Buffer.from(text, 'latin1')
  await checkRefusals(t, server, [
    { path: upload, body: bad('[{"id":1,"t":"\xff\xfe"}]'), code: 'malformed_payload' },
    { path: upload, body: bad('{"id":1}\n{"id":2,"t":"\xc3"}'), headers: ndjson, code: 'malformed_payload' },
    { path: upload, body: bad('id,t\n1,\xe9\n'), headers: csv, code: 'malformed_payload' },
    { path: '/indexes', body: bad('{"uid":"a\xff"}'), code: 'malformed_payload' },
    { method: 'GET', path: '/indexes/a%FF', code: 'bad_request' },
  ])
  t.is((await server.get('/tasks')).body.total, 0)
})

test('the last of duplicate keys counts, in bodies, documents and parameters', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes', '{"uid":"ghost","uid":"a"}'))
  await server.settle(t, server.post(upload, '[{"id":1,"v":1,"o":{"x":1,"x":2},"v":2}]'))
  t.is((await server.get(`${upload}/1`)).bytes.toString(), '{"id":1,"v":2,"o":{"x":2}}')
  t.is((await server.get('/indexes?limit=0&limit=7')).body.limit, 7)
})

test('CSV with uneven or truncated records is refused with the record', async (t) => {
  const server = await startServer(t)
  const cases = ['id,t\n1,a,b', 'id,t\n1', 'id,t\n1,a\n2', 'id:number\nx', 'id,"t"x\n1,2,3']
  await checkRefusals(
    t,
    server,
    cases.map((body) => ({ path: upload, body, headers: csv, code: 'malformed_payload' })),
  )
})

test('keys inherited by every JavaScript object are stored and read like any other', async (t) => {
  const server = await startServer(t)
  const names = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'valueOf']
  for (const name of names) {
    const body = (value: string): string => `{"id":1,${JSON.stringify(name)}:${value}}`
    await server.settle(t, server.post(upload, body('{"polluted":true}')))
    t.is((await server.get(`${upload}/1`)).bytes.toString(), body('{"polluted":true}'))
    await server.settle(t, server.put('/indexes/a/settings/synonyms', `{${JSON.stringify(name)}:["x"]}`))
    t.is(
      (await server.get('/indexes/a/settings/synonyms')).bytes.toString(),
      `{${JSON.stringify(name)}:["x"]}`,
    )
    await checkRefusals(t, server, [
      {
        path: '/indexes/a/search',
        body: `{${JSON.stringify(name)}:{"limit":1}}`,
        code: 'bad_request',
        names: name,
      },
    ])
  }
  t.is(({} as { polluted?: boolean }).polluted, undefined)
  const search = await server.post('/indexes/a/search', { attributesToRetrieve: names, q: 'polluted' })
  t.is(search.status, 200)
})

test('a body of many small values is refused before it fills the memory', async (t) => {
  const server = await startServer(t)
  const before = process.memoryUsage().rss
  const ones = `[${'1,'.repeat(20_000_000)}1]`
  await checkRefusals(t, server, [
    { path: `${upload}/delete-batch`, body: ones, status: 413, code: 'payload_too_large', names: 'values' },
    { path: '/indexes/a/search', body: `{"vector":${ones}}`, status: 413, code: 'payload_too_large' },
  ])
  t.true(process.memoryUsage().rss - before < 600_000_000, 'far less than parsing it would take')
  const many = Array.from({ length: 200_000 }, (_, id) => id)
  t.is((await server.post(`${upload}/delete-batch`, many)).status, 202)
})

/** Sends raw bytes. Returns the received text when the server closes or `enough` matches. */
function raw(server: TestServer, send: (socket: Socket) => void, enough: RegExp): Promise<string> {
  const socket = rawSocket(server.url)
  send(socket)
  return readText(socket, enough)
}

const head = (path: string, ...lines: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: x', 'content-type: application/json', ...lines, '', ''].join('\r\n')

test('an announced length of a gigabyte is refused before a byte arrives', async (t) => {
  const server = await startServer(t)
  for (const path of [upload, '/indexes/a/search', '/indexes']) {
    const answer = await raw(
      server,
      (socket) => socket.write(head(path, 'content-length: 1000000000')),
      /\r\n\r\n.*\}/,
    )
    t.regex(answer, /^HTTP\/1\.1 413 [\s\S]*payload_too_large/, path)
  }
})

test('a body without a length is cut off at the limit', async (t) => {
  const server = await startServer(t, { payloadBytesMax: 100_000 })
  for (const path of [upload, '/indexes/a/search']) {
    const chunk = `${(10_000).toString(16)}\r\n${' '.repeat(10_000)}\r\n`
    const answer = await raw(
      server,
      (socket) => {
        socket.write(head(path, 'transfer-encoding: chunked'))
        for (let i = 0; i < 11; i++) socket.write(chunk)
      },
      /\r\n\r\n.*\}/,
    )
    t.regex(answer, /^HTTP\/1\.1 413 /, path)
  }
})

test('a client that disconnects during a body leaves nothing behind', async (t) => {
  const server = await startServer(t)
  for (const path of [upload, '/indexes/a/search', '/indexes']) {
    const lines = [['content-length: 100'], ['transfer-encoding: chunked']]
    for (const framing of lines) {
      await raw(
        server,
        (socket) => {
          socket.write(
            `${head(path, ...framing)}${framing[0]?.startsWith('transfer') ? '5\r\n[{"id' : '[{"id"'}`,
          )
          socket.end()
        },
        /\r\n\r\n/,
      )
    }
  }
  t.is((await server.get('/tasks')).body.total, 0)
  t.is((await server.get('/health')).status, 200)
})

test('slow requests block no other request', async (t) => {
  const server = await startServer(t)
  const slow = Array.from({ length: 50 }, () => {
    const socket = rawSocket(server.url)
    socket.write(head(upload, 'content-length: 1000'))
    return socket
  })
  t.teardown(() => {
    for (const socket of slow) socket.destroy()
  })
  for (const socket of slow) socket.write('[')
  await server.settle(t, server.post(upload, [{ id: 1 }]))
  t.is((await server.get(`${upload}/1`)).status, 200)
})

test('headers and paths of every size are answered or refused', async (t) => {
  const server = await startServer(t)
  for (const length of [400, 401, 5_000, 12_000]) {
    const answer = await server.get(`/indexes/${'a'.repeat(length)}`)
    t.true([404, 400].includes(answer.status), String(length))
    t.true(answer.bytes.length < 20_000 + length)
  }
  const key = await server.get('/indexes', { headers: { authorization: `Bearer ${'x'.repeat(12_000)}` } })
  t.is(key.status, 200)
  const types = await server.post('/indexes', '{}', { headers: { 'content-type': 'x'.repeat(10_000) } })
  t.is(types.body.code, 'invalid_content_type')
})

test('100,000 characters of a number, a size, a sort or a URL are refused or read in linear time', async (t) => {
  const server = await startServer(t, { features: ['network'] })
  await server.settle(t, server.post(upload, [{ id: 1 }]))
  const [blanks, digits, slashes] = [' ', '1', '/'].map((character) => character.repeat(100_000))
  await checkRefusals(t, server, [
    { path: '/export', body: { payloadSize: `1${blanks}x` }, code: 'invalid_export_payload_size' },
    { path: upload, body: `id:number\n${digits}x`, headers: csv, code: 'malformed_payload' },
    { path: '/indexes/a/search', body: { filter: `id > ${digits}x` }, code: 'invalid_search_filter' },
    {
      method: 'GET',
      path: `/indexes/a/search?rankingScoreThreshold=${digits?.slice(0, 15_000)}x`,
      code: 'invalid_search_ranking_score_threshold',
    },
    { method: 'GET', path: `/indexes/a/search?sort=${','.repeat(15_000)}(`, code: 'invalid_search_sort' },
  ])
  const url = `http://example.com${slashes}x`
  t.is((await server.patch('/network', { remotes: { far: { url } } })).status, 200)
  t.is(
    (await server.settle(t, server.post(upload, `id:number\n${digits}`, { headers: csv }))).status,
    'failed',
  )
})

test('a sort parameter is split at commas, but not within the parentheses of a point', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.put('/indexes/a/settings/sortable-attributes', ['_geo', 'n']))
  const documents = [
    { id: 1, n: 1, _geo: { lat: 1, lng: 1 } },
    { id: 2, n: 1, _geo: { lat: 2, lng: 2 } },
    { id: 3, n: 2, _geo: { lat: 3, lng: 3 } },
  ]
  await server.settle(t, server.post(upload, documents))
  const sort = encodeURIComponent('n:asc, _geoPoint(3, 3):asc')
  const { hits } = (await server.get(`/indexes/a/search?sort=${sort}`)).body
  t.deepEqual(
    hits.map(({ id }) => id),
    [2, 1, 3],
  )
})

test('lists and objects with more members than their limits are refused completely', async (t) => {
  const server = await startServer(t, { features: ['network', 'multimodal'] })
  const many = <T>(count: number, value: T) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, value]))
  const remote = { url: 'http://example.com' }
  const network = { method: 'PATCH', path: '/network' }
  await checkRefusals(t, server, [
    { ...network, body: { remotes: many(1_001, remote) }, code: 'invalid_network_remotes', names: '1000' },
    { ...network, body: { shards: many(10_001, {}) }, code: 'invalid_network_shards', names: '10000' },
    {
      path: '/export',
      body: { url: remote.url, indexes: many(10_001, {}) },
      code: 'bad_request',
      names: '10000',
    },
  ])
  t.is((await server.patch('/network', { remotes: many(1_000, remote) })).status, 200)
  await checkRefusals(t, server, [
    { ...network, body: { remotes: { another: remote } }, code: 'invalid_network_remotes', names: '1001' },
  ])
  const embedder = {
    source: 'rest',
    url: 'http://example.com',
    dimensions: 2,
    request: '{{fragment}}',
    response: '{{embedding}}',
  }
  await checkRefusals(t, server, [
    {
      method: 'PATCH',
      path: '/indexes/a/settings',
      body: { embedders: { e: { ...embedder, headers: many(201, 'x') } } },
      code: 'invalid_settings_embedders',
      names: '200',
    },
  ])
  const fragments = (count: number) => many(count, { value: '{{q}}' })
  for (const [count, status] of [
    [256, 'failed'],
    [255, 'succeeded'],
  ] as const) {
    const e = { ...embedder, indexingFragments: fragments(count), searchFragments: fragments(1) }
    const task = await server.settle(t, server.patch('/indexes/a/settings', { embedders: { e } }))
    t.is(task.status, status, JSON.stringify(task.error))
    if (status === 'failed') t.is(task.error.code, 'invalid_settings_embedders')
  }
})
