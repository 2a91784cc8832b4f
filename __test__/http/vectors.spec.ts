/** Documents with vectors, and searches by vectors, on both engines. */
import test, { type ExecutionContext } from 'ava'
import { startServer, type TestBody, type TestServer, type TestServerOptions } from '../support/server.js'

const path = '/indexes/pts'
const meaning = { hybrid: { embedder: 'v', semanticRatio: 1 }, showRankingScore: true }
const points = [
  { id: 'a', _vectors: { v: [3, 4] } },
  { id: 'b', _vectors: { v: [4, 3] } },
  { id: 'c', _vectors: { v: [0, 1] } },
  { id: 'd', _vectors: { v: [-4, 3] } },
  { id: 'n', _vectors: { v: null } },
]

/** A server with five points in a plane. `n` has no vector. */
async function plane(t: ExecutionContext, embedder: object = {}, options: TestServerOptions = {}) {
  const server = await startServer(t, options)
  const v = { source: 'userProvided', dimensions: 2, ...embedder }
  await settled(t, server, { embedders: { v } })
  await server.settle(t, server.post(`${path}/documents`, points))
  return server
}

async function settled(t: ExecutionContext, server: TestServer, settings: object): Promise<TestBody> {
  return server.settle(t, server.patch(`${path}/settings`, settings))
}

const put = (t: ExecutionContext, server: TestServer, ...documents: object[]) =>
  server.settle(t, server.put(`${path}/documents`, documents))

/** The `_vectors` of a document. */
async function vectorsOf(server: TestServer, id: string): Promise<unknown> {
  const { body } = await server.get(`${path}/documents/${id}?retrieveVectors=true`)
  return body._vectors
}

/** Returns hits as `id score`, with scores rounded enough to distinguish them. */
function told({ body }: { readonly body: TestBody }): string[] {
  return body.hits.map(({ id, _rankingScore: score }) => `${id} ${Number((score as number).toFixed(5))}`)
}

async function checkScores(t: ExecutionContext, server: TestServer, vector: number[], expected: string[]) {
  const answer = await server.post(`${path}/search`, { ...meaning, vector })
  t.deepEqual(told(answer), expected, `of ${JSON.stringify(vector)}`)
}

test('hits are ordered by the angle between vectors, documents without a vector last', async (t) => {
  const server = await plane(t)
  const answer = await server.post(`${path}/search`, { ...meaning, vector: [3, 4] })
  t.deepEqual(told(answer), ['a 1', 'b 0.98', 'c 0.9', 'd 0.5', 'n 0'])
  t.is(answer.body.semanticHitCount, 5)
  t.is(answer.body.estimatedTotalHits, 5)
  t.is(answer.body.queryVector, undefined)
  await checkScores(t, server, [6, 8], ['a 1', 'b 0.98', 'c 0.9', 'd 0.5', 'n 0'])
  await checkScores(t, server, [1, 0], ['b 0.9', 'a 0.8', 'c 0.5', 'd 0.1', 'n 0'])
  await checkScores(t, server, [-3, -4], ['d 0.5', 'c 0.1', 'b 0.02', 'a 0', 'n 0'])
  await checkScores(t, server, [0, 2], ['c 1', 'a 0.9', 'b 0.8', 'd 0.8', 'n 0'])
})

test('a zero vector has a similarity of 1 to every vector, in the query and in a document', async (t) => {
  const server = await plane(t)
  await put(t, server, { id: 'c', _vectors: { v: [0, 0] } })
  await checkScores(t, server, [1, 0], ['c 1', 'b 0.9', 'a 0.8', 'd 0.1', 'n 0'])
  await checkScores(t, server, [0, 0], ['a 1', 'b 1', 'c 1', 'd 1', 'n 0'])
})

test('components whose squares overflow floats are compared correctly', async (t) => {
  const server = await plane(t)
  await put(t, server, { id: 'a', _vectors: { v: [3e38, 4e37] } }, { id: 'c', _vectors: { v: [1e-30, 0] } })
  const { body } = await server.post(`${path}/search`, { ...meaning, vector: [3e38, 4e37] })
  t.is(body.hits[0]?.id, 'a')
  t.true(body.hits.every(({ _rankingScore: score }) => typeof score === 'number' && score <= 1))
})

