/** Foreign keys: hits with documents of other indexes instead of ids, and filters on those documents. */
import { createHmac } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import { checkError, checkRefusals } from '../support/refusals.js'
import { startServer, type TestBody, type TestServer, type TestServerOptions } from '../support/server.js'

const authors = [
  { id: 'a1', name: 'Alice', country: 'FR', friend: 'a2' },
  { id: 'a2', name: 'Bob', country: 'US', friend: 'a1' },
  { id: 'A3', name: 'Carl', country: 'FR' },
  { id: 7, name: 'Seven', country: 'UK' },
  { id: '007', name: 'Bond', country: 'UK' },
]
/** The document that replaces an id in hits. */
const author = (id: string | number): object => authors.find((one) => one.id === id)!
const [alice, bob, carl] = [author('a1'), author('a2'), author('A3')]

const books = [
  { id: 1, title: 'one', author: 'a1', others: ['a2', 'A3'] },
  { id: 2, title: 'two bob', author: 'a2', others: ['a2', 'zz', 'bad id', 'a1'] },
  { id: 3, title: 'three', author: 7, others: [] },
  { id: 4, title: 'four', author: 'missing' },
  { id: 5, title: 'five', author: null },
  { id: 6, title: 'six', author: 'a3' },
  { id: 7, title: 'seven', author: { id: 'a1' } },
  { id: 8, title: 'eight', meta: { who: 'a1' }, 'meta.who': 'a2' },
  { id: 9, title: 'nine', author: [['a1'], 'a2'] },
  { id: 10, title: 'ten', author: 7.5 },
]

const key = (foreignIndexUid: string, fieldName: string): object => ({ foreignIndexUid, fieldName })
const bookKeys = ['author', 'others', 'meta.who'].map((field) => key('authors', field))

async function put(
  t: ExecutionContext,
  server: TestServer,
  uid: string,
  documents: readonly object[],
  settings: object,
): Promise<void> {
  await server.settle(t, server.patch(`/indexes/${uid}/settings`, settings))
  await server.settle(t, server.post(`/indexes/${uid}/documents?primaryKey=id`, documents))
}

async function library(t: ExecutionContext, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(t, { features: ['foreignKeys'], ...options })
  await put(t, server, 'authors', authors, { filterableAttributes: ['id', 'name', 'country'] })
  await put(t, server, 'books', books, {
    filterableAttributes: ['id', 'author', 'others', 'meta.who', 'title'],
    foreignKeys: bookKeys,
  })
  return server
}

async function hits(server: TestServer, body: object, uid = 'books'): Promise<unknown> {
  const answer = await server.post(`/indexes/${uid}/search`, body)
  return answer.body.hits ?? answer.body.code
}

const idsOf = (body: TestBody): unknown => body.hits?.map(({ id }) => id) ?? body.code

