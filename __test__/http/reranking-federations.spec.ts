/** \`rerank\` of federated searches. */
import test, { type ExecutionContext } from 'ava'
import { ApiError } from '../../ts/errors/index.js'
import type { Call, ProviderAnswer } from '../support/provider.js'
import type { TestServer } from '../support/server.js'
import { askedIn, ids, reversed, type World, world } from './reranking-world.js'

interface Library extends World {
  federated(body: object, ...queries: readonly object[]): ReturnType<TestServer['post']>
}

const films = { indexUid: 'films', q: 'film' }
/** Weighted, so that its hits precede the films. */
const books = { indexUid: 'books', q: 'film', federationOptions: { weight: 2 } }
const rerank = { model: 'm', topK: 3 }

/** Films 1 to 5 by words, and the books a and b, with equal scores. Books have another template. */
async function library(
  t: ExecutionContext,
  answer: (call: Call) => ProviderAnswer | null = reversed,
  options: Parameters<typeof world>[2] = {},
): Promise<Library> {
  const made = await world(t, answer, options)
  const { server, provider } = made
  const m = {
    source: 'rest',
    url: `${provider.url}/rank`,
    model: 'x',
    documentTemplate: 'book {{doc.title}}',
  }
  await server.settle(t, server.patch('/indexes/books/settings', { rerankers: { m } }))
  const stored = [
    { id: 'a', title: 'film a' },
    { id: 'b', title: 'film b' },
  ]
  await server.settle(t, server.post('/indexes/books/documents', stored))
  return {
    ...made,
    federated: (federation, ...queries) => server.post('/multi-search', { federation, queries }),
  }
}

test('the first merged hits are in the order of the model, by one request', async (t) => {
  const { federated, provider, server } = await library(t)
  const plain = await federated({ limit: 4 }, films, books)
  t.deepEqual(ids(plain.body), ['a', 'b', 1, 2])
  t.false('rerank' in plain.body)
  const { body } = await federated({ limit: 4, rerank }, films, books)
  t.deepEqual(ids(body), [1, 'b', 'a', 2])
  t.deepEqual(body.rerank, { applied: true, model: 'm', hits: 3 })
  t.deepEqual(body.hits[0], plain.body.hits[2])
  t.is(body.estimatedTotalHits, plain.body.estimatedTotalHits)
  t.is(provider.calls.length, 1)
  t.deepEqual(askedIn(provider.calls[0]!), {
    model: 'x',
    query: 'film',
    documents: ['book film a', 'book film b', 'id: 1\ntitle: film x\nn: 10'],
  })
  t.is(provider.calls[0]?.headers.authorization, 'Bearer key-of-the-model', 'of the index of the first query')
  t.regex(
    (await server.get('/metrics')).bytes.toString(),
    /^siftd_rerank_requests_total\{outcome="applied"\} 1$/m,
  )
})

/** Federation, its queries → ids of the page, members of the answer, text for the model. */
type Page = readonly [object, readonly object[], readonly unknown[], object, string?]
const pages: Readonly<Record<string, Page>> = {
  'by offset': [{ offset: 1, limit: 3 }, [films, books], ['b', 'a', 2], { offset: 1, limit: 3 }],
  'by page': [
    { page: 2, hitsPerPage: 2 },
    [films, books],
    ['a', 2],
    { page: 2, hitsPerPage: 2, totalPages: 4, totalHits: 7 },
  ],
  'smaller than topK': [{ limit: 1 }, [films, books], [1], { offset: 0, limit: 1 }],
  'with few attributes': [
    { limit: 4, facetsByIndex: { films: ['id'] }, mergeFacets: {} },
    [{ ...films, attributesToRetrieve: ['id'] }, books],
    [1, 'b', 'a', 2],
    { limit: 4, facetDistribution: { id: { 1: 1, 2: 1, 3: 1, 4: 1, 5: 1 } } },
  ],
  'without a text in one query': [{ limit: 2 }, [films, { ...books, q: ' ' }], [3, 2], { limit: 2 }],
  'with a text of its own': [
    { limit: 2, rerank: { ...rerank, query: ' of both ' } },
    [films, { ...books, q: 'b' }],
    [2, 1],
    { limit: 2 },
    'of both',
  ],
}
test('pages of a federation are cut from the order of the model', async (t) => {
  const { federated, provider } = await library(t, reversed, { settings: { filterableAttributes: ['id'] } })
  for (const [name, [federation, queries, expected, members, text = 'film']] of Object.entries(pages)) {
    const before = provider.calls.length
    const { body } = await federated({ rerank, ...federation }, ...queries)
    t.deepEqual(ids(body), expected, name)
    t.like(body, members, name)
    t.is(provider.calls.length, before + 1, name)
    const { query, documents } = askedIn(provider.calls.at(-1)!)
    t.is(query, text, name)
    t.true(documents.includes('id: 1\ntitle: film x\nn: 10'), name)
  }
  const called = provider.calls.length
  for (const [federation, queries, reason] of [
    [{ offset: 3 }, [films, books], 'the page has none of the first 3 hits'],
    [{ limit: 0 }, [films], 'the page has none of the first 3 hits'],
    [{}, [{ ...films, q: '' }, { indexUid: 'books' }], 'the search has no query'],
    [{}, [], 'the search has no query'],
  ] as const) {
    const { body } = await federated({ ...federation, rerank }, ...queries)
    t.deepEqual(body.rerank, { applied: false, model: 'm', reason })
  }
  t.is(provider.calls.length, called, 'searches that the model cannot rank call nothing')
})

