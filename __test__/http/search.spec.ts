/**
 * Searches over HTTP. Acceptance cases of operations §21 for searches, and their tests:
 *
 *     28        instance.spec.ts: features are switched separately and are off by default
 *     29–31     remotes.spec.ts: a change of the network keeps unlisted members, and changes nothing if it is invalid
 *     32–33     a federation ranks, pages and counts across all its queries
 *     34        a multi-search answers every query, or is refused completely
 *     35–36     a federation ranks, pages and counts across all its queries
 *     37        remotes.spec.ts: a server that is down, slow or answers garbage does not affect the hits of others
 *     38        remotes.spec.ts: a search of a remote that is unknown or not allowed, or with the feature off, is refused
 *
 * and the traps of http-api §17: pages past the end, codes of bad parameters (kinds of numbers, null, snake case), a
 * multi-search that is refused completely (400 for a missing index), facet search with complete search bodies. The
 * golden cases of `__test__/engine/conformance/golden.ts` test ranking, filtering and formatting of hits.
 */
import test, { type ExecutionContext } from 'ava'
import { checkRefusals } from '../support/refusals.js'
import { startServer, type TestServer } from '../support/server.js'

const path = '/indexes/films/search'
const documents = [
  { id: 1, title: 'Solaris', genre: 'drama', year: 1972 },
  { id: 2, title: 'Stalker', genre: 'drama', year: 1979 },
  { id: 3, title: 'Alien', genre: 'horror', year: 1979 },
]

async function cinema(t: ExecutionContext, options = {}): Promise<TestServer> {
  const server = await startServer(t, options)
  const settings = { filterableAttributes: ['genre', 'year'], sortableAttributes: ['year'] }
  await server.settle(t, server.patch('/indexes/films/settings', settings))
  await server.settle(t, server.post('/indexes/films/documents', documents))
  return server
}

const ids = (body: { readonly hits: readonly { readonly [key: string]: unknown }[] }) =>
  body.hits.map((hit) => hit.id)

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('a search by GET has the same answer as by POST', async (t) => {
  const server = await cinema(t)
  const { body: posted } = await server.post(path, {
    q: 'a',
    filter: ['year = 1979', ['genre = drama', 'genre = horror']],
    sort: ['year:asc'],
    limit: 1,
    attributesToRetrieve: ['id'],
    showRankingScore: true,
    facets: ['genre'],
  })
  const query = new URLSearchParams({
    q: 'a',
    filter: '["year = 1979",["genre = drama","genre = horror"]]',
    sort: 'year:asc',
    limit: '1',
    attributesToRetrieve: 'id',
    showRankingScore: 'true',
    facets: 'genre',
  })
  const { body: asked } = await server.get(`${path}?${query}`)
  for (const { processingTimeMs, requestUid } of [posted, asked]) {
    t.true(Number.isInteger(processingTimeMs) && Number(processingTimeMs) >= 0, String(processingTimeMs))
    t.regex(String(requestUid), uuidV7)
  }
  t.not(asked.requestUid, posted.requestUid)
  const still = ({ processingTimeMs: _time, requestUid: _uid, ...rest }: Record<string, unknown>) => rest
  t.deepEqual(still(asked), still(posted))
  t.deepEqual(Object.keys(posted), [
    'hits',
    'query',
    'processingTimeMs',
    'limit',
    'offset',
    'estimatedTotalHits',
    'facetDistribution',
    'facetStats',
    'requestUid',
  ])
})

test('a search by page has exact totals, a search by offset an estimate', async (t) => {
  const server = await cinema(t)
  const { body: paged } = await server.post(path, { page: 2, hitsPerPage: 2, limit: 9 })
  t.deepEqual([paged.page, paged.hitsPerPage, paged.totalPages, paged.totalHits], [2, 2, 2, 3])
  t.deepEqual(ids(paged), [3])
  t.is((await server.post(path, { hitsPerPage: 2 })).body.page, 1)
  t.is((await server.post(path, { page: 1 })).body.hitsPerPage, 20)
  t.deepEqual(ids((await server.post(path, { offset: 2 })).body), [3])
  t.deepEqual(ids((await server.post(path, { limit: 0 })).body), [])
  t.deepEqual((await server.post(path, { attributesToRetrieve: [] })).body.hits, [{}, {}, {}] as never)
})