/** A search of books, and its hits. */
const hydrated: readonly (readonly [body: object, hits: readonly object[]])[] = [
  [{ filter: 'id = 1' }, [{ id: 1, title: 'one', author: alice, others: [bob, carl] }]],
  [{ filter: 'id = 2', attributesToRetrieve: ['others'] }, [{ others: [bob, {}, 'bad id', 'a1'] }]],
  [
    { filter: 'id IN [1, 2]', attributesToRetrieve: ['author', 'others'] },
    [
      { author: alice, others: [bob, carl] },
      { author: bob, others: [bob, {}, 'bad id', alice] },
    ],
  ],
  [{ filter: 'id IN [3, 10]', attributesToRetrieve: ['author'] }, [{ author: author(7) }, { author: 7.5 }]],
  [
    { filter: 'id IN [4, 5, 6]', attributesToRetrieve: ['author'] },
    [{ author: {} }, { author: null }, { author: {} }],
  ],
  [{ filter: 'id = 7', attributesToRetrieve: ['author'] }, [{ author: { id: 'a1' } }]],
  [
    { filter: 'id IN [1, 7]', attributesToRetrieve: ['author'] },
    [{ author: alice }, { author: { id: alice } }],
  ],
  [{ filter: 'id = 8' }, [{ id: 8, title: 'eight', meta: { who: alice }, 'meta.who': bob }]],
  [{ filter: 'id = 8', attributesToRetrieve: ['meta'] }, [{ meta: { who: alice } }]],
  [{ filter: 'id = 9', attributesToRetrieve: ['author'] }, [{ author: [['a1'], 'a2'] }]],
  [{ filter: 'id = 1', attributesToRetrieve: ['id', 'author.name'] }, [{ id: 1 }]],
  [{ filter: 'id = 1', attributesToRetrieve: [] }, [{}]],
  [
    {
      q: 'bob',
      attributesToRetrieve: ['title', 'author'],
      attributesToHighlight: ['title', 'author'],
      showMatchesPosition: true,
    },
    [
      {
        title: 'two bob',
        author: bob,
        _formatted: { title: 'two <em>bob</em>', author: bob },
        _matchesPosition: { title: [{ start: 4, length: 3 }] },
      },
    ],
  ],
  [
    {
      q: 'a1',
      filter: 'id = 1',
      attributesToRetrieve: ['author'],
      attributesToHighlight: ['author'],
    },
    [{ author: alice, _formatted: { author: '<em>a1</em>' } }],
  ],
  [
    { filter: 'id = 3', attributesToRetrieve: ['author'], attributesToHighlight: ['author'] },
    [{ author: author(7), _formatted: { author: author(7) } }],
  ],
  [
    { filter: 'id = 1', attributesToRetrieve: ['title'], attributesToHighlight: ['author'] },
    [{ title: 'one', _formatted: { title: 'one', author: 'a1' } }],
  ],
  [{ q: 'Alice' }, []],
]

/** A filter on books, and the ids of its hits. */
const filtered: readonly (readonly [filter: unknown, ids: readonly number[]])[] = [
  ['_foreign(author, name = Alice)', [1, 9]],
  ['_foreign(others, name = Carl)', [1]],
  ['_foreign(author, name = nothing)', []],
  ['_foreign(meta.who, name = Alice)', [8]],
  ['NOT _foreign(others, name = Bob)', [3, 4, 5, 6, 7, 8, 9, 10]],
  ['_foreign(others, name = Bob AND name = Carl)', []],
  ['_foreign(others, name = Bob) AND _foreign(others, name = Carl)', [1]],
  [
    [['_foreign(author, country = UK)', 'id = 1'], 'id < 5'],
    [1, 3],
  ],
  ['_foreign(author, name = Bond)', [3]],
  ['_foreign(author, name = Carl)', [6]],
  ['  ( _foreign("author",\n name = \'Alice\') )', [1, 9]],
  [`${'('.repeat(17)}_foreign(author, ${'('.repeat(18)}name = Alice${')'.repeat(36)}`, [1, 9]],
]

/** An invalid filter, and its error code. */
const mistakes: readonly (readonly [filter: string, code: string])[] = [
  ['_foreign()', 'invalid_search_filter'],
  ['_foreign(author)', 'invalid_search_filter'],
  ['_foreign(author, )', 'invalid_search_filter'],
  ['_foreign(author, name = Alice, x)', 'invalid_search_filter'],
  ['_foreign(author, name)', 'invalid_search_filter'],
  ['_foreign', 'invalid_search_filter'],
  ['_FOREIGN(author, name = Alice)', 'invalid_search_filter'],
  ['_foreign(title, name = x)', 'invalid_search_filter'],
  ['_foreign(author.name, name = x)', 'invalid_search_filter'],
  ['_foreign(author, _foreign(friend, name = Bob))', 'invalid_search_filter'],
  ['_foreign(author, NOT (id = 1 OR _foreign(friend, name = Bob)))', 'invalid_search_filter'],
  ['_foreign(author, friend = a1)', 'invalid_document_filter'],
  ['_foreign(author, name CONTAINS a)', 'feature_not_enabled'],
  [
    `${'('.repeat(18)}_foreign(author, ${'('.repeat(18)}name = Alice${')'.repeat(37)}`,
    'invalid_search_filter',
  ],
]

