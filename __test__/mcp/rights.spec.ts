import test from 'ava'
import { callTool, connect, keyFor, masterKey, startFilms, tenantToken } from './world.js'

const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
const search = (query: object) => ({ queries: [{ indexUid: 'films', ...query }] })

test('a missing or wrong key is refused with a challenge, for every method', async (t) => {
  const server = await startFilms(t, { masterKey })
  for (const method of ['initialize', 'tools/list', 'server/discover', 'nothing'])
    for (const authorization of [undefined, `Bearer ${'f'.repeat(64)}`, 'Basic YTpi']) {
      const { status, headers, body } = await server.post('/mcp', rpc(method), { headers: { authorization } })
      t.deepEqual([status, headers['www-authenticate']], [401, 'Bearer'], `${method} ${authorization}`)
      t.is(
        body.code,
        authorization?.startsWith('Bearer') ? 'invalid_api_key' : 'missing_authorization_header',
      )
    }
})

test('a key sees the tools that it may use, and a call of another one is refused', async (t) => {
  const server = await startFilms(t, { masterKey, mcpWrites: true })
  const cases: readonly (readonly [readonly string[], readonly string[]])[] = [
    [['search'], ['listIndexes', 'describeIndex', 'searchInIndexes', 'facetSearch', 'explainHit']],
    [['documents.get'], ['getDocuments']],
    [['indexes.get'], ['listIndexes']],
    [
      ['documents.add', 'tasks.get'],
      ['addDocuments', 'getTask'],
    ],
    [['version'], []],
  ]
  for (const [actions, expected] of cases) {
    const client = await connect(t, server, { key: (await keyFor(server, actions)).key })
    t.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      expected,
      actions.join(),
    )
    for (const [name, args] of [
      ['searchInIndexes', search({})],
      ['describeIndex', { indexUid: 'films' }],
      ['getDocuments', { indexUid: 'films', ids: [1] }],
      ['addDocuments', { indexUid: 'films', documents: [{ id: 99 }] }],
      ['deleteDocuments', { indexUid: 'films', ids: [1] }],
      ['updateSettings', { indexUid: 'films', settings: {} }],
    ] as const) {
      if (expected.includes(name)) continue
      const { isError, value } = await callTool(client, name, args)
      t.deepEqual([isError, value.code], [true, 'invalid_api_key'], `${actions} ${name}`)
    }
  }
  t.is((await server.get('/indexes/films/stats')).body.numberOfDocuments, 30)
})

test('a key of some indexes lists, describes and searches only these', async (t) => {
  const server = await startFilms(t, { masterKey })
  await server.settle(t, server.post('/indexes/secrets/documents', [{ id: 1, word: 'hidden' }]))
  const { key } = await keyFor(server, ['search', 'documents.get'], ['films'])
  const client = await connect(t, server, { key })
  const { value } = await callTool(client, 'listIndexes')
  t.deepEqual([value.results.length, value.total, value.results[0].uid], [1, 1, 'films'])
  t.deepEqual(
    (await client.listResources()).resources.map(({ name }) => name),
    ['films'],
  )
  t.false(JSON.stringify(await client.listTools()).includes('secrets'))
  for (const [name, args] of [
    ['describeIndex', { indexUid: 'secrets' }],
    ['searchInIndexes', { queries: [{ indexUid: 'secrets' }] }],
    ['facetSearch', { indexUid: 'secrets', facetName: 'word' }],
    ['getDocuments', { indexUid: 'secrets', ids: [1] }],
    ['explainHit', { indexUid: 'secrets', id: 1 }],
  ] as const) {
    const { isError, text, value: refused } = await callTool(client, name, args)
    t.deepEqual([isError, refused.code], [true, 'invalid_api_key'], name)
    t.false(text.includes('hidden'))
  }
  await t.throwsAsync(client.readResource({ uri: 'siftd://indexes/secrets' }))
})

