import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { startServer } from '../support/server.js'

const local = { allowedNetworks: ['127.0.0.0/8'] }

test('an export copies settings and documents to another server, in chunks', async (t) => {
  const [from, to] = await Promise.all([startServer(t, local), startServer(t)])
  const settings = { filterableAttributes: ['year'], stopWords: ['the'] }
  await from.settle(t, from.patch('/indexes/films/settings', settings))
  const films = Array.from({ length: 60 }, (_, at) => ({
    id: at,
    title: `The film ${at}`,
    year: 1950 + at,
    size: '@'.repeat(50),
  }))
  await from.settle(t, from.post('/indexes/films/documents?primaryKey=id', films))
  await from.settle(t, from.post('/indexes/notes/documents', '[{"id":1,"n":12345678901234567890,"f":1.0}]'))
  const accepted = await from.post('/export', {
    url: `${to.url}/`,
    apiKey: 'a-key-of-thirty-characters-or-so',
    payloadSize: 2048,
    indexes: { 'fil*': { filter: 'year >= 1960' }, notes: {} },
  })
  t.is(accepted.status, 200)
  const task = await from.settle(t, Promise.resolve({ ...accepted, status: 202 }))
  t.like(task, { type: 'export', status: 'succeeded', indexUid: null })
  t.deepEqual(task.details as object, {
    url: `${to.url}/`,
    apiKey: 'a-keyXXXXXX...',
    payloadSize: '2 KiB',
    indexes: {
      films: { filter: 'year >= 1960', overrideSettings: false, matched_documents: 50 },
      notes: { filter: null, overrideSettings: false, matched_documents: 1 },
    },
  })
  t.notRegex(String(task.details.apiKey), /thirty/)
  const sent = (await to.get('/tasks?types=documentAdditionOrUpdate&limit=100')).body
  t.true(sent.total >= 4, `${sent.total} uploads`)
  for (const { uid } of sent.results)
    await to.settle(
      t,
      Promise.resolve({ ...accepted, status: 202, body: { ...accepted.body, taskUid: Number(uid) } }),
    )
  t.is((await to.get('/indexes/films/documents?limit=0')).body.total, 50)
  t.like((await to.get('/indexes/films/settings')).body, settings)
  t.is((await to.get('/indexes/films')).body.primaryKey, 'id')
  t.is(
    (await to.get('/indexes/notes/documents/1')).bytes.toString(),
    '{"id":1,"n":12345678901234567890,"f":1.0}',
  )
})

test('an export overwrites the settings of an existing index only on request', async (t) => {
  const [from, to] = await Promise.all([startServer(t, local), startServer(t)])
  await from.settle(t, from.patch('/indexes/films/settings', { stopWords: ['a'] }))
  await to.settle(t, to.patch('/indexes/films/settings', { stopWords: ['b'] }))
  const run = async (body: object): Promise<unknown> => {
    const accepted = await from.post('/export', { url: to.url, ...body })
    await from.settle(t, Promise.resolve({ ...accepted, status: 202 }))
    const { taskUid } = (await to.post('/indexes/films/documents', [{ id: 1 }])).body
    await to.settle(t, Promise.resolve({ ...accepted, status: 202, body: { ...accepted.body, taskUid } }))
    return (await to.get('/indexes/films/settings/stop-words')).bytes.toString()
  }
  t.is(await run({}), '["b"]')
  t.is(await run({ indexes: { films: { overrideSettings: true } } }), '["a"]')
})

test('foreign keys and chat settings are exported while their features are on', async (t) => {
  const features = ['foreignKeys', 'chatCompletions'] as const
  const [from, to] = await Promise.all([startServer(t, { ...local, features }), startServer(t, { features })])
  const foreignKeys = [{ foreignIndexUid: 'authors', fieldName: 'author' }]
  const chat = { description: 'books', searchParameters: { limit: 3 } }
  for (const [uid, settings] of [
    ['books', { foreignKeys, chat }],
    ['authors', { stopWords: ['of'] }],
  ] as const)
    await from.settle(t, from.patch(`/indexes/${uid}/settings`, settings))
  /** Exports, and returns the names of the settings that the target gets for each index. */
  const sent = async () => {
    const accepted = await from.post('/export', { url: to.url, indexes: { '*': { overrideSettings: true } } })
    t.is((await from.settle(t, Promise.resolve({ ...accepted, status: 202 }))).status, 'succeeded')
    const { results } = (await to.get('/tasks?types=settingsUpdate&limit=2')).body
    const shown = results.map(({ indexUid, details }) => [indexUid, Object.keys(details as object)] as const)
    return shown.map(([uid, names]) => [uid, names.filter((name) => ['foreignKeys', 'chat'].includes(name))])
  }
  t.deepEqual(await sent(), [
    ['books', ['foreignKeys', 'chat']],
    ['authors', []],
  ])
  await to.settle(t, to.patch('/indexes/books/settings', {}))
  t.like((await to.get('/indexes/books/settings')).body, { foreignKeys, chat })
  await from.patch('/experimental-features', { foreignKeys: false, chatCompletions: false })
  t.deepEqual(await sent(), [
    ['books', []],
    ['authors', []],
  ])
})