test('documents that a rule pins pass filters on other indexes', async (t) => {
  const server = await library(t, { features: ['foreignKeys', 'dynamicSearchRules'] })
  const pin = (id: string, position: number) => ({ id, position })
  await server.settle(
    t,
    server.patch('/dynamic-search-rules/x', { actions: { pin: [pin('9', 0), pin('2', 1)] } }),
  )
  const filter = '_foreign(author, name = Alice)'
  t.deepEqual(idsOf((await server.post('/indexes/books/search', { filter })).body), [9, 1])
  const query = { indexUid: 'books', filter }
  const merged = await server.post('/multi-search', { queries: [query, query], federation: {} })
  t.deepEqual(idsOf(merged.body), [9, 1])
  const facets = await server.post('/indexes/books/facet-search', { facetName: 'title', filter })
  t.deepEqual((facets.body.facetHits as readonly { value: string }[]).map(({ value }) => value).sort(), [
    'nine',
    'one',
  ])
})

test('hits show documents instead of the ids of foreign keys', async (t) => {
  const server = await library(t)
  for (const [body, expected] of hydrated) {
    t.deepEqual(await hits(server, body), expected, JSON.stringify(body))
    const [queries, filter] = [[{ indexUid: 'books', ...body }], JSON.stringify(body)]
    const apart = await server.post('/multi-search', { queries })
    t.deepEqual(apart.body.results[0]?.hits, expected, filter)
    const merged = await server.post('/multi-search', { queries, federation: {} })
    t.deepEqual(
      merged.body.hits.map(({ _federation, ...hit }) => hit),
      expected,
      filter,
    )
  }
  const paged = await server.post('/indexes/books/search', { filter: 'id = 1', page: 1 })
  t.deepEqual(paged.body.hits[0]?.author, alice)
  const byGet = await server.get('/indexes/books/search?filter=id%3D1')
  t.deepEqual(byGet.body.hits[0]?.author, alice)
})

test('a federated search replaces ids that any of its queries found', async (t) => {
  const server = await library(t)
  const queries = ['id = 7', 'id = 1'].map((filter) => ({ indexUid: 'books', filter }))
  const apart = await server.post('/multi-search', { queries })
  t.deepEqual(apart.body.results[0]?.hits[0]?.author, { id: 'a1' })
  const merged = await server.post('/multi-search', { queries, federation: {} })
  t.deepEqual(merged.body.hits[0]?.author, { id: alice })
})

test('document lists, facets and similar documents keep their ids', async (t) => {
  const server = await library(t)
  t.deepEqual((await server.get('/indexes/books/documents/1')).body, books[0])
  const fetched = await server.post('/indexes/books/documents/fetch', { filter: 'id = 1' })
  t.deepEqual(fetched.body.results, [books[0]])
  const counted = await server.post('/indexes/books/search', { filter: 'id < 4', facets: ['author'] })
  const { author: counts } = counted.body.facetDistribution as { author: unknown }
  t.deepEqual(counts, { 7: 1, a1: 1, a2: 1 })
})

test('a filter on another index matches documents that refer to the selected ones', async (t) => {
  const server = await library(t)
  for (const [filter, ids] of filtered) {
    const found = await server.post('/indexes/books/search', { filter, attributesToRetrieve: ['id'] })
    t.deepEqual(idsOf(found.body), ids, JSON.stringify(filter))
    const fetched = await server.post('/indexes/books/documents/fetch', { filter })
    t.deepEqual(
      fetched.body.results?.map(({ id }) => id),
      ids,
      JSON.stringify(filter),
    )
  }
  const faceted = { facetName: 'title', filter: '_foreign(author, name = Alice)' }
  const values = await server.post('/indexes/books/facet-search', faceted)
  t.deepEqual(values.body.facetHits, [
    { value: 'nine', count: 1 },
    { value: 'one', count: 1 },
  ])
})