test('the filter of a tenant token holds for hits, facets, counts, descriptions and explanations', async (t) => {
  const server = await startFilms(t, { masterKey })
  const parent = await keyFor(server, ['search'])
  const token = tenantToken(parent, { films: { filter: 'year < 1990' } })
  for (const era of ['legacy', 'modern'] as const) {
    const client = await connect(t, server, { key: token, era })
    const years = (hits: readonly { year: number }[]) => hits.map(({ year }) => year)
    const { value } = await callTool(client, 'searchInIndexes', search({ limit: 100, facets: ['year'] }))
    const [result] = value.results
    t.true(result.hits.length > 3 && result.hits.length < 30)
    t.true(years(result.hits).every((year) => year < 1990))
    t.true(Object.keys(result.facetDistribution.year).every((year) => Number(year) < 1990))
    const { value: facets } = await callTool(client, 'facetSearch', {
      indexUid: 'films',
      facetName: 'genres',
    })
    const counted = (hits: readonly { value: string; count: number }[]) =>
      hits.find((one) => one.value === 'Drama')?.count
    const drama = await callTool(client, 'searchInIndexes', search({ filter: 'genres = Drama', limit: 0 }))
    t.is(counted(facets.facetHits), drama.value.results[0].estimatedTotalHits)
    const { value: described } = await callTool(client, 'describeIndex', { indexUid: 'films' })
    t.is(described.numberOfDocuments, result.estimatedTotalHits)
    t.true(years(described.sampleDocuments).every((year) => year < 1990))
    t.true(described.fields.find(({ name }: { name: string }) => name === 'year').max < 1990)
    t.is(
      (await callTool(client, 'listIndexes')).value.results[0].numberOfDocuments,
      result.estimatedTotalHits,
    )
    const recent = (await server.post('/indexes/films/search', { filter: 'year > 1990', limit: 1 })).body
      .hits[0]
    const { value: why } = await callTool(client, 'explainHit', { indexUid: 'films', id: recent?.id })
    t.is(why.code, 'document_not_found')
    t.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['listIndexes', 'describeIndex', 'searchInIndexes', 'facetSearch', 'explainHit'],
    )
  }
  const expired = tenantToken({ ...parent, key: 'wrong' }, { films: {} })
  const refused = await server.post('/mcp', rpc('tools/list'), {
    headers: { authorization: `Bearer ${expired}` },
  })
  t.is(refused.status, 401)
})

test('fields that are not displayed are not described', async (t) => {
  const server = await startFilms(t)
  await server.settle(
    t,
    server.put('/indexes/films/settings/displayed-attributes', ['id', 'title', 'genres']),
  )
  const client = await connect(t, server)
  const { value, text } = await callTool(client, 'describeIndex', { indexUid: 'films' })
  t.deepEqual(
    value.fields.map(({ name }: { name: string }) => name),
    ['genres', 'id', 'title'],
  )
  t.deepEqual(value.filterableAttributes, ['genres'])
  t.false(/director|rating|overview/.test(text), text)
})

test('writes need the option and a key that may, and settings are shown before they are changed', async (t) => {
  const server = await startFilms(t, { masterKey, mcpWrites: true })
  const { key } = await keyFor(server, ['search', 'documents.*', 'settings.*', 'tasks.get', 'indexes.*'])
  const client = await connect(t, server, { key })
  const tools = (await client.listTools()).tools
  t.deepEqual(
    tools
      .slice(6)
      .map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]),
    [
      ['addDocuments', false, false],
      ['deleteDocuments', false, true],
      ['updateSettings', false, true],
      ['getTask', true, undefined],
    ],
  )
  const added = await callTool(client, 'addDocuments', {
    indexUid: 'films',
    documents: [{ id: 100, title: 'Zebra Crossing', year: 2020 }],
  })
  t.is(added.value.status, 'succeeded', added.text)
  const updated = await callTool(client, 'addDocuments', {
    indexUid: 'films',
    documents: [{ id: 100, rating: 9 }],
    mode: 'update',
  })
  t.is(updated.value.status, 'succeeded', updated.text)
  const { value: page } = await callTool(client, 'getDocuments', { indexUid: 'films', ids: [100] })
  t.deepEqual(page.results, [{ id: 100, title: 'Zebra Crossing', year: 2020, rating: 9 }])
  const settings = { filterableAttributes: ['year', 'title'] }
  const dry = await callTool(client, 'updateSettings', { indexUid: 'films', settings })
  t.deepEqual(
    dry.value.changes.map(({ setting }: { setting: string }) => setting),
    ['filterableAttributes'],
  )
  t.true((await callTool(client, 'searchInIndexes', search({ filter: 'title = a' }))).isError)
  const wet = await callTool(client, 'updateSettings', { indexUid: 'films', settings, dryRun: false })
  t.is(wet.value.status, 'succeeded', wet.text)
  t.false((await callTool(client, 'searchInIndexes', search({ filter: 'title = a' }))).isError)
  t.is((await callTool(client, 'getTask', { taskUid: wet.value.taskUid })).value.status, 'succeeded')
  const neither = await callTool(client, 'deleteDocuments', { indexUid: 'films' })
  t.regex(neither.text, /either `ids` or `filter`/)
  const deleted = await callTool(client, 'deleteDocuments', { indexUid: 'films', filter: 'year > 2000' })
  t.is(deleted.value.status, 'succeeded', deleted.text)
  t.is((await callTool(client, 'deleteDocuments', { indexUid: 'films', ids: [1] })).value.status, 'succeeded')
  t.is(
    (await callTool(client, 'searchInIndexes', search({ filter: 'year > 2000' }))).value.results[0]
      .estimatedTotalHits,
    0,
  )
  const bad = await callTool(client, 'updateSettings', {
    indexUid: 'films',
    settings: { colour: 1 },
    dryRun: false,
  })
  t.regex(bad.text, /colour/)
})
