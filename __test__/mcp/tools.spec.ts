import test from 'ava'
import { callTool, connect, filmSettings, startFilms } from './world.js'

const readTools = [
  'listIndexes',
  'describeIndex',
  'searchInIndexes',
  'facetSearch',
  'getDocuments',
  'explainHit',
]

for (const era of ['legacy', 'modern'] as const) {
  test(`the ${era} client lists the tools twice with equal bytes`, async (t) => {
    const server = await startFilms(t)
    const client = await connect(t, server, { era })
    const first = await client.listTools()
    t.deepEqual(
      first.tools.map(({ name }) => name),
      readTools,
    )
    for (const { inputSchema, annotations } of first.tools) {
      t.is(inputSchema.type, 'object')
      t.is(inputSchema.additionalProperties, false)
      t.deepEqual(annotations, { readOnlyHint: true, openWorldHint: false })
    }
    t.is(JSON.stringify((await client.listTools()).tools), JSON.stringify(first.tools))
    t.is(client.getServerVersion()?.name, 'siftd')
    t.regex(client.getInstructions() ?? '', /describeIndex/)
  })

  test(`a search of the ${era} client gives the answer of POST /multi-search`, async (t) => {
    const server = await startFilms(t)
    const client = await connect(t, server, { era })
    const queries = [{ indexUid: 'films', q: 'atlas', facets: ['genres'] }]
    const { value, text } = await callTool(client, 'searchInIndexes', { queries })
    const direct = (await server.post('/multi-search', { queries })).body
    const withoutTimes = (answer: object) =>
      JSON.parse(
        JSON.stringify(answer, (name, one) => (/Ms$|Uid$/.test(name) && name !== 'indexUid' ? 0 : one)),
      )
    t.deepEqual(withoutTimes(value), withoutTimes(direct))
    t.deepEqual(JSON.parse(text), value)
  })
}

test('the description of an index has types, ranges, values and filters that work', async (t) => {
  const server = await startFilms(t)
  const client = await connect(t, server)
  const { value } = await callTool(client, 'describeIndex', { indexUid: 'films' })
  t.is(value.uid, 'films')
  t.is(value.primaryKey, 'id')
  t.is(value.numberOfDocuments, 30)
  t.deepEqual([...value.filterableAttributes].sort(), [...filmSettings.filterableAttributes].sort())
  t.deepEqual([...value.sortableAttributes].sort(), [...filmSettings.sortableAttributes].sort())
  t.deepEqual([...value.searchableAttributes].sort(), [...filmSettings.searchableAttributes].sort())
  const fields = new Map(value.fields.map((field: { name: string }) => [field.name, field]))
  t.deepEqual(fields.get('title'), { name: 'title', type: 'string' })
  t.is((fields.get('genres') as { type: string }).type, 'array of string')
  t.like(fields.get('year'), { type: 'number', min: 1926 })
  t.true(value.facets.genres.includes('Drama'))
  t.is(value.facets.genres.length, 10)
  t.is(value.sampleDocuments.length, 3)
  t.true(value.filterExamples.length >= 4)
  for (const filter of value.filterExamples) {
    const found = await callTool(client, 'searchInIndexes', { queries: [{ indexUid: 'films', filter }] })
    t.false(found.isError, found.text)
    t.true(found.value.results[0].estimatedTotalHits > 0, filter)
  }
  for (const sort of value.sortExamples)
    t.false(
      (await callTool(client, 'searchInIndexes', { queries: [{ indexUid: 'films', sort: [sort] }] })).isError,
    )
  t.deepEqual((await callTool(client, 'describeIndexes', { indexUid: 'films' })).value, value)
})

test('the other tools answer as their routes', async (t) => {
  const server = await startFilms(t)
  const client = await connect(t, server)
  const { value: facets } = await callTool(client, 'facetSearch', {
    indexUid: 'films',
    facetName: 'genres',
    facetQuery: 'dra',
  })
  t.is(facets.facetHits[0].value, 'Drama')
  await server.settle(t, server.post('/indexes', { uid: 'other' }))
  const { value: list } = await callTool(client, 'listIndexes', { limit: 1 })
  t.deepEqual([list.results.length, list.total], [1, 2])
  const all = (await callTool(client, 'listIndexes')).value.results
  t.deepEqual(
    all.map(({ uid, numberOfDocuments }: Record<string, unknown>) => [uid, numberOfDocuments]),
    [
      ['films', 30],
      ['other', 0],
    ],
  )
  const { value: page } = await callTool(client, 'getDocuments', { indexUid: 'films', ids: [2, '3', 999] })
  t.deepEqual(
    page.results.map(({ id }: Record<string, unknown>) => id),
    [2, 3],
  )
  const { value: why } = await callTool(client, 'explainHit', {
    indexUid: 'films',
    id: 2,
    q: 'salt',
    filter: 'year > 2000',
  })
  t.false(why.isHit)
  t.is(why.reasons[0].kind, 'filter')
})

