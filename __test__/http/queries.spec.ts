import { request as httpRequest } from 'node:http'
import test, { type ExecutionContext } from 'ava'
import { checkError } from '../support/refusals.js'
import { startServer, type TestBody, type TestServer, type TestServerOptions } from '../support/server.js'

interface SlowLine {
  readonly target: string
  readonly msg: string
  readonly route: string
  readonly index?: string
  readonly q?: string
  readonly filter?: string
  readonly queries?: readonly object[]
  readonly queriesLeftOut?: number
  readonly hits?: number
  readonly error?: string
  readonly ms: number
  readonly stages: Readonly<Record<string, number>>
}

async function boats(t: ExecutionContext, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(t, { features: ['logsRoute'], ...options })
  const boats = [
    { id: 1, title: 'calm orbit', type: 'sloop' },
    { id: 2, title: 'swift orbit', type: 'yawl' },
  ]
  await server.settle(t, server.patch('/indexes/boats/settings', { filterableAttributes: ['type'] }))
  await server.settle(t, server.post('/indexes/boats/documents', boats))
  return server
}

/** Returns the log lines about slow searches during the calls. */
async function slowLines(server: TestServer, calls: () => Promise<unknown>): Promise<readonly SlowLine[]> {
  let text = ''
  const ended = new Promise<void>((resolve, reject) => {
    const outgoing = httpRequest(
      `${server.url}/logs/stream`,
      { method: 'POST', headers: { 'content-type': 'application/json' } },
      async (answer) => {
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        answer.once('end', resolve)
        await calls()
        await server.delete('/logs/stream')
      },
    )
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify({ mode: 'json', target: 'queries=info' }))
  })
  await ended
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as SlowLine)
}

test('slow searches of every route are logged with the times of their stages', async (t) => {
  const server = await boats(t, { slowQueryMs: 0 })
  const filter = 'type = sloop'
  const lines = await slowLines(server, async () => {
    await server.post('/indexes/boats/search', { q: 'orbit', filter, facets: ['type'] })
    await server.get('/indexes/boats/search?q=calm')
    await server.post('/indexes/boats/facet-search', { facetName: 'type', q: 'orbit' })
    await server.post('/multi-search', {
      queries: [{ indexUid: 'boats', q: 'swift' }, { indexUid: 'boats' }],
    })
    await server.post('/multi-search', { federation: {}, queries: [{ indexUid: 'boats', q: 'calm' }] })
    await server.post('/indexes/boats/search', { q: 'orbit', filter: 'speed = 1' })
    await server.get('/indexes/boats')
  })
  t.deepEqual(
    lines.map(({ route }) => route),
    ['search', 'search', 'facet-search', 'multi-search', 'multi-search', 'search'],
  )
  for (const { target, msg, ms, stages } of lines) {
    t.is(`${target}: ${msg}`, 'queries: a search was slow')
    t.true(ms > 0)
    const spent = Object.entries(stages).filter(([stage]) => stage !== 'search')
    t.true(spent.every(([, took]) => took >= 0))
  }
  const [search, byGet, facetSearch, multi, federated, failed] = lines
  t.like(search, { index: 'boats', q: 'orbit', filter: JSON.stringify(filter), hits: 1 })
  for (const stage of ['wait for turn', 'search > keyword ranking', 'search > facet distribution', 'search'])
    t.true(stage in (search?.stages ?? {}), stage)
  t.like(byGet, { index: 'boats', q: 'calm', hits: 1 })
  t.like(facetSearch, { index: 'boats', q: 'orbit' })
  t.deepEqual(multi?.queries, [{ index: 'boats', q: 'swift' }, { index: 'boats' }])
  t.true('search > merge results' in (federated?.stages ?? {}))
  t.like(failed, { q: 'orbit', error: 'invalid_search_filter' })
  t.is(failed?.hits, undefined)
})