test('hits of a query have the score of the model only if the query asks for details, and pins stay', async (t) => {
  const { federated, server } = await library(t)
  const detailed = { ...books, showRankingScoreDetails: true }
  const positions = async () => {
    const { body } = await federated({ limit: 4, rerank, showPerformanceDetails: true }, films, detailed)
    t.regex(JSON.stringify(body.performanceDetails), /"search > rerank":"[\d.]+ms"/)
    return body.hits.map(({ id, _rankingScoreDetails: details }) => [
      id,
      (details as { rerank?: object })?.rerank,
    ])
  }
  t.deepEqual(await positions(), [
    [1, undefined],
    ['b', { positionBefore: 1, score: 1 - 1 / 3 }],
    ['a', { positionBefore: 0, score: 1 - 2 / 3 }],
    [2, undefined],
  ])
  const pin = { selector: { id: 'b' }, action: { type: 'pin', position: 0 } }
  await server.settle(t, server.patch('/dynamic-search-rules/r', { actions: [pin] }))
  t.deepEqual(await positions(), [
    ['b', undefined],
    [1, undefined],
    ['a', { positionBefore: 1, score: 1 - 1 / 2 }],
    [2, undefined],
  ])
  const { body } = await federated({ limit: 4, rerank }, films, books)
  t.true(body.hits.every((hit) => !('_rankingScoreDetails' in hit)))
})

const failures: Readonly<Record<string, readonly [ProviderAnswer | null, RegExp]>> = {
  'an error': [{ status: 500, text: 'no' }, /answered with status 500/],
  'no answer within the time limit': [null, /did not answer within/],
  'another object': [{ ranks: [] }, /no list/],
}
test('merged hits keep their order if the service fails, and the answer gives the reason', async (t) => {
  let given: ProviderAnswer | null = null
  const { federated, server } = await library(t, () => given)
  for (const [name, [answer, reason]] of Object.entries(failures)) {
    given = answer
    const timeoutMs = answer === null ? 60 : 30_000
    await server.settle(t, server.patch('/indexes/films/settings/rerankers', { m: { timeoutMs } }))
    const { body } = await federated({ limit: 3, rerank }, films, { ...books, attributesToRetrieve: ['id'] })
    t.deepEqual(ids(body), ['a', 'b', 1], name)
    t.like(body.rerank, { applied: false, model: 'm' }, name)
    t.regex(JSON.stringify(body.rerank), reason, name)
  }
})