test('the last of a repeated vector counts, whatever the first one is', async (t) => {
  const server = await plane(t)
  const hybrid = '"hybrid":{"embedder":"v","semanticRatio":1},"limit":1'
  for (const first of ['[0,1]', '[0,1,2]', 'null', '[]']) {
    const { body } = await server.post(`${path}/search`, `{${hybrid},"vector":${first},"vector":[-4,3]}`)
    t.is(body.hits[0]?.id, 'd', first)
  }
  for (const last of ['"near"', '{"0":1}', '["x",1]', 'true']) {
    const answer = await server.post(`${path}/search`, `{${hybrid},"vector":[0,1],"vector":${last}}`)
    t.is(answer.body.code, 'invalid_search_vector', last)
  }
})

test('the nearest of several vectors counts', async (t) => {
  const server = await plane(t)
  const two = {
    v: [
      [1, 0],
      [0, 1],
    ],
  }
  await put(t, server, { id: 'c', _vectors: two })
  await checkScores(t, server, [0, 1], ['c 1', 'a 0.9', 'b 0.8', 'd 0.8', 'n 0'])
  const { body } = await server.post(`${path}/search`, { ...meaning, vector: [1, 1], limit: 3 })
  t.deepEqual(
    body.hits.map(({ id }) => id),
    ['a', 'b', 'c'],
  )
  t.is((await server.get(`${path}/stats`)).body.numberOfEmbeddings, 5)
  t.is((await server.get(`${path}/stats`)).body.numberOfEmbeddedDocuments, 4)
})

test('a sort rule before the vectors outranks them, a sort rule after them breaks ties', async (t) => {
  const server = await plane(t)
  await settled(t, server, { sortableAttributes: ['x'], rankingRules: ['words', 'sort'] })
  await put(t, server, { id: 'b', x: 1 }, { id: 'd', x: 2 }, ...['a', 'c', 'n'].map((id) => ({ id, x: 0 })))
  const search = { ...meaning, vector: [0, 2], sort: ['x:desc'] }
  const ids = async () => (await server.post(`${path}/search`, search)).body.hits.map(({ id }) => id)
  t.deepEqual(await ids(), ['c', 'a', 'd', 'b', 'n'])
  await settled(t, server, { rankingRules: ['sort', 'words'] })
  t.deepEqual(await ids(), ['d', 'b', 'c', 'a', 'n'])
  await settled(t, server, { rankingRules: ['sort'] })
  const { body } = await server.post(`${path}/search`, { ...meaning, vector: [0, 2] })
  t.deepEqual(
    body.hits.map(({ id, _rankingScore: score }) => `${id} ${score}`),
    ['a 1', 'b 1', 'c 1', 'd 1', 'n 1'],
  )
})

test('thresholds, filters, distinct and facets apply to a search by meaning', async (t) => {
  const server = await plane(t)
  await settled(t, server, { filterableAttributes: ['id', 'kind'] })
  await put(t, server, ...['a', 'b', 'c', 'd'].map((id, at) => ({ id, kind: at < 2 ? 'near' : 'far' })))
  const search = { ...meaning, vector: [3, 4] }
  const above = await server.post(`${path}/search`, { ...search, rankingScoreThreshold: 0.85 })
  t.deepEqual(told(above), ['a 1', 'b 0.98', 'c 0.9'])
  t.is(above.body.estimatedTotalHits, 3)
  const kept = await server.post(`${path}/search`, { ...search, filter: 'id IN [b, d, n]', facets: ['kind'] })
  t.deepEqual(told(kept), ['b 0.98', 'd 0.5', 'n 0'])
  t.is(kept.body.estimatedTotalHits, 3)
  t.deepEqual(kept.body.facetDistribution, { kind: { far: 1, near: 1 } })
  const one = await server.post(`${path}/search`, { ...search, distinct: 'kind' })
  t.deepEqual(told(one), ['a 1', 'c 0.9', 'n 0'])
  const page = await server.post(`${path}/search`, { ...search, page: 2, hitsPerPage: 2 })
  t.deepEqual(told(page), ['c 0.9', 'd 0.5'])
  t.is(page.body.totalHits, 5)
})

test('a distribution changes the shown scores, not the order', async (t) => {
  const shown: [object, string[]][] = [
    [{ mean: 0.5, sigma: 0.5 }, ['a 0.9', 'b 0.884', 'c 0.82', 'd 0.5', 'n 0']],
    [{ mean: 0.9, sigma: 0.05 }, ['a 1', 'b 1', 'c 0.5', 'd 0', 'n 0']],
  ]
  const server = await plane(t)
  for (const [distribution, expected] of shown) {
    await settled(t, server, { embedders: { v: { distribution } } })
    await checkScores(t, server, [3, 4], expected)
  }
  const { body } = await server.post(`${path}/search`, { ...meaning, vector: [3, 4], offset: 3, limit: 1 })
  t.is(body.hits[0]?._rankingScore, 2 ** -23)
})