test('timing of stages does not change answers, with and without performance details', async (t) => {
  const quiet = await boats(t)
  const timing = await boats(t, { slowQueryMs: 3_600_000 })
  // A document, a query and a filter may contain text that resembles this member of the answer.
  const trick = ',"performanceDetails":{"a":"b"}'
  const document = { id: 3, title: `calm ${trick}`, performanceDetails: { search: '1ms' } }
  for (const server of [quiet, timing])
    await server.settle(t, server.post('/indexes/boats/documents', [document]))
  const calls: readonly (readonly [string, object])[] = [
    ['/indexes/boats/search', { q: 'calm' }],
    ['/indexes/boats/search', { q: trick, facets: ['type'] }],
    ['/indexes/boats/search', { q: 'calm', showPerformanceDetails: true }],
    ['/multi-search', { queries: [{ indexUid: 'boats', q: 'calm' }] }],
    ['/multi-search', { federation: {}, queries: [{ indexUid: 'boats', q: 'calm' }] }],
    ['/multi-search', { federation: { showPerformanceDetails: true }, queries: [{ indexUid: 'boats' }] }],
  ]
  const moving = new Set(['requestUid', 'processingTimeMs', 'queryUid'])
  const stable = (body: TestBody): unknown =>
    JSON.parse(JSON.stringify(body), (key, value: unknown) => {
      if (moving.has(key)) return null
      // Times differ, and are texts. Times in documents do not differ.
      return key === 'performanceDetails' && typeof value === 'object' && value !== null && 'search' in value
        ? Object.keys(value)
        : value
    })
  for (const [path, body] of calls) {
    const options = { headers: { 'meili-include-metadata': 'true' } }
    const [plain, timed] = [await quiet.post(path, body, options), await timing.post(path, body, options)]
    t.is(timed.status, 200)
    t.deepEqual(stable(timed.body), stable(plain.body), JSON.stringify(body))
    t.is('performanceDetails' in timed.body, JSON.stringify(body).includes('"showPerformanceDetails":true'))
  }
})

test('a cached answer has no stages, and a search below the limit is not logged', async (t) => {
  const server = await boats(t, { slowQueryMs: 0 })
  const lines = await slowLines(server, async () => {
    for (const _ of [1, 2]) await server.post('/indexes/boats/search', { q: 'orbit' })
  })
  t.deepEqual(
    lines.map(({ stages }) => 'search' in stages),
    [true, false],
  )
  const patient = await boats(t, { slowQueryMs: 3_600_000 })
  t.deepEqual(await slowLines(patient, () => patient.post('/indexes/boats/search', { q: 'orbit' })), [])
})

test('texts and filters are hashed on request, in the log and in the statistics', async (t) => {
  const server = await boats(t, { slowQueryMs: 0, queryStats: true, hashQueryText: true })
  const search = { q: 'Calm', filter: 'type = sloop' }
  const [line] = await slowLines(server, () => server.post('/indexes/boats/search', search))
  // The first 16 digits of `printf calm | sha256sum`.
  t.is(line?.q, '2b4b2eadf7b2aece')
  t.regex(line?.filter ?? '', /^[0-9a-f]{16}$/)
  const { bytes } = await server.get('/stats/queries')
  t.true(bytes.includes('2b4b2eadf7b2aece'))
  t.false(/calm|sloop/i.test(bytes.toString() + JSON.stringify(line)))
})

test('long texts and many queries are cut in the log', async (t) => {
  const server = await boats(t, { slowQueryMs: 0 })
  const [one, many] = await slowLines(server, async () => {
    await server.post('/indexes/boats/search', { q: 'x'.repeat(5000) })
    const queries = Array.from({ length: 12 }, () => ({ indexUid: 'boats' }))
    await server.post('/multi-search', { queries })
  })
  t.is(one?.q?.length, 1000)
  t.is(many?.queries?.length, 10)
  t.is(many?.queriesLeftOut, 2)
})