test('an invalid filter on another index is refused with its code', async (t) => {
  const server = await library(t)
  for (const [filter, code] of mistakes)
    checkError(t, await server.post('/indexes/books/search', { filter }), 400, code, filter)
  const filter = '_foreign(author, name = Alice)'
  await checkRefusals(t, server, [
    { path: '/indexes/authors/search', body: { filter }, code: 'invalid_search_filter' },
    { path: '/indexes/books/documents/delete', body: { filter }, code: 'invalid_document_filter' },
    {
      path: '/indexes/books/documents/fetch',
      body: { filter: '_foreign(title, a = 1)' },
      code: 'invalid_search_filter',
    },
    {
      path: '/multi-search',
      body: { queries: [{ indexUid: 'books' }, { indexUid: 'books', filter: '_foreign(title, a = 1)' }] },
      code: 'invalid_search_filter',
      names: '.queries[1]',
    },
  ])
  await server.settle(t, server.put('/indexes/books/settings/filterable-attributes', ['id']))
  await checkRefusals(t, server, [
    {
      path: '/indexes/books/search',
      body: { filter: '_foreign(author, name = nothing)' },
      code: 'invalid_search_filter',
    },
    { path: '/indexes/books/documents/fetch', body: { filter }, code: 'invalid_document_filter' },
  ])
  t.deepEqual(await hits(server, { filter: 'id = 1', attributesToRetrieve: ['author'] }), [{ author: alice }])
})

test('while the feature is off ids stay and filters on other indexes are refused', async (t) => {
  const server = await library(t)
  await server.patch('/experimental-features', { foreignKeys: false })
  t.deepEqual(await hits(server, { filter: 'id = 1' }), [books[0]])
  const [filter, unknown] = ['_foreign(author, name = Alice)', '_foreign(absent, x = 1)']
  await checkRefusals(t, server, [
    { path: '/indexes/books/search', body: { filter }, code: 'feature_not_enabled' },
    { path: '/indexes/books/search', body: { filter: unknown }, code: 'feature_not_enabled' },
    { path: '/indexes/books/search', body: { filter: '_foreign(' }, code: 'invalid_search_filter' },
    { path: '/indexes/books/documents/fetch', body: { filter }, code: 'feature_not_enabled' },
    { path: '/indexes/books/documents/delete', body: { filter }, code: 'feature_not_enabled' },
  ])
})

test('legacy searches replace each id below the field', async (t) => {
  const server = await library(t, { features: ['foreignKeys', 'legacySearch'] })
  const wanted = { filter: 'id IN [2, 7, 9]', attributesToRetrieve: ['author', 'others'] }
  t.deepEqual(await hits(server, wanted), [
    { author: bob, others: [bob, {}, 'bad id', alice] },
    { author: { id: alice } },
    { author: [[alice], bob] },
  ])
})

test('only attributes that the other index displays are shown', async (t) => {
  const server = await library(t)
  const wanted = { filter: 'id = 1', attributesToRetrieve: ['author'] }
  for (const [displayed, shown] of [
    [['name'], { name: 'Alice' }],
    [['absent'], {}],
    [['*'], alice],
  ] as const) {
    await server.settle(t, server.put('/indexes/authors/settings/displayed-attributes', displayed))
    t.deepEqual(await hits(server, wanted), [{ author: shown }])
  }
})

test('documents of other indexes are shown without vectors', async (t) => {
  const server = await library(t)
  await put(t, server, 'authors', [{ id: 'a1', name: 'Alice', _vectors: { old: [1, 2] } }], {})
  const wanted = { filter: 'id = 1', attributesToRetrieve: ['author'], retrieveVectors: true }
  const [hit] = (await hits(server, wanted)) as TestBody[]
  t.deepEqual(hit?.author, { id: 'a1', name: 'Alice' })
})

test('an index may refer to itself, and ids in replaced documents are kept', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  const staff = [
    { id: 1, boss: 2 },
    { id: 2, boss: 1 },
  ]
  await put(t, server, 'staff', staff, {
    filterableAttributes: ['boss'],
    foreignKeys: [key('staff', 'boss')],
  })
  t.deepEqual(await hits(server, {}, 'staff'), [
    { id: 1, boss: staff[1] },
    { id: 2, boss: staff[0] },
  ])
  const found = await server.post('/indexes/staff/search', { filter: '_foreign(boss, boss = 1)' })
  t.deepEqual(idsOf(found.body), [1])
})