test('score details show the similarity, and null without a vector', async (t) => {
  const server = await plane(t)
  const search = { ...meaning, vector: [3, 4], showRankingScoreDetails: true }
  const { body } = await server.post(`${path}/search`, search)
  t.deepEqual(body.hits[0]?._rankingScoreDetails, { vectorSort: { order: 0, similarity: 1 } })
  t.deepEqual(body.hits[4]?._rankingScoreDetails, { vectorSort: { order: 0, similarity: null } })
})

test('bits are compared by the number of differences, and returned as zeros and ones', async (t) => {
  const server = await startServer(t)
  const v = { source: 'userProvided', dimensions: 4, binaryQuantized: true }
  await settled(t, server, { embedders: { v } })
  await put(t, server, { id: 1, _vectors: { v: [0.2, -0.1, 0.5, 0] } })
  const shown: [number[], number][] = [
    [[1, -1, 1, -1], 1],
    [[-1, -3, 2, 1], 0.96875],
    [[-1, 3, -2, 1], 0.9375],
  ]
  for (const [vector, score] of shown) {
    const { body } = await server.post(`${path}/search`, { ...meaning, vector })
    t.is(body.hits[0]?._rankingScore, score)
  }
  t.deepEqual(await vectorsOf(server, '1'), { v: { embeddings: [[1, 0, 1, 0]], regenerate: false } })
  const undone = await settled(t, server, { embedders: { v: { binaryQuantized: false } } })
  t.is(undone.error.code, 'invalid_settings_embedders')
})

test('stored vectors are converted to bits in place', async (t) => {
  const server = await plane(t)
  t.is((await settled(t, server, { embedders: { v: { binaryQuantized: true } } })).status, 'succeeded')
  t.deepEqual(await vectorsOf(server, 'd'), { v: { embeddings: [[0, 1]], regenerate: false } })
  await put(t, server, { id: 'a', _vectors: { v: [-1, -1] } })
  const { body } = await server.post(`${path}/search`, { ...meaning, vector: [-1, -1], limit: 1 })
  t.deepEqual(body.hits, [{ id: 'a', _rankingScore: 1 }])
})

/** Words decide by the number of matches out of ten: b 9, a 8, c 0. */
async function both(t: ExecutionContext): Promise<TestServer> {
  const server = await startServer(t)
  const v = { source: 'userProvided', dimensions: 2 }
  await settled(t, server, { embedders: { v }, rankingRules: ['words'], searchableAttributes: ['t'] })
  const words = Array.from({ length: 10 }, (_, at) => `w${'abcdefghij'[at]}`)
  const at = (cosine: number) => [cosine, Math.sqrt(1 - cosine * cosine)]
  await put(
    t,
    server,
    { id: 'a', t: words.slice(0, 8).join(' '), _vectors: { v: at(0.98) } },
    { id: 'b', t: words.slice(0, 9).join(' '), _vectors: { v: at(0.2) } },
    { id: 'c', t: 'other', _vectors: { v: at(0.7) } },
  )
  return server
}

test('words and meaning merge by weighted scores, and each hit has its own score', async (t) => {
  const server = await both(t)
  const q = Array.from('abcdefghij', (letter) => `w${letter}`).join(' ')
  const shown: [number, string[], number][] = [
    [0.5, ['a 0.99', 'b 0.9', 'c 0.85'], 2],
    [0.2, ['b 0.9', 'a 0.8', 'c 0.85'], 1],
    [0.8, ['a 0.99', 'c 0.85', 'b 0.6'], 3],
  ]
  for (const [semanticRatio, expected, count] of shown) {
    const search = { q, vector: [1, 0], hybrid: { embedder: 'v', semanticRatio }, showRankingScore: true }
    const answer = await server.post(`${path}/search`, search)
    t.deepEqual(told(answer), expected, `ratio ${semanticRatio}`)
    t.is(answer.body.semanticHitCount, count)
    t.is(answer.body.estimatedTotalHits, 3)
  }
})

test('a hybrid search skips vectors if words fill the page with good hits', async (t) => {
  const server = await both(t)
  const ask = async (semanticRatio: number, limit: number) => {
    const search = { q: 'wa', vector: [1, 0], hybrid: { embedder: 'v', semanticRatio }, limit }
    return (await server.post(`${path}/search`, { ...search, retrieveVectors: true })).body
  }
  const enough = await ask(0.5, 2)
  t.is(enough.semanticHitCount, 0)
  t.is(enough.queryVector, undefined)
  t.deepEqual((await ask(0.56, 2)).queryVector, [1, 0])
  t.deepEqual((await ask(0.1, 3)).queryVector, [1, 0], 'the page is not full')
})