test('empty parameters and pages past the end are accepted', async (t) => {
  const server = await cinema(t)
  for (const [body, answer] of [
    [{ limit: 0 }, { limit: 0, estimatedTotalHits: 3 }],
    [{ offset: 3 }, { offset: 3, estimatedTotalHits: 3 }],
    [{ offset: 4_000_000_000 }, { offset: 4_000_000_000, estimatedTotalHits: 3 }],
    [{ page: 0 }, { page: 0, hitsPerPage: 20, totalPages: 1, totalHits: 3 }],
    [{ page: 2 }, { page: 2, totalPages: 1, totalHits: 3 }],
    [{ hitsPerPage: 0 }, { hitsPerPage: 0, totalPages: 0, totalHits: 3 }],
    [{ attributesToSearchOn: [], q: 'solaris' }, { estimatedTotalHits: 0 }],
    [{ filter: [] }, { estimatedTotalHits: 3 }],
    [{ filter: '' }, { estimatedTotalHits: 3 }],
    [{ facets: [], limit: 0 }, { facetDistribution: undefined }],
    [
      { q: '   ', limit: 0 },
      { query: '   ', estimatedTotalHits: 3 },
    ],
  ] as const) {
    const answered = await server.post(path, body)
    t.is(answered.status, 200, JSON.stringify(body))
    t.like(answered.body as object, answer, JSON.stringify(body))
    if (!('filter' in body)) t.deepEqual(answered.body.hits, [], JSON.stringify(body))
  }
  const fields = await server.post(path, { attributesToRetrieve: [], limit: 1 })
  t.deepEqual(fields.body.hits, [{}])
})

test('a search with the metadata header has the metadata of its query', async (t) => {
  const server = await cinema(t)
  for (const [value, isAdded] of [
    ['true', true],
    ['TRUE', true],
    ['1', true],
    ['yes', false],
  ] as const) {
    const { body } = await server.post(path, { q: 'alien' }, { headers: { 'meili-include-metadata': value } })
    t.is('metadata' in body, isAdded, value)
    if (!isAdded) continue
    const { queryUid, ...metadata } = body.metadata as Record<string, unknown>
    t.deepEqual(metadata, { query: 'alien', indexUid: 'films', primaryKey: 'id' })
    t.regex(String(queryUid), uuidV7)
  }
})

test('a bad parameter of a search is refused with a specific code', async (t) => {
  const server = await cinema(t)
  const before = (await server.get('/tasks')).body.total
  const bad: Readonly<Record<string, unknown>> = {
    q: 1,
    offset: -1,
    limit: 1.5,
    page: 'x',
    hitsPerPage: -2,
    attributesToRetrieve: 'id',
    attributesToCrop: ['a', 1],
    cropLength: null,
    cropMarker: 1,
    attributesToHighlight: {},
    highlightPreTag: null,
    highlightPostTag: [],
    showMatchesPosition: 'true',
    filter: true,
    sort: 'year:asc',
    distinct: 1,
    facets: 'genre',
    matchingStrategy: 'most',
    attributesToSearchOn: 'title',
    rankingScoreThreshold: 2,
    locales: ['klingon'],
    vector: ['x'],
    retrieveVectors: 1,
    showRankingScore: 'no',
    showRankingScoreDetails: 0,
    showPerformanceDetails: 'x',
    personalize: 'me',
    rerank: 'm',
    useNetwork: 'x',
  }
  const code = (name: string) =>
    `invalid_search_${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`
  await checkRefusals(
    t,
    server,
    Object.entries(bad).map(([name, value]) => ({
      path,
      body: { [name]: value },
      code: code(name),
      names: `.${name}`,
    })),
  )
  const inQuery: Readonly<Record<string, string>> = {
    offset: '-1',
    limit: '',
    showRankingScore: 'yes',
    matchingStrategy: 'most',
    rankingScoreThreshold: '1.1',
    vector: 'x',
    locales: 'klingon',
    sort: '',
    distinct: '',
    filter: 'true',
    useNetwork: '1',
  }
  await checkRefusals(
    t,
    server,
    Object.entries(inQuery).map(([name, value]) => ({
      method: 'GET',
      path: `${path}?${name}=${value}`,
      code: code(name),
    })),
  )
  await checkRefusals(t, server, [
    { path, body: { limitt: 3 }, code: 'bad_request', names: 'did you mean `limit`' },
    { path, body: { attributes_to_retrieve: [] }, code: 'bad_request', names: 'attributesToRetrieve' },
    { method: 'GET', path: `${path}?hybrid=x`, code: 'bad_request' },
    { path, body: { hybrid: {} }, code: 'invalid_search_hybrid_query' },
    { path, body: { hybrid: { embedder: 1 } }, code: 'invalid_search_embedder' },
    { path, body: { hybrid: { embedder: 'e', semanticRatio: 2 } }, code: 'invalid_search_semantic_ratio' },
    {
      path,
      body: { hybrid: { embedder: 'e', ratio: 1 } },
      code: 'invalid_search_hybrid_query',
      names: '.hybrid',
    },
    { path, body: { vector: [1] }, code: 'missing_search_hybrid' },
    { path, body: { media: {}, vector: [1] }, code: 'invalid_search_media_and_vector' },
    { path, body: { personalize: {} }, code: 'invalid_search_personalize' },
    { path, body: { personalize: { userContext: 'x' } }, code: 'feature_not_enabled' },
    { path, body: { useNetwork: false }, code: 'feature_not_enabled' },
    { method: 'GET', path: `${path}?hybridSemanticRatio=0.5`, code: 'invalid_search_hybrid_query' },
    { method: 'GET', path: `${path}?hybridEmbedder=`, code: 'invalid_search_embedder' },
    { method: 'GET', path: `${path}?vector=1,2`, code: 'missing_search_hybrid' },
    { path, body: { filter: 'year =' }, code: 'invalid_search_filter', names: 'year =' },
    { path, body: { filter: 'title = x' }, code: 'invalid_search_filter', names: 'title' },
    { path, body: { filter: [['a', ['b']]] }, code: 'invalid_search_filter' },
    { path, body: { sort: ['year'] }, code: 'invalid_search_sort' },
    { path, body: { sort: ['title:asc'] }, code: 'invalid_search_sort', names: 'title' },
    { path, body: { facets: ['title'] }, code: 'invalid_search_facets', names: 'title' },
    { path, body: { distinct: 'title' }, code: 'invalid_search_distinct', names: 'title' },
    { path: '/indexes/a%20b/search', body: {}, code: 'invalid_index_uid' },
  ])
  t.is((await server.get('/tasks')).body.total, before)
})