test('an export lists the indexes that match its patterns, and copies no other', async (t) => {
  const [from, to] = await Promise.all([startServer(t, local), startServer(t)])
  await from.settle(t, from.patch('/indexes/plants/settings', { filterableAttributes: ['colour'] }))
  const plants = ['red', 'green', 'red'].map((colour, id) => ({ id, colour }))
  await from.settle(t, from.post('/indexes/plants/documents', plants))
  await from.settle(t, from.post('/indexes/birds/documents', [{ id: 1 }]))
  const body = { url: to.url, indexes: { 'pl*': { filter: 'colour = red' } } }
  const accepted = await from.post('/export', body)
  const { details } = await from.settle(t, Promise.resolve({ ...accepted, status: 202 }))
  t.deepEqual(details.indexes as object, {
    plants: { filter: 'colour = red', overrideSettings: false, matched_documents: 2 },
  })
  const { results } = (await to.get('/tasks?types=documentAdditionOrUpdate')).body
  const taskUid = Number(results[0]?.uid)
  await to.settle(t, Promise.resolve({ ...accepted, status: 202, body: { ...accepted.body, taskUid } }))
  t.is((await to.get('/indexes/plants/stats')).body.numberOfDocuments, 2)
  t.is((await to.get('/indexes/birds')).status, 404)
})

test('the key of an export is not shown, even if its target repeats it in a refusal', async (t) => {
  const apiKey = 'a-key-of-thirty-characters-or-so'
  const echo = createServer(({ headers }, answer) => {
    const body = { code: 'invalid_api_key', message: `no such key: ${headers.authorization}` }
    answer.writeHead(403).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void echo.close())
  const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`
  const server = await startServer(t, local)
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1 }]))
  const accepted = await server.post('/export', { url, apiKey })
  const { error } = await server.settle(t, Promise.resolve({ ...accepted, status: 202 }))
  t.is(
    error?.message,
    'GET /indexes/films: the other instance answered 403 invalid_api_key no such key: Bearer …',
  )
})

test('the key of an export is not shown in a long refusal either, and an empty key changes no message', async (t) => {
  const echo = createServer(({ headers }, answer) => {
    const { authorization } = headers
    const body = { code: `no_${authorization}`, message: `${'x'.repeat(380)} ${authorization}` }
    answer.writeHead(400).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void echo.close())
  const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`
  const server = await startServer(t, local)
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1 }]))
  const said = async (apiKey: string) => {
    const accepted = await server.post('/export', { url, apiKey })
    return (await server.settle(t, Promise.resolve({ ...accepted, status: 202 }))).error?.message
  }
  const start = 'GET /indexes/films: the other instance answered 400 no_Bearer'
  t.is(await said('a-key-of-thirty-characters-or-so'), `${start} … ${'x'.repeat(380)} Bearer …`)
  t.is(await said(''), `${start} ${'x'.repeat(380)} Bearer`)
})