test('queries are counted by frequency, time and lack of hits', async (t) => {
  const server = await boats(t, { queryStats: true })
  for (const q of ['orbit', ' Orbit ', 'xyzzy', 'calm', 'xyzzy'])
    await server.post('/indexes/boats/search', { q })
  await server.post('/indexes/boats/search', { q: 'orbit', offset: 10 })
  await server.post('/indexes/boats/search', { q: '' })
  const queries = ['calm', 'orbit'].map((q) => ({ indexUid: 'boats', q }))
  await server.post('/multi-search', { queries })
  await server.post('/multi-search', { queries: [{ indexUid: 'boats', q: 'plugh' }] })
  await server.post('/indexes/boats/search', { q: 'failed', filter: 'speed = 1' })
  const { status, body } = await server.get('/stats/queries')
  t.is(status, 200)
  t.is(body.searches, 9)
  const shown = (name: string): unknown =>
    (body[name] as readonly TestBody[]).map(({ q, count }) => [q, count])
  t.deepEqual(shown('mostFrequent'), [
    ['orbit', 4],
    ['calm', 2],
    ['xyzzy', 2],
    ['plugh', 1],
  ])
  t.deepEqual(shown('withoutHits'), [
    ['xyzzy', 2],
    ['plugh', 1],
  ])
  const slowest = body.slowest as readonly { q: string; averageMs: number; maxMs: number }[]
  t.deepEqual(
    slowest.map(({ maxMs }) => maxMs),
    slowest.map(({ maxMs }) => maxMs).toSorted((a, b) => b - a),
  )
  t.true(slowest.every(({ averageMs, maxMs }) => averageMs > 0 && averageMs <= maxMs))
})

test('query statistics need the option, and a key sees only its indexes', async (t) => {
  checkError(t, await (await startServer(t)).get('/stats/queries'), 400, 'feature_not_enabled')
  const masterKey = 'a-master-key-of-this-test'
  const server = await boats(t, { queryStats: true, masterKey })
  await server.post('/indexes/boats/search', { q: 'orbit' })
  const body = { actions: ['stats.get'], expiresAt: null }
  for (const [indexes, visible] of [
    [['boats'], 1],
    [['*'], 1],
    [['films'], 0],
  ] as const) {
    const { body: key } = await server.post('/keys', { ...body, indexes })
    const headers = { authorization: `Bearer ${key.key}` }
    const answer = (await server.get('/stats/queries', { headers })).body
    t.is((answer.mostFrequent as readonly unknown[]).length, visible, indexes.join())
  }
})

test('clicks are counted with their query, and refused if they cannot be right', async (t) => {
  const server = await boats(t, { queryStats: true })
  await server.post('/indexes/boats/search', { q: 'orbit' })
  const click = (body: object, path = '/indexes/boats/clicks') => server.post(path, body)
  for (const [q, documentId, position] of [
    ['orbit', 1, 0],
    [' Orbit', '2', 3],
    ['orbit', 1, 0],
    ['orbit', 'c', 0],
    ['orbit', 'd', 0],
    ['never searched', 1, 0],
    [' ', 1, 0],
  ] as const)
    t.is((await click({ q, documentId, position })).status, 204, q)
  const figures = { q: 'orbit', count: 1, clicks: 5, averageClickPosition: 0.6, lastClicked: ['d', 'c', '1'] }
  const { mostFrequent, slowest, withoutHits, searches } = (await server.get('/stats/queries')).body
  for (const list of [mostFrequent, slowest] as (readonly TestBody[])[]) {
    t.is(list.length, 1)
    t.like(list[0], figures)
  }
  t.deepEqual([withoutHits, searches], [[], 1])

  const one = { q: 'orbit', documentId: 1, position: 0 }
  for (const [body, code] of [
    [{ ...one, q: 1 }, 'invalid_search_q'],
    [{ ...one, documentId: 'a b' }, 'invalid_document_id'],
    [{ ...one, position: -1 }, 'invalid_click_position'],
    [{ ...one, position: 1_000_001 }, 'invalid_click_position'],
    [{ ...one, user: 'x' }, 'bad_request'],
    [{ q: 'orbit', position: 0 }, 'missing_document_id'],
    [{ q: 'orbit', documentId: 1 }, 'bad_request'],
  ] as const)
    checkError(t, await click(body), 400, code, JSON.stringify(body))
  checkError(t, await click(one, '/indexes/none/clicks'), 404, 'index_not_found')
  checkError(t, await (await boats(t)).post('/indexes/boats/clicks', one), 400, 'feature_not_enabled')
})