test('mistakes are answers that name the mistake and the next call', async (t) => {
  const server = await startFilms(t)
  const client = await connect(t, server)
  const search = (query: object) =>
    ['searchInIndexes', { queries: [{ indexUid: 'films', ...query }] }] as const
  const cases: readonly (readonly [string, object, string, RegExp])[] = [
    ['searchInIndexes', {}, 'bad_request', /queries/],
    ['searchInIndexes', { queries: [{ indexUid: 'nope' }] }, 'index_not_found', /nope.*listIndexes/s],
    [...search({ filter: 'title = a' }), 'invalid_search_filter', /title.*genres.*describeIndex/s],
    [...search({ filter: 'genres = ' }), 'invalid_search_filter', /describeIndex/],
    [...search({ sort: ['title:asc'] }), 'invalid_search_sort', /title.*describeIndex/s],
    [...search({ facets: ['title'] }), 'invalid_search_facets', /title/],
    [...search({ colour: 1 }), 'bad_request', /colour/],
    [...search({ limit: 100_000 }), 'bad_request', /limit.*200/],
    ['searchInIndexes', { queries: Array(51).fill({ indexUid: 'films' }) }, 'bad_request', /51.*50/],
    [
      'facetSearch',
      { indexUid: 'films', facetName: 'title' },
      'invalid_facet_search_facet_name',
      /title.*genres/s,
    ],
    ['facetSearch', { indexUid: 'films', facetName: 'genres', fq: 1 }, 'bad_request', /`fq`.*facetQuery/],
    ['facetSearch', { indexUid: 'films' }, 'missing_facet_search_facet_name', /facetName/],
    ['describeIndex', {}, 'bad_request', /indexUid/],
    ['describeIndex', { indexUid: '..' }, 'bad_request', /`\.\.` is not the uid of an index/],
    ['describeIndex', { indexUid: '../keys' }, 'invalid_index_uid', /listIndexes/],
    ['getDocuments', { indexUid: 'films', ids: 3 }, 'bad_request', /ids/],
    ['explainHit', { indexUid: 'films', id: 999 }, 'document_not_found', /999/],
    ['addDocuments', { indexUid: 'films', documents: [] }, 'feature_not_enabled', /--mcp-writes/],
  ]
  for (const [name, args, code, message] of cases) {
    const answer = await callTool(client, name, args)
    t.true(answer.isError, `${name} ${JSON.stringify(args)}: ${answer.text}`)
    t.is(answer.value.code, code, `${name}: ${answer.text}`)
    t.regex(answer.text, message)
  }
  const error = await t.throwsAsync(callTool(client, 'dropEverything'))
  t.is((error as unknown as { code: number }).code, -32602)
  t.regex(error?.message ?? '', /dropEverything.*listIndexes/)
})

test('a long answer is cut at a hit and says so', async (t) => {
  const server = await startFilms(t)
  const text = 'é'.repeat(4_000)
  const documents = Array.from({ length: 40 }, (_, id) => ({ id, text }))
  await server.settle(t, server.post('/indexes/long/documents', documents))
  const client = await connect(t, server)
  const queries = [
    { indexUid: 'long', limit: 40 },
    { indexUid: 'films', limit: 3 },
  ]
  const { value, text: shown } = await callTool(client, 'searchInIndexes', { queries })
  t.true(Buffer.byteLength(shown) <= 65_536, `${Buffer.byteLength(shown)} bytes`)
  t.true(Buffer.byteLength(shown) > 50_000, `${Buffer.byteLength(shown)} bytes`)
  const [long, films] = value.results
  t.is(long.hits.length, 8)
  t.is(long.hits[7].text, text)
  t.is(films.hits.length, 3)
  t.regex(value.truncated, /32 of the last items.*attributesToRetrieve/)
})

test('resources describe the indexes', async (t) => {
  const server = await startFilms(t)
  for (const era of ['legacy', 'modern'] as const) {
    const client = await connect(t, server, { era })
    const { resources } = await client.listResources()
    t.deepEqual(
      resources.map(({ uri, mimeType }) => [uri, mimeType]),
      [['siftd://indexes/films', 'application/json']],
    )
    const { contents } = await client.readResource({ uri: 'siftd://indexes/films' })
    const [{ text = '' } = {}] = contents as readonly { readonly text?: string }[]
    t.deepEqual(JSON.parse(text), (await server.get('/indexes/films/description')).body)
    t.is(
      (await client.listResourceTemplates()).resourceTemplates[0]?.uriTemplate,
      'siftd://indexes/{indexUid}',
    )
    t.deepEqual((await client.listPrompts()).prompts, [])
    for (const uri of ['siftd://indexes/nope', 'file:///etc/passwd', 'siftd://indexes/..%2Fkeys']) {
      const error = await t.throwsAsync(client.readResource({ uri }))
      t.is((error as unknown as { code: number }).code, -32602, uri)
    }
  }
})