test('a hybrid search without a vector is ranked by words, or refused if that is impossible', async (t) => {
  const server = await plane(t)
  const ask = (body: object) => server.post(`${path}/search`, body)
  const hybrid = (semanticRatio: number) => ({ embedder: 'v', semanticRatio })
  const words = await ask({ q: 'a', hybrid: hybrid(0.99) })
  t.deepEqual(words.body.hits, [{ id: 'a' }])
  t.is(words.body.semanticHitCount, 0)
  t.is((await ask({ q: 'a', hybrid: hybrid(1) })).body.code, 'vector_embedding_error')
  const placeholder = await ask({ hybrid: hybrid(1), showRankingScore: true })
  t.deepEqual(told(placeholder), ['a 1', 'b 1', 'c 1', 'd 1', 'n 1'])
  t.is(placeholder.body.semanticHitCount, undefined)
  const noMatch = await ask({ q: 'zzz', vector: [3, 4], hybrid: hybrid(0.5) })
  t.deepEqual(
    noMatch.body.hits.map(({ id }) => id),
    ['a', 'b', 'c', 'd', 'n'],
  )
  t.is(noMatch.body.semanticHitCount, 5)
})

test('a facet search checks its embedder like a search', async (t) => {
  const server = await plane(t)
  await settled(t, server, { filterableAttributes: ['id'] })
  const ask = async (body: object) => {
    const answer = await server.post(`${path}/facet-search`, { facetName: 'id', facetQuery: 'a', ...body })
    return answer.body.code ?? answer.body.facetHits
  }
  const found = [{ value: 'a', count: 1 }]
  const unknown = { embedder: 'nope', semanticRatio: 0.5 }
  t.is(await ask({ q: 'b', hybrid: unknown }), 'invalid_search_embedder')
  t.is(await ask({ vector: [1, 0], hybrid: unknown }), 'invalid_search_embedder')
  t.is(await ask({ vector: [1, 0, 0], hybrid: { embedder: 'v' } }), 'invalid_vector_dimensions')
  t.deepEqual(await ask({ q: 'b', vector: [1, 0], hybrid: { embedder: 'v' } }), found)
  t.deepEqual(await ask({ q: ' ', hybrid: unknown }), found)
  t.deepEqual(await ask({ q: 'a', hybrid: { ...unknown, semanticRatio: 0 } }), found)
})

test('searches without comparable vectors are refused with their code', async (t) => {
  const server = await plane(t)
  const refusals: [object, string][] = [
    [{ vector: [1, 0] }, 'missing_search_hybrid'],
    [{ vector: [1, 0], hybrid: { embedder: 'zz' } }, 'invalid_search_embedder'],
    [{ vector: [1, 0], hybrid: { embedder: 'v', semanticRatio: 1.5 } }, 'invalid_search_semantic_ratio'],
    [{ vector: [1, 0], hybrid: { embedder: 'v', semanticRatio: null } }, 'invalid_search_semantic_ratio'],
    [{ vector: [1, 0, 0], hybrid: { embedder: 'v' } }, 'invalid_vector_dimensions'],
    [{ vector: [], hybrid: { embedder: 'v' } }, 'invalid_vector_dimensions'],
    [{ vector: [1, 1e39], hybrid: { embedder: 'v' } }, 'invalid_search_vector'],
    [{ vector: [1, 'x'], hybrid: { embedder: 'v' } }, 'invalid_search_vector'],
    [
      { vector: Array.from({ length: 100_000 }, () => 1), hybrid: { embedder: 'v' } },
      'invalid_vector_dimensions',
    ],
  ]
  for (const [body, code] of refusals) {
    const answer = await server.post(`${path}/search`, body)
    t.is(answer.body.code, code)
    t.is(answer.status, 400)
  }
  const unused = await server.post(`${path}/search`, {
    vector: [1, 0],
    hybrid: { embedder: 'zz', semanticRatio: 0 },
  })
  t.is(unused.status, 200)
})

test('a search by vectors has the same answer by GET and POST', async (t) => {
  const server = await plane(t)
  const query = 'vector=3,4&hybridEmbedder=v&hybridSemanticRatio=1&showRankingScore=true'
  t.deepEqual(told(await server.get(`${path}/search?${query}`)), ['a 1', 'b 0.98', 'c 0.9', 'd 0.5', 'n 0'])
  const lone = await server.get(`${path}/search?hybridSemanticRatio=0.5`)
  t.is(lone.body.code, 'invalid_search_hybrid_query')
})

