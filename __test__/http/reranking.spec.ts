import test from 'ava'
import type { SearchRequest } from '../../ts/engine/index.js'
import { DisconnectSignal } from '../../ts/operations/index.js'
import { personalized } from '../../ts/operations/searches/reordering/personalize.js'
import { rerankingOf } from '../../ts/operations/searches/reordering/rerank.js'
import type { Rerankers } from '../../ts/reranking/index.js'
import type { Call, ProviderAnswer } from '../support/provider.js'
import type { TestBody } from '../support/server.js'
import { type Asked, askedIn, ids, reversed, world } from './reranking-world.js'

const status = (code: number): ProviderAnswer => ({ status: code, text: '{"message":"no"}' })

/** The request with the numbers of JavaScript. */
const rounded = (call: Call): Asked => ({
  ...askedIn(call),
  documents: askedIn(call).documents.map((text) => JSON.stringify(JSON.parse(text))),
})

const rerank = { model: 'm', topK: 3 }

test('a search with rerank has its first hits in the order of the model', async (t) => {
  const { server, provider } = await world(t, reversed)
  const plain = await server.post('/indexes/films/search', { q: 'film', limit: 5 })
  t.deepEqual(ids(plain.body), [1, 2, 3, 4, 5])
  t.false('rerank' in plain.body)
  t.is(provider.calls.length, 0)

  const answer = await server.post('/indexes/films/search', { q: ' film', limit: 5, rerank })
  t.deepEqual(ids(answer.body), [3, 2, 1, 4, 5])
  t.deepEqual(answer.body.rerank, { applied: true, model: 'm', hits: 3 })
  const [third = 'none'] = /"n":12345[^}]*/.exec(plain.bytes.toString()) ?? []
  t.true(answer.bytes.includes(third), `${third} is unchanged`)
  t.is(answer.body.estimatedTotalHits, 5)
  const [call] = provider.calls
  t.is(call?.headers.authorization, 'Bearer key-of-the-model')
  t.deepEqual(
    call?.body,
    {
      model: 'x',
      query: 'film',
      documents: [
        'id: 1\ntitle: film x\nn: 10',
        'id: 2\ntitle: film x x\nn: 20',
        'id: 3\ntitle: film x x x\nn: 12345678901234567000',
      ],
    } as object,
    'the best three hits without the hidden field',
  )
  t.regex(
    (await server.get('/metrics')).bytes.toString(),
    /^siftd_rerank_requests_total\{outcome="applied"\} 1$/m,
  )
})

/** Parameters → ids of the page. */
const pages: Readonly<Record<string, readonly [object, readonly number[], object]>> = {
  'by offset': [{ offset: 1, limit: 3 }, [2, 1, 4], { offset: 1, limit: 3 }],
  'by page': [{ page: 2, hitsPerPage: 2 }, [1, 4], { page: 2, hitsPerPage: 2, totalPages: 3, totalHits: 5 }],
  'smaller than topK': [{ limit: 1 }, [3], { offset: 0, limit: 1 }],
  'with other attributes': [{ attributesToRetrieve: ['id'], limit: 3 }, [3, 2, 1], { limit: 3 }],
}
test('pages are cut from the order of the model', async (t) => {
  const { provider, search } = await world(t, reversed)
  for (const [name, [paging, expected, members]] of Object.entries(pages)) {
    const body = await search({ q: 'film', rerank, ...paging })
    t.deepEqual(ids(body), expected, name)
    t.like(body, members, name)
    t.regex(JSON.stringify(provider.calls.at(-1)?.body), /title: film x x x/, name)
  }
  const { hits } = await search({ q: 'film', limit: 4, rerank, showRankingScoreDetails: true })
  t.deepEqual(
    hits.map(({ _rankingScoreDetails: details }) => (details as TestBody).rerank),
    [
      { positionBefore: 2, score: 1 },
      { positionBefore: 1, score: 1 - 1 / 3 },
      { positionBefore: 0, score: 1 - 2 / 3 },
      undefined,
    ],
  )
  const timed = await search({ q: 'film', rerank, showPerformanceDetails: true })
  t.regex(JSON.stringify(timed.performanceDetails), /"search > rerank":"[\d.]+ms"/)
  const called = provider.calls.length
  for (const [asked, reason] of [
    [{ q: '' }, 'the search has no query'],
    [{ q: 'film', offset: 3 }, 'the page has none of the first 3 hits'],
    [{ q: 'film', limit: 0 }, 'the page has none of the first 3 hits'],
  ] as const)
    t.deepEqual((await search({ ...asked, rerank })).rerank, { applied: false, model: 'm', reason })
  t.is(provider.calls.length, called, 'searches that the model cannot rank call nothing')
})