test('the second of two foreign keys of a field applies to the documents inserted by the first', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  await put(t, server, 'i1', [{ id: 'a1', v: 1 }], { filterableAttributes: ['v'] })
  await put(t, server, 'i2', [{ id: 'a1', v: 2 }], { filterableAttributes: ['v'] })
  await put(t, server, 'source', [{ id: 1, x: 'a1' }], {
    filterableAttributes: ['x'],
    foreignKeys: [key('i1', 'x'), key('i2', 'x')],
  })
  t.deepEqual(await hits(server, {}, 'source'), [{ id: 1, x: { id: { id: 'a1', v: 2 }, v: 1 } }])
  for (const [filter, ids] of [
    ['_foreign(x, v = 1)', [1]],
    ['_foreign(x, v = 2)', []],
  ] as const)
    t.deepEqual(idsOf((await server.post('/indexes/source/search', { filter })).body), ids)
})

test('a missing index is an error if a hit or filter refers to it', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  await put(t, server, 'source', [{ id: 1, x: 'a1' }, { id: 2 }], {
    filterableAttributes: ['id', 'x'],
    foreignKeys: [key('absent', 'x')],
  })
  const path = '/indexes/source/search'
  const code = 'index_not_found'
  await checkRefusals(t, server, [
    { path, body: {}, code, status: 404 },
    { path, body: { filter: '_foreign(x, a = 1)', limit: 0 }, code, status: 404 },
    { path: '/multi-search', body: { queries: [{ indexUid: 'source' }] }, code, status: 404 },
    { path: '/multi-search', body: { queries: [{ indexUid: 'source' }], federation: {} }, code, status: 404 },
  ])
  for (const body of [{ limit: 0 }, { filter: 'id = 2' }, { attributesToRetrieve: ['id'] }])
    t.is((await server.post(path, body)).status, 200, JSON.stringify(body))
  await server.patch('/experimental-features', { legacySearch: true })
  checkError(t, await server.post(path, { limit: 0 }), 404, code)
})

test('a foreign key follows the name of its index, and cached answers change with its documents', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  await put(t, server, 'authors', [{ id: 'a1', n: 1 }], { filterableAttributes: ['n'] })
  await put(t, server, 'others', [{ id: 'a1', n: 2 }], { filterableAttributes: ['n'] })
  await put(t, server, 'source', [{ id: 1, x: 'a1' }], {
    filterableAttributes: ['x'],
    foreignKeys: [key('authors', 'x')],
  })
  const shown = async (): Promise<unknown> => {
    const answer = await server.post('/indexes/source/search', { filter: '_foreign(x, n > 0)' })
    return answer.body.hits?.[0]?.x ?? answer.body.code
  }
  t.deepEqual(await shown(), { id: 'a1', n: 1 })
  await server.settle(t, server.post('/indexes/authors/documents', [{ id: 'a1', n: 3 }]))
  t.deepEqual(await shown(), { id: 'a1', n: 3 })
  await server.settle(t, server.post('/swap-indexes', [{ indexes: ['authors', 'others'] }]))
  t.deepEqual(await shown(), { id: 'a1', n: 2 })
  await server.settle(t, server.delete('/indexes/authors'))
  t.is(await shown(), 'index_not_found')
  await put(t, server, 'authors', [{ id: 'a1', n: 4 }], { filterableAttributes: ['n'] })
  t.deepEqual(await shown(), { id: 'a1', n: 4 })
  await server.settle(t, server.put('/indexes/source/settings/foreign-keys', []))
  t.deepEqual(await hits(server, {}, 'source'), [{ id: 1, x: 'a1' }])
})