test('facet search accepts complete search bodies and ignores unknown fields', async (t) => {
  const server = await cinema(t)
  const facets = '/indexes/films/facet-search'
  const { body } = await server.post(facets, { facetName: 'genre', facetQuery: 'dr', limit: 1, ghost: true })
  t.deepEqual(body.facetHits, [{ value: 'drama', count: 2 }])
  t.is(body.facetQuery, 'dr')
  await checkRefusals(t, server, [
    { path: facets, body: {}, code: 'missing_facet_search_facet_name' },
    { path: facets, body: { facetName: 1 }, code: 'invalid_facet_search_facet_name' },
    { path: facets, body: { facetName: 'genre', facetQuery: 1 }, code: 'invalid_facet_search_query' },
    { path: facets, body: { facetName: 'title' }, code: 'invalid_facet_search_facet_name' },
    { path: facets, body: { facetName: 'genre', filter: 3 }, code: 'invalid_search_filter' },
    {
      path: facets,
      body: { facetName: 'genre', exhaustiveFacetCount: 1 },
      code: 'invalid_facet_search_exhaustive_facet_count',
    },
  ])
})

test('a request for similar documents without a document or an embedder is refused', async (t) => {
  const server = await cinema(t)
  const similar = '/indexes/films/similar'
  await checkRefusals(t, server, [
    { path: similar, body: {}, code: 'bad_request', names: '`id`' },
    { path: similar, body: { id: 1 }, code: 'bad_request', names: '`embedder`' },
    { path: similar, body: { id: 1.5, embedder: 'e' }, code: 'invalid_similar_id' },
    { path: similar, body: { id: 'a b', embedder: 'e' }, code: 'invalid_similar_id' },
    { path: similar, body: { id: 1, embedder: null }, code: 'invalid_similar_embedder' },
    { path: similar, body: { id: 1, embedder: 'ghost' }, code: 'invalid_similar_embedder', names: 'ghost' },
    { path: similar, body: { id: 1, embedder: 'e', limit: -1 }, code: 'invalid_similar_limit' },
    { method: 'GET', path: `${similar}?id=1&embedder=e&offset=x`, code: 'invalid_similar_offset' },
    { method: 'GET', path: `${similar}?id=1&embedder=e&filter=1`, code: 'invalid_similar_filter' },
    { method: 'GET', path: `${similar}?ghost=1`, code: 'bad_request' },
  ])
})