/** Answer of the service → ids and reason. */
const failures: Readonly<Record<string, readonly [ProviderAnswer | null, RegExp, number]>> = {
  'an error': [status(500), /answered with status 500/, 3],
  'a refused key': [status(401), /answered with status 401/, 1],
  'no answer within the time limit': [null, /did not answer within/, 1],
  'no JSON': [{ status: 200, text: 'hello' }, /unknown body/, 1],
  'a position out of range': [{ results: [{ index: 3, relevance_score: 1 }] }, /`index` must be below 3/, 1],
  'a position twice': [{ results: [{ index: 0 }, { index: 0 }] }, /occurs twice/, 1],
  'another object': [{ ranks: [] }, /no list/, 1],
}
test('hits keep their order if the service fails, and the answer gives the reason', async (t) => {
  let given: ProviderAnswer | null = null
  const { server, provider, search } = await world(t, () => given)
  for (const [name, [answer, reason, calls]] of Object.entries(failures)) {
    given = answer
    const before = provider.calls.length
    const timeoutMs = answer === null ? 60 : 30_000
    await server.settle(t, server.patch('/indexes/films/settings/rerankers', { m: { timeoutMs } }))
    const body = await search({ q: 'film', limit: 2, rerank })
    t.deepEqual(ids(body), [1, 2], name)
    const { applied, reason: found } = body.rerank as { applied: boolean; reason: string }
    t.false(applied)
    t.regex(found, reason, name)
    if (answer !== null) t.is(provider.calls.length - before, calls, name)
  }
})

test('a service beyond the address policy is not called', async (t) => {
  const { provider, search } = await world(t, reversed, { allowedNetworks: [] })
  t.regex(JSON.stringify((await search({ q: 'film', rerank })).rerank), /not public/)
  t.is(provider.calls.length, 0)
})

const forms: Readonly<Record<string, readonly [object, (call: Call) => ProviderAnswer, RegExp]>> = {
  'Voyage: data': [
    { source: 'voyage' },
    () => ({ data: [{ index: 1, relevance_score: 0.9 }] }),
    /"documents":/,
  ],
  'Text Embeddings Inference: a list, texts': [
    { source: 'tei', model: null },
    () => [{ index: 1, score: 0.9 }],
    /^\{"query":"film","texts":\["a","b"\],"truncate":true\}$/,
  ],
  'unsorted scores': [
    { source: 'cohere', model: 'x' },
    () => ({
      results: [
        { index: 0, relevance_score: 0.1 },
        { index: 1, relevance_score: 0.9 },
      ],
    }),
    /"model":"x"/,
  ],
}
test('services differ in their bodies', async (t) => {
  let answer: (call: Call) => ProviderAnswer = reversed
  const documentTemplate =
    '{% if doc.id == 1 %}a{% elsif doc.id == 2 %}b{% else %}{{ doc.ghost.x | divided_by: 0 }}{% endif %}'
  const { server, provider, search } = await world(t, (call) => answer(call), {
    reranker: { documentTemplate },
  })
  for (const [name, [reranker, given, request]] of Object.entries(forms)) {
    answer = given
    await server.settle(t, server.patch('/indexes/films/settings/rerankers', { m: reranker }))
    const body = await search({ q: 'film', limit: 3, rerank })
    t.deepEqual(ids(body), [2, 1, 3], `${name}: a document without text, or that is left out, comes last`)
    t.regex(JSON.stringify(provider.calls.at(-1)?.body), request, name)
  }
})

test('each query of a multi-search may be reranked', async (t) => {
  const { server } = await world(t, reversed)
  const query = { indexUid: 'films', q: 'film', limit: 3 }
  const { body } = await server.post('/multi-search', { queries: [query, { ...query, rerank }] })
  t.deepEqual(body.results.map(ids), [
    [1, 2, 3],
    [3, 2, 1],
  ])
  t.deepEqual(
    body.results.map(({ rerank: outcome }) => outcome),
    [undefined, { applied: true, model: 'm', hits: 3 }],
  )
  const unknown = await server.post('/multi-search', {
    queries: [query, { ...query, rerank: { model: 'k' } }],
  })
  t.is(unknown.body.code, 'invalid_search_rerank_model')
  t.regex(unknown.body.message, /^inside `\.queries\[1\]`: .*reranker `k`: expected one of `m`/)
  const get = await server.get('/indexes/films/search?q=film&rerankModel=m&rerankTopK=2&limit=3')
  t.deepEqual(ids(get.body), [2, 1, 3])
})