test('an export to a web page, or to an address that redirects, fails', async (t) => {
  const to = await startServer(t)
  const page = createServer((request, answer) => {
    request.resume()
    answer.end('<html></html>')
  })
  const moved = createServer((request, answer) => {
    request.resume()
    // A POST becomes a GET.
    answer.writeHead(301, { location: `${to.url}${request.url}` }).end()
  })
  const server = await startServer(t, local)
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1 }]))
  await to.settle(t, to.post('/indexes', { uid: 'films', primaryKey: 'id' }))
  const said: unknown[] = []
  for (const one of [page, moved]) {
    await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve))
    t.teardown(() => void one.close())
    const { port } = one.address() as AddressInfo
    const accepted = await server.post('/export', { url: `http://127.0.0.1:${port}` })
    const { status, error } = await server.settle(t, Promise.resolve({ ...accepted, status: 202 }))
    said.push([status, error?.code, error?.message?.replace(String(port), 'PORT')])
  }
  t.deepEqual(said, [
    [
      'failed',
      'remote_bad_response',
      'GET /indexes/films: the answer has no valid `uid`: is `url` the address of a search instance?',
    ],
    [
      'failed',
      'remote_could_not_send_request',
      'GET /indexes/films: `127.0.0.1:PORT` redirects to another address, but this request must not be sent elsewhere',
    ],
  ])
})

test('the password in the URL of an export is not shown', async (t) => {
  const server = await startServer(t)
  for (const [url, shown] of [
    ['https://me:secret@127.0.0.1:1/a@b', 'https://XXX...@127.0.0.1:1/a@b'],
    ['https:me:sec@ret@127.0.0.1', 'https:XXX...@127.0.0.1'],
    ['https://127.0.0.1/?a=b@c', 'https://127.0.0.1/?a=b@c'],
    ['no url', 'no url'],
  ] as const) {
    const accepted = await server.post('/export', { url, indexes: { 'none*': {} } })
    const task = await server.settle(t, Promise.resolve({ ...accepted, status: 202 }))
    t.is(task.details.url, shown)
    t.notRegex(JSON.stringify([task, (await server.get('/batches')).body]), /secret|sec@ret/)
  }
})

test('an export that its target refuses, or to an address that is not allowed, fails with a code', async (t) => {
  let calls = 0
  const strict = createServer((_, answer) => {
    calls++
    answer.writeHead(403).end('{}')
  })
  await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void strict.close())
  const url = `http://127.0.0.1:${(strict.address() as AddressInfo).port}`
  const [server, guarded] = await Promise.all([startServer(t, local), startServer(t)])
  const codeOf = async (one: typeof server, body: object): Promise<unknown> => {
    await one.settle(t, one.post('/indexes/films/documents', [{ id: 1 }]))
    const { taskUid } = (await one.post('/export', body)).body
    for (;;) {
      const { body: task } = await one.get(`/tasks/${taskUid}`)
      if (task.status === 'failed' || task.status === 'succeeded') return task.error?.code ?? task.status
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  t.is(await codeOf(server, { url }), 'remote_invalid_api_key')
  t.is(calls, 1)
  t.is(await codeOf(guarded, { url }), 'remote_could_not_send_request')
  t.is(calls, 1, 'an address that is not allowed is not called')
  t.is(await codeOf(server, {}), 'remote_could_not_send_request')
  t.is(await codeOf(server, { url, indexes: { 'none*': {} } }), 'succeeded')
  for (const [body, code] of [
    [{ url: 3 }, 'invalid_export_url'],
    [{ apiKey: 3 }, 'invalid_export_api_key'],
    [{ payloadSize: 'much' }, 'invalid_export_payload_size'],
    [{ indexes: { 'a b': {} } }, 'bad_request'],
    [{ indexes: { a: { overrideSettings: 1 } } }, 'invalid_export_index_override_settings'],
  ] as const)
    t.is((await server.post('/export', body)).body.code, code, JSON.stringify(body))
})

/** An instance that accepts everything and records the documents of each request. */
async function openTarget(t: ExecutionContext) {
  const bodies: Buffer[] = []
  const taking = createServer(async (request, answer) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (/\/documents/.test(request.url ?? '')) bodies.push(gunzipSync(Buffer.concat(chunks)))
    answer.writeHead(202).end('{"uid":"films","taskUid":1}')
  })
  await new Promise<void>((resolve) => taking.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void taking.close())
  return { url: `http://127.0.0.1:${(taking.address() as AddressInfo).port}`, bodies }
}

const idsOf = (body: Buffer): readonly number[] =>
  body
    .toString()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly id: number }).id)