test('a multi-search answers every query, or is refused completely', async (t) => {
  const server = await cinema(t)
  await server.settle(t, server.post('/indexes/books/documents', [{ id: 1, title: 'Solaris' }]))
  const queries = [
    { indexUid: 'films', q: 'stalker', limit: null },
    { indexUid: 'books', q: 'solaris' },
  ]
  const { body } = await server.post('/multi-search', { queries, federation: null })
  t.deepEqual(
    body.results.map((result) => [result.indexUid, ids(result)]),
    [
      ['films', [2]],
      ['books', [1]],
    ],
  )
  t.is(Object.keys(body.results[0] ?? {})[0], 'indexUid')
  t.deepEqual((await server.post('/multi-search', { queries: [] })).body, { results: [] } as never)
  const multi = (...list: readonly object[]) => ({ path: '/multi-search', body: { queries: list } })
  const federated = (query: object, federation = {}) => ({
    path: '/multi-search',
    body: { federation, queries: [{ indexUid: 'films', ...query }] },
  })
  await checkRefusals(t, server, [
    { path: '/multi-search', body: {}, code: 'bad_request', names: 'queries' },
    { path: '/multi-search', body: { queries: {} }, code: 'bad_request' },
    { ...multi({}), code: 'missing_index_uid' },
    { ...multi({ indexUid: 'a b' }), code: 'invalid_index_uid', names: '.queries[0].indexUid' },
    { ...multi({ indexUid: 'films' }, { indexUid: 'ghost' }), code: 'index_not_found', names: '.queries[1]' },
    { ...multi({ indexUid: 'films', limit: -1 }), code: 'invalid_search_limit', names: '.queries[0].limit' },
    { ...multi({ indexUid: 'films', ghost: 1 }), code: 'bad_request' },
    {
      ...multi({ indexUid: 'films', federationOptions: {} }),
      code: 'invalid_multi_search_federation_options',
    },
    { ...federated({ limit: 20 }), code: 'invalid_multi_search_query_pagination', names: 'federation.limit' },
    { ...federated({ page: 0 }), code: 'invalid_multi_search_query_pagination' },
    {
      ...federated({ facets: ['genre'] }),
      code: 'invalid_multi_search_query_facets',
      names: 'facetsByIndex',
    },
    {
      ...federated({ showPerformanceDetails: false }),
      code: 'invalid_multi_search_query_show_performance_details',
    },
    {
      ...federated({ personalize: { userContext: 'x' } }),
      code: 'invalid_multi_search_query_personalization',
    },
    { ...federated({ distinct: 'genre' }, { distinct: 'genre' }), code: 'invalid_multi_search_distinct' },
    { ...federated({ federationOptions: { weight: -1 } }), code: 'invalid_multi_search_weight' },
    { ...federated({ federationOptions: { ghost: 1 } }), code: 'bad_request' },
    { ...federated({ federationOptions: { remote: 'x' } }), code: 'feature_not_enabled' },
    { ...federated({}, { limit: null }), code: 'invalid_search_limit' },
    { ...federated({}, { facetsByIndex: [] }), code: 'invalid_multi_search_facets_by_index' },
    { ...federated({}, { facetsByIndex: { ghost: [] } }), code: 'index_not_found', names: 'ghost' },
    {
      ...federated({}, { facetsByIndex: { books: ['title'] } }),
      code: 'invalid_search_facets',
      names: '.federation.facetsByIndex.books',
    },
    { ...federated({}, { mergeFacets: { ghost: 1 } }), code: 'invalid_multi_search_merge_facets' },
    {
      ...federated({}, { mergeFacets: { maxValuesPerFacet: 'x' } }),
      code: 'invalid_multi_search_max_values_per_facet',
    },
  ])
})

test('a federated search merges the hits of its queries into one list', async (t) => {
  const server = await cinema(t)
  await server.settle(
    t,
    server.post('/indexes/books/documents?primaryKey=isbn', [{ isbn: 'x', title: 'Solaris' }]),
  )
  const queries = [
    { indexUid: 'films', q: 'solaris', facets: [], limit: null },
    { indexUid: 'books', q: 'solaris', federationOptions: { weight: 2 } },
  ]
  const federation = { facetsByIndex: { films: ['genre'] } }
  const headers = { 'meili-include-metadata': 'true' }
  const { body, status } = await server.post('/multi-search', { queries, federation }, { headers })
  t.is(status, 200, JSON.stringify(body))
  t.deepEqual(
    body.hits.map((hit) => {
      const { indexUid, queriesPosition } = hit._federation as Record<string, unknown>
      return [hit.title, indexUid, queriesPosition]
    }),
    [
      ['Solaris', 'books', 1],
      ['Solaris', 'films', 0],
    ],
  )
  t.deepEqual(
    (body.metadata as readonly Record<string, unknown>[]).map(({ indexUid, primaryKey }) => [
      indexUid,
      primaryKey,
    ]),
    [
      ['films', 'id'],
      ['books', 'isbn'],
    ],
  )
  t.like(body.facetsByIndex as object, { films: { distribution: { genre: { drama: 1 } } } })
  t.deepEqual([body.offset, body.limit, body.estimatedTotalHits], [0, 20, 2])
  const paged = { queries: [{ indexUid: 'films' }], federation: { page: 2, hitsPerPage: 2 } }
  t.like((await server.post('/multi-search', paged)).body, {
    page: 2,
    hitsPerPage: 2,
    totalPages: 2,
    totalHits: 3,
  })
})

