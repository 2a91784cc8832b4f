/** Limits of a single search: queries, tags, lists and searches of a request are bounded before they are processed. */
import test from 'ava'
import { checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const path = '/indexes/films/search'

test('the first 64 KiB of a query count, on every route', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.put('/indexes/films/settings/filterable-attributes', ['title']))
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, title: 'Solaris' }]))
  // The excluded word fills the rest of the limit, so `ghost`, which no document has, does not count.
  const q = `solaris -${'y'.repeat(100_000)} ghost`
  const query = { q, matchingStrategy: 'all' }
  const { body } = await server.post(path, query)
  t.deepEqual(body.hits, [{ id: 1, title: 'Solaris' }])
  t.is(Buffer.byteLength(String(body.query)), 65_536)
  const multi = await server.post('/multi-search', { queries: [{ indexUid: 'films', ...query }] })
  t.is(multi.body.results[0]?.hits.length, 1)
  const federated = await server.post('/multi-search', {
    federation: {},
    queries: [{ indexUid: 'films', ...query }],
  })
  t.is(federated.body.hits.length, 1)
  const facets = await server.post('/indexes/films/facet-search', { facetName: 'title', ...query })
  t.is((facets.body.facetHits as readonly unknown[]).length, 1)
})

test('a query is cut between characters', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, title: 'Solaris' }]))
  const { body } = await server.post(path, { q: `a${'😀'.repeat(30_000)}` })
  t.is(body.query, `a${'😀'.repeat(16_383)}`)
})

test('a facet query longer than any value finds none', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.put('/indexes/films/settings/filterable-attributes', ['title']))
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, title: 'a'.repeat(600) }]))
  const found = async (facetQuery: string): Promise<number> =>
    (
      (await server.post('/indexes/films/facet-search', { facetName: 'title', facetQuery })).body
        .facetHits as readonly unknown[]
    ).length
  t.is(await found('a'.repeat(468)), 1)
  t.is(await found('a'.repeat(1_000)), 0)
  t.is(await found('a'.repeat(2_000_000)), 0)
})

test('tags, lists and searches beyond their limits are refused by the code of their field', async (t) => {
  const server = await startServer(t, { features: ['network'] })
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, title: 'Solaris' }]))
  const tag = 'x'.repeat(1_025)
  const names = Array.from({ length: 1_001 }, () => 'title')
  const fields = {
    highlightPreTag: ['invalid_search_highlight_pre_tag', tag],
    highlightPostTag: ['invalid_search_highlight_post_tag', tag],
    cropMarker: ['invalid_search_crop_marker', tag],
    attributesToRetrieve: ['invalid_search_attributes_to_retrieve', names],
    attributesToCrop: ['invalid_search_attributes_to_crop', names],
    attributesToHighlight: ['invalid_search_attributes_to_highlight', names],
    attributesToSearchOn: ['invalid_search_attributes_to_search_on', names],
    facets: ['invalid_search_facets', names],
    sort: ['invalid_search_sort', names.map((name) => `${name}:asc`)],
    locales: ['invalid_search_locales', names.map(() => 'eng')],
  } as const
  await checkRefusals(
    t,
    server,
    Object.entries(fields).flatMap(([name, [code, value]]) => [
      { path, body: { [name]: value }, code },
      { path: '/multi-search', body: { queries: [{ indexUid: 'films', [name]: value }] }, code },
    ]),
  )
  const query = { indexUid: 'films' }
  await checkRefusals(t, server, [
    {
      path: '/multi-search',
      body: { queries: Array.from({ length: 1_001 }, () => query) },
      code: 'bad_request',
    },
    {
      path: '/multi-search',
      body: { federation: { facetsByIndex: { films: names } }, queries: [query] },
      code: 'invalid_multi_search_facets_by_index',
    },
    { path: '/indexes/films/documents/fetch', body: { fields: names }, code: 'invalid_document_fields' },
    {
      path: '/indexes/films/similar',
      body: { id: 1, embedder: 'e', attributesToRetrieve: names },
      code: 'invalid_similar_attributes_to_retrieve',
    },
  ])
  const most = await server.post('/multi-search', { queries: Array.from({ length: 1_000 }, () => query) })
  t.is(most.body.results.length, 1_000)
  t.is((await server.post(path, { highlightPreTag: 'x'.repeat(1_024) })).status, 200)
})

test('an answer larger than 64 MB is refused, search by search and merged', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.put('/indexes/films/settings/filterable-attributes', ['id']))
  const text = 'ab '.repeat(40_000)
  const documents = Array.from({ length: 3 }, (_, id) => ({ id, text }))
  await server.settle(t, server.post('/indexes/films/documents', documents))
  const tag = 'x'.repeat(1_000)
  const marked = { q: 'ab', attributesToHighlight: ['text'], highlightPreTag: tag, highlightPostTag: tag }
  const query = { indexUid: 'films', attributesToRetrieve: ['text'], limit: 3 }
  const { limit: _, ...federated } = query
  const code = 'answer_too_large'
  await checkRefusals(t, server, [
    { path, body: marked, code },
    { path: '/multi-search', body: { queries: Array.from({ length: 300 }, () => query) }, code },
    { path: '/multi-search', body: { federation: {}, queries: [{ ...federated, ...marked }] }, code },
  ])
  const fits = { ...marked, highlightPreTag: '<b>', highlightPostTag: '</b>' }
  t.is((await server.post(path, fits)).body.hits.length, 3)
})

test('a listing of documents larger than 64 MB is refused, and what fits is answered', async (t) => {
  const server = await startServer(t)
  const text = 'x'.repeat(10_000_000)
  const documents = Array.from({ length: 7 }, (_, id) => ({ id, text }))
  await server.settle(t, server.put('/indexes/films/settings/searchable-attributes', ['id']))
  await server.settle(t, server.post('/indexes/films/documents', documents))
  await checkRefusals(t, server, [
    { path: '/indexes/films/documents/fetch', body: { limit: 7 }, code: 'answer_too_large' },
  ])
  t.is((await server.get('/indexes/films/documents?limit=6')).body.results.length, 6)
})

test('a filter of 100,000 values is answered, of more it is refused', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.put('/indexes/films/settings/filterable-attributes', ['id']))
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1 }]))
  const list = (length: number): string => `id IN [${Array.from({ length }, (_, at) => at).join()}]`
  const { body } = await server.post(path, { filter: list(99_999) })
  t.is(body.hits.length, 1)
  const refused = [list(100_000), [list(50_000), list(50_000)], [[list(50_000), list(50_000)]]]
  for (const filter of refused) {
    const answer = await server.post(path, { filter })
    t.is(answer.body.code, 'invalid_search_filter')
    t.true(answer.body.message.length < 3_000)
  }
})

test('matches of a long text are cropped and located in time that grows with their number', async (t) => {
  const server = await startServer(t)
  // Each match was once compared with all others of the window, and located from the beginning of the text.
  const matches = 150_000
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, text: 'éb cd '.repeat(matches) }]))
  const cropped = { attributesToCrop: ['text'], cropLength: matches, attributesToRetrieve: ['id'] }
  const { body } = await server.post(path, { q: 'eb', showMatchesPosition: true, ...cropped })
  const hit = body.hits[0]
  if (hit === undefined) return t.fail()
  const { text } = hit._matchesPosition as { readonly text: readonly unknown[] }
  t.is(text.length, matches)
  t.deepEqual(text.at(-1), { start: (matches - 1) * 7, length: 3 })
  const formatted = hit._formatted as { readonly text: string }
  t.is(formatted.text.split(' ').filter(Boolean).length, matches)
})