/** Federation, queries → code and message. */
const refusals: Readonly<Record<string, readonly [object, readonly object[], string, RegExp]>> = {
  'in a query': [
    {},
    [films, { ...books, rerank }],
    'invalid_search_rerank',
    /queries\[1\].*use `federation.rerank`/,
  ],
  'an index without rerankers': [
    { rerank },
    [films, { indexUid: 'bare', q: 'film' }],
    'invalid_search_rerank_model',
    /`\.federation\.rerank\.model`: index `bare` has no reranker `m`: it has none/,
  ],
  'a misspelt name': [
    { rerank: { model: 'k' } },
    [films],
    'invalid_search_rerank_model',
    /expected one of `m`, `o`/,
  ],
  'another model': [
    { rerank: { model: 'o' } },
    [films, books],
    'invalid_search_rerank_model',
    /rerankers `o` of the indexes `films` and `books` differ/,
  ],
  'other texts': [
    { rerank },
    [films, { ...books, q: '' }, { ...books, q: 'book' }],
    'invalid_search_rerank',
    /`\.queries\[0\]` and `\.queries\[2\]` have different texts.*`\.federation\.rerank\.query`/,
  ],
  'with personalize': [
    { rerank, personalize: { userContext: 'x' } },
    [films],
    'invalid_search_rerank',
    /inside `\.federation`: .*cannot be used together/,
  ],
  'with a remote': [
    { rerank },
    [films, { ...books, federationOptions: { remote: 'far' } }],
    'invalid_search_rerank',
    /queries\[1\].*this instance only/,
  ],
  'no model': [{ rerank: {} }, [films], 'invalid_search_rerank', /model/],
  'too many hits': [{ rerank: { model: 'm', topK: 1001 } }, [films], 'invalid_search_rerank_top_k', /1000/],
  'no hits': [{ rerank: { model: 'm', topK: 0 } }, [films], 'invalid_search_rerank_top_k', /between 1/],
  'a text of another type': [
    { rerank: { model: 'm', query: ['x'] } },
    [films],
    'invalid_search_rerank',
    /query/,
  ],
  'an unknown member': [{ rerank: { model: 'm', top_k: 3 } }, [films], 'invalid_search_rerank', /top_k/],
  'another type': [{ rerank: 'm' }, [films], 'invalid_search_rerank', /rerank/],
}
test('a federation that no model can rank is refused', async (t) => {
  const { federated, provider, server } = await library(t, reversed, {
    features: ['dynamicSearchRules', 'metrics', 'network'],
  })
  await server.settle(t, server.post('/indexes/bare/documents', [{ id: 1, title: 'film' }]))
  const o = { source: 'rest', url: `${provider.url}/rank` }
  await server.settle(t, server.patch('/indexes/films/settings/rerankers', { o: { ...o, model: 'x' } }))
  await server.settle(t, server.patch('/indexes/books/settings/rerankers', { o: { ...o, model: 'y' } }))
  for (const [name, [federation, queries, code, message]] of Object.entries(refusals)) {
    const { status, body } = await federated(federation, ...queries)
    t.deepEqual([status, body.code], [400, code], name)
    t.regex(body.message, message, name)
  }
  t.is(provider.calls.length, 0)
})

test('fields of documents with the names of added members change nothing', async (t) => {
  const { federated, search, server } = await library(t, reversed, {
    settings: { displayedAttributes: ['*'] },
  })
  const own = { _federation: { indexUid: 'ghost' }, _rankingScoreDetails: { pin: { position: 0 } } }
  const stored = [
    { id: 6, title: 'film', ...own },
    { id: 7, title: 'film', ...own, _rankingScoreDetails: 'none' },
  ]
  await server.settle(t, server.post('/indexes/films/documents', stored))
  const pin = { selector: { id: '5' }, action: { type: 'pin', position: 0 } }
  const personalize = { userContext: 'x' }
  for (const actions of [[], [pin]]) {
    await server.settle(t, server.patch('/dynamic-search-rules/r', { actions }))
    const plain = ids((await federated({ limit: 3 }, films)).body)
    const moved = actions.length === 0 ? plain.toReversed() : [plain[0], ...plain.slice(1).toReversed()]
    t.deepEqual(ids((await federated({ limit: 3, rerank }, films)).body), moved)
    t.deepEqual(ids((await federated({ limit: 3, personalize }, films)).body), moved)
    t.deepEqual(ids(await search({ q: 'film', limit: 3, rerank })), moved)
    const { hits } = await search({ q: 'film', limit: 3, personalize })
    t.deepEqual(ids({ hits }), moved)
    t.like(
      hits.find(({ id }) => id === 6),
      own,
    )
  }
})

test('documents that are too large to be read together keep their order', async (t) => {
  let searches = 0
  const { federated } = await library(t, reversed, {
    wrapEngine: (engine) =>
      new Proxy(engine, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (name === 'multiSearch' && ++searches === 2)
            return () => Promise.reject(new ApiError('answer_too_large', 'too large'))
          return typeof value === 'function' ? value.bind(target) : value
        },
      }),
  })
  const { status, body } = await federated({ limit: 2, rerank }, { ...films, attributesToRetrieve: ['id'] })
  t.is(status, 200)
  t.deepEqual(ids(body), [1, 2])
  t.regex(JSON.stringify(body.rerank), /"applied":false.*set a lower `topK`/)
})