test('a federation ranks, pages and counts across all its queries', async (t) => {
  const server = await startServer(t)
  const load = async (uid: string, documents: readonly object[]): Promise<void> => {
    await server.settle(t, server.patch(`/indexes/${uid}/settings`, { filterableAttributes: ['colour'] }))
    await server.settle(t, server.post(`/indexes/${uid}/documents`, documents))
  }
  await load('plants', [
    { id: 1, name: 'red fern', colour: 'red' },
    { id: 4, name: 'fern', colour: ['red', 'blue'] },
  ])
  await load('birds', [
    { id: 1, name: 'fern wren', colour: 'red' },
    { id: 4, name: 'fern', colour: ['red'] },
    { id: 7, name: 'fern owl', colour: 'red' },
  ])
  const ask = async (queries: readonly object[], federation: object = {}) => {
    const answer = await server.post('/multi-search', { federation, queries })
    t.is(answer.status, 200, answer.bytes.toString())
    const hits = answer.body.hits.map((hit) => {
      const { indexUid, queriesPosition, weightedRankingScore } = hit._federation as Record<string, unknown>
      return { place: [indexUid, hit.id, queriesPosition], score: Number(weightedRankingScore) }
    })
    return {
      body: answer.body,
      places: hits.map(({ place }) => place),
      scores: hits.map(({ score }) => score),
    }
  }
  const fern = (indexUid: string, weight = 1) => ({ indexUid, q: 'fern ', federationOptions: { weight } })

  const twice = await ask([fern('plants'), fern('plants', 0.5)])
  t.deepEqual(twice.places, [
    ['plants', 4, 0],
    ['plants', 1, 0],
  ])
  t.is(twice.body.estimatedTotalHits, 2)
  const weighed = await ask([fern('plants'), fern('birds', 10)])
  t.deepEqual(
    weighed.places.map(([index]) => index),
    ['birds', 'birds', 'birds', 'plants', 'plants'],
  )
  t.is(weighed.scores[0], 10)
  const equal = await ask([fern('plants'), fern('birds')])
  t.deepEqual(equal.places.slice(0, 2), [
    ['plants', 4, 0],
    ['birds', 4, 1],
  ])
  t.is((await ask([fern('plants', 0)])).scores[0], 0)

  const both = [fern('plants'), fern('birds')]
  const window = await ask(both, { limit: 2, offset: 1 })
  t.deepEqual(window.places, equal.places.slice(1, 3))
  t.like(window.body, { limit: 2, offset: 1, estimatedTotalHits: 5 })
  const page = await ask(both, { hitsPerPage: 3, page: 2 })
  t.deepEqual(page.places, equal.places.slice(3))
  t.like(page.body, { hitsPerPage: 3, page: 2, totalPages: 2, totalHits: 5 })
  t.like((await ask(both, { page: 0 })).body, { hits: [], page: 0, totalHits: 5 })
  t.like((await ask(both, { hitsPerPage: 0 })).body, { hits: [], totalPages: 0 })
  t.like((await ask(both, { limit: 0 })).body, { hits: [], estimatedTotalHits: 5 })

  const facetsByIndex = { plants: ['colour'], birds: ['colour'] }
  const { body: merged } = await ask(both, { facetsByIndex, mergeFacets: {} })
  t.deepEqual(merged.facetDistribution, { colour: { blue: 1, red: 5 } })
  t.false('facetsByIndex' in merged)
  const { body: apart } = await ask(both, { facetsByIndex })
  t.deepEqual(apart.facetsByIndex, {
    plants: { distribution: { colour: { blue: 1, red: 2 } }, stats: {} },
    birds: { distribution: { colour: { red: 3 } }, stats: {} },
  })
})