test('filters of a request select at most 1,000 documents of another index', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  const kind = (id: number): string => (id < 600 ? 'l' : id < 1000 ? 'm' : 'n')
  const big = Array.from({ length: 1001 }, (_, id) => ({ id, h: kind(id) }))
  await put(t, server, 'big', big, { filterableAttributes: ['id', 'h'] })
  await put(
    t,
    server,
    'source',
    [10, 700, 1000].map((id) => ({ id, p: id })),
    { filterableAttributes: ['id', 'p'], foreignKeys: [key('big', 'p')] },
  )
  for (const [filter, expected] of [
    ['_foreign(p, h IN [l, m])', [10, 700]],
    ['_foreign(p, h IN [l, m, n])', 'invalid_search_filter'],
    ['_foreign(p, h IN [l, m, n]) AND id = 10', 'invalid_search_filter'],
    ['_foreign(p, h = l) OR _foreign(p, h IN [m, n])', 'invalid_search_filter'],
    ['_foreign(p, h IN [l, m, n] AND id = 10)', [10]],
  ] as const)
    t.deepEqual(idsOf((await server.post('/indexes/source/search', { filter })).body), expected, filter)
  const queries = ['_foreign(p, h = l)', '_foreign(p, h IN [m, n])'].map((filter) => ({
    indexUid: 'source',
    filter,
  }))
  t.is((await server.post('/multi-search', { queries })).status, 200)
  const merged = await server.post('/multi-search', { queries, federation: {} })
  checkError(t, merged, 400, 'invalid_search_filter')
})

test('hits refer to at most 10,000 documents of other indexes', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  await put(t, server, 'big', [{ id: 0 }], {})
  const many = Array.from({ length: 10_001 }, (_, at) => at)
  const documents = [
    { id: 1, p: many.slice(1) },
    { id: 2, p: many },
  ]
  await put(t, server, 'source', documents, {
    filterableAttributes: ['id'],
    foreignKeys: [key('big', 'p')],
  })
  const found = await server.post('/indexes/source/search', { filter: 'id = 1' })
  t.deepEqual(found.body.hits[0]?.p, Array(10_000).fill({}))
  const refused = await server.post('/indexes/source/search', { filter: 'id = 2' })
  t.is(refused.body.code, 'answer_too_large')
})

test('an answer that repeats a document many times is bounded', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  await put(t, server, 'big', [{ id: 0, text: 'x'.repeat(100_000) }], {})
  await put(t, server, 'source', [{ id: 1, p: Array(10_000).fill(0) }], { foreignKeys: [key('big', 'p')] })
  const refused = await server.post('/indexes/source/search', { attributesToRetrieve: ['p'] })
  t.is(refused.body.code, 'answer_too_large')
})

test('an index has at most 100 foreign keys', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  const path = '/indexes/source/settings/foreign-keys'
  const keys = Array.from({ length: 101 }, (_, at) => key('other', `f${at}`))
  t.is((await server.put(path, keys.slice(1))).status, 202)
  checkError(t, await server.put(path, keys), 400, 'invalid_settings_foreign_keys')
})

// ——— rights ———

const masterKey = 'harbour-lantern-4471-xyz'
const uid = '6f1d2a34-9b0c-4e57-8a11-3c5d7e9f0b24'

/** Returns headers with a key for some actions on some indexes. */
async function bearer(server: TestServer, actions: string[], indexes: string[]): Promise<object> {
  const made = await server.post('/keys', { actions, indexes, expiresAt: null })
  return { headers: { authorization: `Bearer ${made.body.key}` } }
}