test('no request of an export exceeds the payload size, unless for a single longer document', async (t) => {
  const server = await startServer(t, local)
  // Its characters have two bytes each, and the rest of a document has 14 bytes. The first three documents fill a
  // request.
  const films = [43, 43, 42, 143, 200, 0, 140, 1].map((length, id) => ({ id, x: 'é'.repeat(length) }))
  await server.settle(t, server.post('/indexes/films/documents', films))
  const { url, bodies } = await openTarget(t)
  const accepted = await server.post('/export', { url, payloadSize: 300 })
  t.is((await server.settle(t, Promise.resolve({ ...accepted, status: 202 }))).status, 'succeeded')
  t.deepEqual(
    bodies.flatMap(idsOf),
    films.map(({ id }) => id),
  )
  for (const body of bodies) t.true(body.length <= 300 || idsOf(body).length === 1, `${body.length} bytes`)
  t.true(bodies.length < films.length, 'documents share requests')
})

const MIB = 1024 * 1024

for (const [limit, most] of [
  [23 * MIB, 22 * MIB],
  [8 * MIB, 20 * MIB],
] as const)
  test(`by default an export sends at most ${most / MIB} MiB where a body may have ${limit / MIB}`, async (t) => {
    const server = await startServer(t, { ...local, payloadBytesMax: limit })
    await server.settle(t, server.patch('/indexes/films/settings', { searchableAttributes: ['id'] }))
    // Seven documents of a MiB fit into a body of eight.
    for (let part = 0; part < 4; part++) {
      const films = Array.from({ length: 7 }, (_, at) => ({ id: part * 7 + at, x: 'x'.repeat(MIB) }))
      await server.settle(t, server.post('/indexes/films/documents', films))
    }
    const { url, bodies } = await openTarget(t)
    const accepted = await server.post('/export', { url })
    t.is((await server.settle(t, Promise.resolve({ ...accepted, status: 202 }))).status, 'succeeded')
    const [first = 0, second = 0, ...more] = bodies.map(({ length }) => length)
    t.deepEqual(more, [])
    t.true(first <= most && first > most - 2 * MIB, `${first} bytes`)
    t.is(first + second > 28 * MIB, true)
  })

test('an export reads long documents in small groups', async (t) => {
  let longest = 0
  const server = await startServer(t, {
    ...local,
    queueEngine: (engine) =>
      new Proxy(engine, {
        get: (target, name) => {
          const found = Reflect.get(target, name) as unknown
          if (name !== 'pinnedDocuments') return typeof found === 'function' ? found.bind(target) : found
          return async (...given: Parameters<Engine['pinnedDocuments']>) => {
            const listing = await target.pinnedDocuments(...given)
            longest = Math.max(longest, listing.length)
            return listing
          }
        },
      }),
  })
  await server.settle(t, server.patch('/indexes/films/settings', { searchableAttributes: ['id'] }))
  const films = Array.from({ length: 40 }, (_, id) => ({ id, x: 'x'.repeat(MIB) }))
  await server.settle(t, server.post('/indexes/films/documents', films))
  const { url, bodies } = await openTarget(t)
  const accepted = await server.post('/export', { url, payloadSize: '1 GiB' })
  t.is((await server.settle(t, Promise.resolve({ ...accepted, status: 202 }))).status, 'succeeded')
  t.deepEqual(
    bodies.flatMap(idsOf),
    films.map(({ id }) => id),
  )
  t.true(longest < 20 * MIB, `${longest} bytes at a time`)
})

test('an export of a document that its target finds too long fails and says what to do', async (t) => {
  const [from, to] = await Promise.all([startServer(t, local), startServer(t, { payloadBytesMax: 1_000 })])
  await from.settle(t, from.post('/indexes/films/documents', [{ id: 1, x: 'x'.repeat(2_000) }]))
  const accepted = await from.post('/export', { url: to.url, payloadSize: 900 })
  const task = await from.settle(t, Promise.resolve({ ...accepted, status: 202 }))
  t.like(task, { status: 'failed', error: { code: 'remote_bad_request' } })
  t.regex(task.error.message, /answered 413 payload_too_large.*smaller `payloadSize`/)
})