test('queries of a multi-search are reranked a few at a time, their documents read one by one', async (t) => {
  let running = 0
  let most = 0
  const { server, provider } = await world(t, reversed, {
    wrapEngine: (engine) =>
      new Proxy(engine, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (name !== 'search') return typeof value === 'function' ? value.bind(target) : value
          return async (...given: Parameters<typeof target.search>) => {
            running += 1
            most = Math.max(most, running)
            return target.search(...given).finally(() => (running -= 1))
          }
        },
      }),
  })
  // Documents are read by a second search if the client wants other fields. No text occurs twice, so none is cached.
  const queries = Array.from({ length: 9 }, (_, at) => ({
    ...{ indexUid: 'films', q: `film ${'x '.repeat(at)}`, attributesToRetrieve: ['id'], limit: 3, rerank },
  }))
  const { body } = await server.post('/multi-search', { queries })
  for (const result of body.results) t.like(result.rerank, { applied: true })
  t.deepEqual([provider.calls.length, most], [9, 1])
})

test('the hits that all queries of a request rerank are bounded', async (t) => {
  const { server } = await world(t, reversed)
  const query = { indexUid: 'films', q: 'film', limit: 1, rerank: { model: 'm', topK: 1_000 } }
  const ten = Array.from({ length: 10 }, () => query)
  t.is((await server.post('/multi-search', { queries: ten })).body.results.length, 10)
  const more = await server.post('/multi-search', { queries: [...ten, { ...query, rerank: { model: 'm' } }] })
  t.is(more.body.code, 'invalid_search_rerank_top_k')
  t.is(
    more.body.message,
    'bad value at `.queries`: `rerank.topK` is 10050 for all queries together, the most is 10000',
  )
})

test('keys of rerankers are masked, kept when the mask is sent back, and defaults are shown', async (t) => {
  const { server } = await world(t, reversed, { reranker: { source: 'jina', url: null, model: null } })
  for (const [fields, reason] of [
    [{ source: 'tei' }, /source `tei` needs the field `url`/],
    [{ apiKey: 'x' }, /missing field `source`/],
  ] as const) {
    const failed = await server.settle(
      t,
      server.patch('/indexes/films/settings', { rerankers: { other: fields } }),
    )
    t.is(failed.error.code, 'invalid_settings_rerankers')
    t.regex(failed.error.message, reason)
  }
  const shown = async () => (await server.get('/indexes/films/settings/rerankers')).body
  const before = await shown()
  t.like(before.m, {
    source: 'jina',
    url: 'https://api.jina.ai/v1/rerank',
    model: 'jina-reranker-v2-base-multilingual',
    apiKey: 'keXXXX...',
    documentTemplateMaxBytes: 2000,
    timeoutMs: 30_000,
  })
  const task = await server.settle(t, server.patch('/indexes/films/settings', { rerankers: before }))
  t.is(task.status, 'succeeded', JSON.stringify(task.error))
  t.notRegex(JSON.stringify(task.details), /key-of-the-model/)
  t.deepEqual(await shown(), before)
  await server.settle(t, server.patch('/indexes/films/settings', { rerankers: { m: null } }))
  t.false('rerankers' in (await server.get('/indexes/films/settings')).body)
})

const personalize = { userContext: 'likes long films' }

test('a personalized search has its page in the order of the service; pins stay', async (t) => {
  const { server, provider, search } = await world(t, reversed)
  const plain = await search({ q: 'film', limit: 3, showRankingScore: true })
  const body = await search({ q: 'film', limit: 3, showRankingScore: true, personalize })
  t.deepEqual(body.hits, plain.hits.toReversed())
  t.is(body.estimatedTotalHits, plain.estimatedTotalHits)
  const [call] = provider.calls
  t.is(call?.headers.authorization, 'Bearer personal-key')
  t.deepEqual(rounded(call!), {
    query: 'likes long films\nfilm',
    documents: [
      '{"id":1,"title":"film x","n":10}',
      '{"id":2,"title":"film x x","n":20}',
      JSON.stringify(plain.hits[2], ['id', 'title', 'n']),
    ],
    model: 'taste',
  })
  const pin = { selector: { id: '5' }, action: { type: 'pin', position: 1 } }
  await server.settle(t, server.patch('/dynamic-search-rules/r', { actions: [pin] }))
  const pinned = await search({ q: 'film', limit: 4, personalize })
  t.deepEqual(ids(pinned), [3, 5, 2, 1])
  t.true(pinned.hits.every((hit) => !('_rankingScoreDetails' in hit)))
  t.deepEqual(ids(await search({ q: 'film', limit: 4, rerank })), [2, 5, 1, 3])
  const federated = { federation: { personalize, limit: 4 }, queries: [{ indexUid: 'films', q: 'film' }] }
  const merged = await server.post('/multi-search', federated)
  t.deepEqual(ids(merged.body), [3, 5, 2, 1])
  t.regex((await server.get('/metrics')).bytes.toString(), /^meilisearch_personalized_search_requests 3$/m)
})