/** Returns headers with a tenant token. */
async function tenant(server: TestServer, searchRules: unknown): Promise<object> {
  const made = await server.post('/keys', { uid, actions: ['search'], indexes: ['*'], expiresAt: null })
  const { key: secret } = made.status === 201 ? made.body : (await server.get(`/keys/${uid}`)).body
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ apiKeyUid: uid, searchRules })}`
  return {
    headers: {
      authorization: `Bearer ${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`,
    },
  }
}

const alices = { filter: '_foreign(author, name = Alice)' }

test('a key follows foreign keys only to indexes that it may search', async (t) => {
  const server = await library(t, { masterKey })
  const both = await bearer(server, ['search', 'documents.get'], ['books', 'authors'])
  const one = await bearer(server, ['search', 'documents.get'], ['books'])
  const get = await bearer(server, ['documents.get'], ['books', 'authors'])
  const first = { filter: 'id = 1' }
  const path = '/indexes/books/search'
  t.deepEqual((await server.post(path, first, both)).body.hits[0]?.author, alice)
  t.deepEqual((await server.post(path, first, one)).body.hits, [books[0]])
  t.deepEqual(idsOf((await server.post(path, alices, both)).body), [1, 9])
  checkError(t, await server.post(path, alices, one), 403, 'invalid_api_key')
  const federated = { queries: [{ indexUid: 'books', ...alices }], federation: {} }
  checkError(t, await server.post('/multi-search', federated, one), 403, 'invalid_api_key')
  const fetch = '/indexes/books/documents/fetch'
  t.is((await server.post(fetch, alices, both)).status, 200)
  checkError(t, await server.post(fetch, alices, one), 403, 'invalid_api_key')
  checkError(t, await server.post(fetch, alices, get), 403, 'invalid_api_key')
})

test('a key does not learn if a forbidden index exists', async (t) => {
  const server = await library(t, { masterKey })
  const one = await bearer(server, ['search'], ['books'])
  await server.settle(t, server.put('/indexes/books/settings/foreign-keys', [key('absent', 'author')]))
  const found = await server.post('/indexes/books/search', { filter: 'id = 1' }, one)
  t.deepEqual(found.body.hits, [books[0]])
  const refused = await server.post('/indexes/books/search', alices, one)
  checkError(t, refused, 403, 'invalid_api_key')
  t.false(JSON.stringify(refused.body).includes('absent'), 'the other index is not named')
})

test('the filter of a tenant token for the other index hides its documents from hits and filters', async (t) => {
  const server = await library(t, { masterKey })
  const path = '/indexes/books/search'
  const french = await tenant(server, { books: null, authors: { filter: 'country = FR' } })
  const shown = await server.post(path, { filter: 'id = 1' }, french)
  t.deepEqual(shown.body.hits, [{ id: 1, title: 'one', author: alice, others: [{}, carl] }])
  t.deepEqual(idsOf((await server.post(path, alices, french)).body), [1, 9])
  const bobs = { filter: '_foreign(author, name = Bob)' }
  t.deepEqual(idsOf((await server.post(path, bobs, french)).body), [])
  const booksAlone = await tenant(server, ['books'])
  t.deepEqual((await server.post(path, { filter: 'id = 1' }, booksAlone)).body.hits, [books[0]])
  checkError(t, await server.post(path, alices, booksAlone), 403, 'invalid_api_key')
})

test('the filter of a tenant token may follow foreign keys, once', async (t) => {
  const server = await library(t, { masterKey })
  const path = '/indexes/books/search'
  const token = await tenant(server, { books: alices, authors: null })
  t.deepEqual(idsOf((await server.post(path, { filter: 'id < 9' }, token)).body), [1])
  const american = await tenant(server, { books: alices, authors: { filter: 'country = US' } })
  t.deepEqual(idsOf((await server.post(path, {}, american)).body), [])
  const twice = await tenant(server, { books: null, authors: alices })
  checkError(t, await server.post(path, { filter: 'id = 1' }, twice), 400, 'invalid_search_filter')
})

test('a foreign key may end with a dot, and reserved fields cannot be filtered by it', async (t) => {
  const server = await startServer(t, { features: ['foreignKeys'] })
  await put(t, server, 'authors', authors, { filterableAttributes: ['name'] })
  const documents = [
    { id: 1, a: { '': 'a1' } },
    { id: 2, 'a.': 'a2' },
    { id: 3, a: 'A3' },
  ]
  await put(t, server, 'books', documents, {
    filterableAttributes: [{ attributePatterns: ['*'] }],
    foreignKeys: [key('authors', 'a.'), key('authors', '_geo')],
  })
  t.deepEqual(await hits(server, {}), [{ id: 1, a: { '': alice } }, { id: 2, 'a.': bob }, documents[2]])
  const filter = '_foreign(_geo, name = Alice)'
  await checkRefusals(t, server, [
    { path: '/indexes/books/search', body: { filter }, code: 'invalid_search_filter' },
    { path: '/indexes/books/documents/fetch', body: { filter }, code: 'invalid_document_filter' },
  ])
})