test('secrets of embedders are exported only with the master key', async (t) => {
  const masterKey = 'harbour-lantern-4471-xyz'
  const sent: Record<string, Record<string, unknown>>[] = []
  const taking = createServer(async (request, answer) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.method === 'PATCH') sent.push(JSON.parse(Buffer.concat(chunks).toString()).embedders)
    // The path of the embedder is the root.
    if (request.url === '/') answer.end('[1,2]')
    else answer.writeHead(202).end('{"uid":"films","taskUid":1}')
  })
  await new Promise<void>((resolve) => taking.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void taking.close())
  const url = `http://127.0.0.1:${(taking.address() as AddressInfo).port}`
  const server = await startServer(t, { ...local, masterKey, features: ['compositeEmbedders'] })
  const rest = {
    source: 'rest',
    url,
    dimensions: 2,
    apiKey: 'provider-key',
    headers: { authorization: 'Bearer provider-key', 'x-tenant': 'films' },
    request: '{{text}}',
    response: '{{embedding}}',
  }
  const both = { source: 'composite', searchEmbedder: rest, indexingEmbedder: rest }
  const { dimensions: _found, ...probed } = rest
  const embedders = { r: rest, c: both, p: probed }
  const settled = await server.settle(t, server.patch('/indexes/films/settings', { embedders }))
  t.is(settled.status, 'succeeded', JSON.stringify(settled.error))
  const { key } = (await server.post('/keys', { actions: ['*'], indexes: ['*'], expiresAt: null })).body
  const body = { url, indexes: { films: { overrideSettings: true } } }
  for (const headers of [{ authorization: `Bearer ${key}` }, { authorization: `Bearer ${masterKey}` }]) {
    const accepted = await server.post('/export', body, { headers })
    t.is((await server.settle(t, Promise.resolve({ ...accepted, status: 202 }))).status, 'succeeded')
  }
  const [byKey, byMaster] = sent
  t.false(JSON.stringify(byKey).includes('provider-key'))
  t.deepEqual(byKey?.r?.headers as object, { 'x-tenant': 'films' })
  t.deepEqual(byMaster?.r as object, rest)
  t.like(byMaster?.c as object, both)
  t.deepEqual(byMaster?.p as object, probed)
  // Without their secrets, the target cannot call the providers.
  t.deepEqual(byKey?.c as object, { source: 'userProvided', dimensions: 2 })
  t.is(byKey?.p?.dimensions, 2)
})

test('an export to an instance that does not answer blocks only other exports', async (t) => {
  let answerAll: () => void = () => undefined
  const answered = new Promise<void>((resolve) => {
    answerAll = resolve
  })
  const bodies: Buffer[] = []
  const slow = createServer(async (request, answer) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    await answered
    if (/\/documents/.test(request.url ?? '')) bodies.push(gunzipSync(Buffer.concat(chunks)))
    answer.writeHead(202).end('{"uid":"films","taskUid":1}')
  })
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    slow.closeAllConnections()
    slow.close()
  })
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`
  const server = await startServer(t, local)
  await server.settle(t, server.patch('/indexes/films/settings', { filterableAttributes: ['year'] }))
  const films = [1970, 1980, 1990].map((year, id) => ({ id, year }))
  await server.settle(t, server.post('/indexes/films/documents', films))
  const asked = new Promise<void>((resolve) => slow.once('request', () => resolve()))
  const exports = []
  for (const filter of ['year > 1975', null, null])
    exports.push(await server.post('/export', { url, indexes: { films: { filter } } }))
  await asked

  const done = [
    await server.settle(
      t,
      server.post('/indexes/films/documents', [
        { id: 2, year: 1950 },
        { id: 3, year: 2000 },
      ]),
    ),
    await server.settle(t, server.post('/indexes/other/documents', [{ id: 1 }])),
    await server.settle(t, server.post('/dumps')),
    await server.settle(t, server.post('/snapshots')),
    await server.settle(t, server.post('/swap-indexes', [{ indexes: ['films', 'other'] }])),
    await server.settle(t, server.delete('/indexes/other')),
  ]
  t.deepEqual(
    done.map(({ type, status }) => `${type} ${status}`),
    [
      'documentAdditionOrUpdate succeeded',
      'documentAdditionOrUpdate succeeded',
      'dumpCreation succeeded',
      'snapshotCreation succeeded',
      'indexSwap succeeded',
      'indexDeletion succeeded',
    ],
  )
  answerAll()
  const ended = []
  for (const accepted of exports)
    ended.push(await server.settle(t, Promise.resolve({ ...accepted, status: 202 })))
  t.deepEqual(
    ended.map(({ status }) => status),
    ['succeeded', 'succeeded', 'succeeded'],
  )
  t.deepEqual(
    bodies[0] === undefined ? [] : idsOf(bodies[0]),
    [1, 2],
    'the contents of the index when it was exported',
  )
})