/** Answer of the service → status, code and calls. Source: the API's codes. */
const personalFailures: Readonly<Record<string, readonly [ProviderAnswer, number, string, number]>> = {
  'a refused key': [status(401), 403, 'remote_invalid_api_key', 1],
  'a refused request': [status(400), 400, 'remote_bad_request', 1],
  'too many requests': [status(429), 503, 'too_many_search_requests', 3],
  'an error': [status(500), 502, 'remote_remote_error', 3],
  'another status': [status(418), 502, 'remote_bad_response', 1],
  'no JSON': [{ status: 200, text: 'hello' }, 502, 'remote_bad_response', 1],
}
test('a personalized search fails with the code of the API', async (t) => {
  let given: ProviderAnswer = []
  const { server, provider } = await world(t, () => given)
  for (const [name, [answer, expected, code, calls]] of Object.entries(personalFailures)) {
    given = answer
    const before = provider.calls.length
    const { status: found, body } = await server.post('/indexes/films/search', { q: 'film', personalize })
    t.deepEqual([found, body.code], [expected, code], name)
    t.is(provider.calls.length - before, calls, name)
  }
})

test('a personalized search keeps its order after its cutoff, and hits that the service leaves out', async (t) => {
  let given: ProviderAnswer | null = null
  const { server, search } = await world(t, () => given, { settings: { searchCutoffMs: 60 } })
  t.deepEqual(ids(await search({ q: 'film', limit: 3, personalize })), [1, 2, 3])
  given = { results: [{ index: 1, relevance_score: 1 }] }
  await server.settle(t, server.patch('/indexes/films/settings', { searchCutoffMs: 60_000 }))
  t.deepEqual(ids(await search({ q: 'film', limit: 3, personalize })), [2, 1, 3])
  const both = await server.post('/indexes/films/search', { q: 'film', rerank, personalize })
  t.is(both.body.code, 'invalid_search_rerank')
  const long = { userContext: 'x'.repeat(16_385) }
  const refused = await server.post('/indexes/films/search', { q: 'film', personalize: long })
  t.is(refused.body.code, 'invalid_search_personalize_user_context')
})

/** An answer with a thousand hits. */
const longAnswer = (hit: object): Buffer =>
  Buffer.from(JSON.stringify({ hits: Array.from({ length: 1_000 }, () => hit), processingTimeMs: 1 }))

/** A signal of a client that leaves as soon as the event loop turns. */
function leaving(): DisconnectSignal {
  const stop = new DisconnectSignal()
  setImmediate(() => stop.abort())
  return stop
}

test('long pages are read and rendered in several turns, none of them after the client left', async (t) => {
  const asked: unknown[] = []
  const ask = async (given: unknown) => asked.push(given) && []
  const rerankers = { rank: ask, personalize: ask } as unknown as Rerankers
  const page = longAnswer({ id: 1, numbers: Array.from({ length: 4_000 }, (_, at) => at) })
  const wanted = { queries: [], userContext: 'sailor', deadline: 0, isPinning: false } as const
  const message = 'the client disconnected'
  // A failed assertion shows the value, which is long.
  const answered = () => 'answered'
  const personal = personalized(rerankers, page, { ...wanted, stop: leaving(), hidesDetails: () => false })
  await t.throwsAsync(personal.then(answered), { message })
  const rerankerSettings = { m: { source: 'rest', url: 'http://rank.example' } }
  const settings = { rerankers: rerankerSettings, searchableAttributes: ['*'] }
  const engine = { revision: () => 0, settings: async () => JSON.stringify(settings) }
  const reranking = await rerankingOf(
    { engine, answers: {}, rerankers } as unknown as Parameters<typeof rerankingOf>[0],
    { uid: 'films', id: 0 } as unknown as Parameters<typeof rerankingOf>[1],
    {
      ...{ q: 'film', paging: { kind: 'offset', offset: 0, limit: 20 }, pins: [] },
      ...{ attributesToRetrieve: null, showRankingScoreDetails: false },
    } as unknown as SearchRequest,
    { model: 'm', topK: 1_000 },
  )
  const facts = { degraded: false, usedNegativeOperator: false, terms: 1, semanticHits: null, hits: 1_000 }
  const reranked = reranking.apply(
    { body: longAnswer({ id: 1, title: 'film '.repeat(2_000) }), facts },
    leaving(),
  )
  await t.throwsAsync(reranked.then(answered), { message })
  t.deepEqual(asked, [])
})