test('vectors appear only if retrieveVectors is set', async (t) => {
  const server = await plane(t)
  const { body } = await server.post(`${path}/search`, { ...meaning, vector: [3, 4], retrieveVectors: true })
  t.deepEqual(body.queryVector, [3, 4])
  t.deepEqual(body.hits[0]?._vectors, { v: { embeddings: [[3, 4]], regenerate: false } })
  t.deepEqual(body.hits[4]?._vectors, { v: { embeddings: [], regenerate: false } })
  const plain = await server.post(`${path}/search`, { q: 'a' })
  t.deepEqual(plain.body.hits, [{ id: 'a' }])
})

test('similar documents are ordered by similarity, without the document itself', async (t) => {
  const server = await startServer(t)
  await settled(t, server, {
    embedders: { v: { source: 'userProvided', dimensions: 3 } },
    filterableAttributes: ['id'],
  })
  const space = { t: [1, 0, 0], s: [0.8, 0, 0.6], p: [0.6, 0.8, 0], q: [0, 1, 0], r: [-0.8, 0.6, 0] }
  await put(t, server, ...Object.entries(space).map(([id, v]) => ({ id, _vectors: { v } })))
  const similar = (body: object) =>
    server.post(`${path}/similar`, { embedder: 'v', showRankingScore: true, ...body })
  const all = await similar({ id: 't' })
  t.deepEqual(told(all), ['s 0.9', 'p 0.8', 'q 0.5', 'r 0.1'])
  t.is(all.body.estimatedTotalHits, 4)
  t.is(all.body.id, 't')
  const above = await similar({ id: 't', rankingScoreThreshold: 0.75 })
  t.deepEqual(told(above), ['s 0.9', 'p 0.8'])
  t.is(above.body.estimatedTotalHits, 2)
  const second = await similar({ id: 't', offset: 1, limit: 1 })
  t.deepEqual(told(second), ['p 0.8'])
  t.is(second.body.estimatedTotalHits, 4)
  t.deepEqual(told(await similar({ id: 't', filter: 'id != s', limit: 1 })), ['p 0.8'])
  t.deepEqual(told(await server.get(`${path}/similar?id=t&embedder=v&limit=1&showRankingScore=true`)), [
    's 0.9',
  ])
  t.is((await similar({ id: 'none' })).body.code, 'not_found_similar_id')
  t.is((await similar({ id: 'none', embedder: 'zz' })).body.code, 'invalid_similar_embedder')
  t.is((await server.post(`${path}/similar`, { id: 't' })).body.code, 'bad_request')
})

test('a document without vectors has no similar documents', async (t) => {
  const server = await plane(t)
  const { body } = await server.post(`${path}/similar`, { id: 'n', embedder: 'v' })
  t.deepEqual(body.hits, [])
  t.is(body.estimatedTotalHits, 4)
})

test('filters on _vectors match documents by their vectors', async (t) => {
  const server = await plane(t, {}, { features: ['multimodal'] })
  const shown: [string, string[] | string][] = [
    ['_vectors.v EXISTS', ['a', 'b', 'c', 'd']],
    ['_vectors."v".userProvided EXISTS', ['a', 'b', 'c', 'd', 'n']],
    ['_vectors NOT EXISTS', ['n']],
    ['NOT _vectors.v EXISTS', ['n']],
    ['_vectors.v.regenerate EXISTS', []],
    ['_vectors.v.documentTemplate EXISTS', []],
    ['_vectors.w EXISTS', 'invalid_search_filter'],
    ['_vectors.v.fragments EXISTS', 'invalid_search_filter'],
    ['_vectors.v.fragments.x EXISTS', 'invalid_search_filter'],
    ['_vectors.v.other EXISTS', 'invalid_search_filter'],
    ['_vectors.v = 1', 'invalid_search_filter'],
    ['_vectors. EXISTS', 'invalid_search_filter'],
  ]
  for (const [filter, expected] of shown) {
    const { body } = await server.post(`${path}/search`, { filter })
    t.deepEqual(typeof expected === 'string' ? body.code : body.hits.map(({ id }) => id), expected, filter)
  }
  const task = await server.settle(
    t,
    server.post(`${path}/documents/delete`, { filter: '_vectors NOT EXISTS' }),
  )
  t.is(task.details.deletedDocuments, 1)
  const off = await plane(t)
  t.is((await off.post(`${path}/search`, { filter: '_vectors EXISTS' })).body.code, 'feature_not_enabled')
  const deletion = await off.post(`${path}/documents/delete`, { filter: '_vectors EXISTS' })
  t.is(deletion.body.code, 'feature_not_enabled')
})
