/**
 * Edge cases of searches and settings with user-provided vectors: exact limits, ties, repetitions.
 *
 * The ordinary cases are in `vectors.spec.ts` and `vector-documents.spec.ts`.
 */
import test, { type ExecutionContext } from 'ava'
import { startServer, type TestBody, type TestServer } from '../support/server.js'

const path = '/indexes/pts'
const points = [
  { id: 'a', _vectors: { v: [3, 4] } },
  { id: 'b', _vectors: { v: [4, 3] } },
  { id: 'c', _vectors: { v: [0, 1] } },
  { id: 'd', _vectors: { v: [-4, 3] } },
  { id: 'n', _vectors: { v: null } },
]
const userProvided = { source: 'userProvided', dimensions: 2 }

const configure = (t: ExecutionContext, server: TestServer, settings: object): Promise<TestBody> =>
  server.settle(t, server.patch(`${path}/settings`, settings))
const embed = (t: ExecutionContext, server: TestServer, embedders: object | null): Promise<TestBody> =>
  server.settle(t, server.patch(`${path}/settings/embedders`, embedders))
const post = (t: ExecutionContext, server: TestServer, ...documents: object[]): Promise<TestBody> =>
  server.settle(t, server.post(`${path}/documents`, documents))
const put = (t: ExecutionContext, server: TestServer, ...documents: object[]): Promise<TestBody> =>
  server.settle(t, server.put(`${path}/documents`, documents))

/** A server with five points in a plane. `n` has no vector. */
async function plane(t: ExecutionContext): Promise<TestServer> {
  const server = await startServer(t)
  await configure(t, server, { embedders: { v: userProvided } })
  await post(t, server, ...points)
  return server
}

async function search(server: TestServer, body: object): Promise<TestBody> {
  const hybrid = { embedder: 'v', semanticRatio: 1 }
  return (await server.post(`${path}/search`, { hybrid, showRankingScore: true, ...body })).body
}

const idsOf = ({ hits }: TestBody) => hits.map(({ id }) => id)
const told = ({ hits }: TestBody) =>
  hits.map(({ id, _rankingScore: score }) => `${id} ${Number((score as number).toFixed(6))}`)
const shown = async (server: TestServer, id: string) =>
  (await server.get(`${path}/documents/${id}?retrieveVectors=true`)).body

test('an embedder for user-provided vectors is shown as it was set', async (t) => {
  const server = await startServer(t)
  t.is((await embed(t, server, { v: userProvided })).status, 'succeeded')
  t.deepEqual((await server.get(`${path}/settings/embedders`)).body, {
    v: userProvided,
  } as unknown as TestBody)
})

test('a userProvided embedder with a parameter for generating vectors is refused', async (t) => {
  const server = await startServer(t)
  const refused: object[] = [
    { source: 'userProvided' },
    { ...userProvided, documentTemplate: null },
    { ...userProvided, documentTemplate: 'x' },
    { ...userProvided, model: null },
    { ...userProvided, apiKey: 'k' },
    { ...userProvided, url: 'http://localhost' },
    { ...userProvided, dimensions: 0 },
    { ...userProvided, dimensions: -1 },
    { ...userProvided, dimensions: 2.5 },
    { ...userProvided, dimensions: 2 ** 32 },
    { ...userProvided, dimensions: '2' },
    { ...userProvided, distribution: { mean: 1.2, sigma: 0.1 } },
    { ...userProvided, distribution: { mean: 0.5, sigma: 0 } },
    { ...userProvided, distribution: { mean: 0.5 } },
    { ...userProvided, unknown: 1 },
  ]
  for (const v of refused) {
    const { status, body } = await server.patch(`${path}/settings/embedders`, { v })
    t.is(status, 400, JSON.stringify(v))
    t.is(body.code, 'invalid_settings_embedders', JSON.stringify(v))
  }
})

test('binary quantization cannot be turned off before the embedder is removed', async (t) => {
  const server = await plane(t)
  t.is((await embed(t, server, { v: { binaryQuantized: true } })).status, 'succeeded')
  const undone = await embed(t, server, {
    v: { binaryQuantized: false, distribution: { mean: 0.5, sigma: 0.5 } },
  })
  t.is(undone.error?.code, 'invalid_settings_embedders')
  const { body } = await server.get(`${path}/settings/embedders`)
  t.deepEqual(body as unknown, { v: { ...userProvided, binaryQuantized: true } })
  await embed(t, server, { v: null })
  t.is((await embed(t, server, { v: userProvided })).status, 'succeeded')
  t.deepEqual((await shown(server, 'd'))._vectors, { v: { embeddings: [[0, 1]], regenerate: false } })
  t.deepEqual(told(await search(server, { vector: [0, 1], limit: 2 })), ['c 1', 'd 1'])
})

test('an embedder that is removed and added again has the same vectors', async (t) => {
  const server = await plane(t)
  await embed(t, server, { v: null })
  t.is((await embed(t, server, { v: userProvided })).status, 'succeeded')
  t.deepEqual(told(await search(server, { vector: [3, 4] })), ['a 1', 'b 0.98', 'c 0.9', 'd 0.5', 'n 0'])
  for (const { id, _vectors } of points) {
    const embeddings = _vectors.v === null ? [] : [_vectors.v]
    t.deepEqual((await shown(server, id))._vectors, { v: { embeddings, regenerate: false } })
  }
})

test('a document without vectors fails its task with all its documents', async (t) => {
  const server = await plane(t)
  const task = await post(t, server, { id: 'f', _vectors: { v: [1, 1] } }, { id: 'e' })
  t.is(task.error?.code, 'vector_embedding_error')
  t.regex(task.error?.message ?? '', /`e`/)
  t.is((await server.get(`${path}/documents/f`)).status, 404)
  t.is((await server.get(`${path}/stats`)).body.numberOfDocuments, 5)
})

test('the error for a document without vectors suggests a misspelt key', async (t) => {
  const server = await plane(t)
  const messageOf = async (document: object) => (await post(t, server, document)).error?.message ?? ''
  t.regex(
    await messageOf({ id: 'e', _vector: { v: [1, 1] } }),
    /did you mean `_vectors` by the `_vector` of document `e`/,
  )
  t.regex(await messageOf({ id: 'e', _vectros: { v: [1, 1] } }), /did you mean `_vectors` by the `_vectros`/)
  t.notRegex(await messageOf({ id: 'e', vect: 1, _vectors: { w: [1, 1] } }), /did you mean/)
  await server.settle(t, server.delete(`${path}/documents`))
  await embed(t, server, { v: null, words: userProvided })
  t.regex(await messageOf({ id: 'e', _vectors: { wrods: [1, 1] } }), /did you mean `words` by the `wrods` of/)
  t.notRegex(await messageOf({ id: 'e', _vectors: { others: [1, 1] } }), /did you mean/)
})

test('vectors of an unknown embedder are stored as sent, if their form is valid', async (t) => {
  const server = await plane(t)
  await put(t, server, { id: 'c', _vectors: { w: [1, [2]] } })
  t.deepEqual((await shown(server, 'c'))._vectors, {
    v: { embeddings: [[0, 1]], regenerate: false },
    w: [1, [2]],
  })
  t.is((await put(t, server, { id: 'c', _vectors: { w: 'any' } })).error?.code, 'invalid_vectors_type')
  await put(t, server, { id: 'c', _vectors: { w: { regenerate: true } } })
  t.deepEqual(((await shown(server, 'c'))._vectors as TestBody).w, { regenerate: true, embeddings: null })
})

test('stats count vectors, and documents that have any', async (t) => {
  const server = await plane(t)
  const counts = async () => {
    const { numberOfEmbeddings, numberOfEmbeddedDocuments } = (await server.get(`${path}/stats`)).body
    return [numberOfEmbeddings, numberOfEmbeddedDocuments]
  }
  t.deepEqual(await counts(), [4, 4])
  const v = [
    [0, 1],
    [1, 0],
  ]
  await put(t, server, { id: 'c', _vectors: { v } })
  t.deepEqual(await counts(), [5, 4])
  await put(t, server, { id: 'c', _vectors: { v: [] } })
  t.deepEqual(await counts(), [3, 3])
  await embed(t, server, null)
  t.deepEqual(await counts(), [0, 0])
})

test('hits whose scores are clipped by a distribution keep their order', async (t) => {
  const server = await plane(t)
  await embed(t, server, { v: { distribution: { mean: 0.9, sigma: 0.05 } } })
  const answer = await search(server, { vector: [4, 3] })
  t.deepEqual(idsOf(answer), ['b', 'a', 'c', 'd', 'n'])
  t.deepEqual(
    answer.hits.map(({ _rankingScore: score }) => score),
    [1, 1, 2 ** -23, 2 ** -23, 0],
  )
})

test('a distribution too narrow for 32-bit floats shows 1 for every vector', async (t) => {
  const server = await plane(t)
  await embed(t, server, { v: { distribution: { mean: 0.5, sigma: 1e-300 } } })
  t.deepEqual(told(await search(server, { vector: [4, 3] })), ['b 1', 'a 1', 'c 1', 'd 1', 'n 0'])
})

test('vectors of a removed embedder return into the document in the form of stored entries', async (t) => {
  const server = await plane(t)
  await embed(t, server, { v: null })
  const { _vectors: vectors } = await shown(server, 'c')
  t.is(JSON.stringify(vectors), '{"v":{"regenerate":false,"embeddings":[[0,1]]}}')
})

test('the nearest of several vectors determines the score', async (t) => {
  const server = await plane(t)
  const v = [
    [1, 0],
    [0, 1],
  ]
  await put(t, server, { id: 'c', _vectors: { v } })
  const scoreOf = async (vector: number[]) =>
    (await search(server, { vector })).hits.find(({ id }) => id === 'c')?._rankingScore as number
  t.true(Math.abs((await scoreOf([1, 1])) - 0.853553) < 1e-5)
  t.is(await scoreOf([0, 1]), 1)
})

/** Nine and eight of ten words of a query: scores 0.9 and 0.8, by words alone. */
async function worded(t: ExecutionContext, documents: readonly object[]): Promise<TestServer> {
  const server = await startServer(t)
  await configure(t, server, {
    embedders: { v: userProvided },
    rankingRules: ['words'],
    searchableAttributes: ['t'],
  })
  await put(t, server, ...documents)
  return server
}
const words = Array.from('abcdefghij', (letter) => `w${letter}`)
const at = (cosine: number) => [cosine, Math.sqrt(1 - cosine * cosine)]
const text = (count: number) => words.slice(0, count).join(' ')

test('a hybrid search skips vectors if words score 0.45 or more', async (t) => {
  const server = await worded(t, [
    { id: 'x', t: text(9), _vectors: { v: at(0.1) } },
    { id: 'y', t: text(9), _vectors: { v: at(0.9) } },
  ])
  const count = async (semanticRatio: number, limit = 2) =>
    (
      await search(server, {
        q: words.join(' '),
        vector: [1, 0],
        hybrid: { embedder: 'v', semanticRatio },
        limit,
      })
    ).semanticHitCount
  t.is(await count(0.5), 0, '0.9 times a half is 0.45')
  t.true(((await count(0.52)) as number) > 0, 'below it meaning counts')
  t.not(await count(0.1, 3), undefined)
})

test('a hybrid search whose words do not fill the page uses vectors, however good the words are', async (t) => {
  const server = await worded(t, [
    { id: 'x', t: 'wa', _vectors: { v: at(0.1) } },
    { id: 'y', t: 'wa', _vectors: { v: at(0.2) } },
    { id: 'z', t: 'other', _vectors: { v: at(0.9) } },
  ])
  const hybrid = { embedder: 'v', semanticRatio: 0.1 }
  const answer = await search(server, { q: 'wa', vector: [1, 0], hybrid, limit: 3, retrieveVectors: true })
  t.deepEqual(idsOf(answer), ['x', 'y', 'z'])
  t.is(answer.semanticHitCount, 1)
  t.deepEqual(answer.queryVector, [1, 0])
})

test('among equal weighted scores the hit by vectors comes first', async (t) => {
  const server = await worded(t, [
    { id: 'x', t: text(5), _vectors: { v: null } },
    { id: 'y', t: 'other', _vectors: { v: [0, 1] } },
  ])
  const answer = await search(server, {
    q: words.join(' '),
    vector: [1, 0],
    hybrid: { embedder: 'v', semanticRatio: 0.5 },
  })
  t.deepEqual(told(answer), ['y 0.5', 'x 0.5'])
  t.is(answer.semanticHitCount, 1)
})

test('every hit has its vectors, and the answer the requested query vector', async (t) => {
  const server = await plane(t)
  const answer = await search(server, { vector: [3, 4], retrieveVectors: true })
  t.deepEqual(answer.queryVector, [3, 4])
  for (const { id, _vectors } of answer.hits) {
    const given = points.find((point) => point.id === id)?._vectors.v
    t.deepEqual(_vectors, { v: { embeddings: given ? [given] : [], regenerate: false } })
  }
})

test('numbers that cannot be stored fail only their task', async (t) => {
  const server = await plane(t)
  const refused: [string, string][] = [
    ['[1e400,1]', 'invalid_vectors_type'],
    ['[-1e39,1]', 'invalid_vectors_type'],
    ['{"regenerate":true,"embeddings":[1e39,1]}', 'invalid_vectors_type'],
    ['[[1,2],[1e39,2]]', 'invalid_vectors_type'],
    ['["1","2"]', 'invalid_vectors_type'],
    ['[true,false]', 'invalid_vectors_type'],
    ['[[1,2],null]', 'invalid_vectors_type'],
    ['[[[1,2]]]', 'invalid_vectors_type'],
    ['[{}]', 'invalid_vectors_type'],
  ]
  for (const [v, code] of refused) {
    const body = `[{"id":"bad","_vectors":{"v":${v}}}]`
    const answer = await server.post(`${path}/documents`, body)
    const failed =
      answer.status === 202 ? (await server.settle(t, Promise.resolve(answer))).error?.code : answer.body.code
    // Some parsers refuse a number that no float can hold as invalid JSON.
    t.true(failed === code || (v.includes('1e400') && failed === 'malformed_payload'), `${v}: ${failed}`)
  }
  for (const word of ['NaN', 'Infinity', '-Infinity']) {
    const body = `[{"id":"bad","_vectors":{"v":[${word},1]}}]`
    const answer = await server.post(`${path}/documents`, body)
    const code =
      answer.status === 202 ? (await server.settle(t, Promise.resolve(answer))).error?.code : answer.body.code
    t.is(code, 'malformed_payload', word)
  }
  t.is((await server.get(`${path}/stats`)).body.numberOfDocuments, 5)
  t.deepEqual(told(await search(server, { vector: [3, 4], limit: 1 })), ['a 1'])
})

test('a hundred thousand dimensions work like two', async (t) => {
  const server = await startServer(t)
  const dimensions = 100_000
  const long = (seed: number) => Array.from({ length: dimensions }, (_, at) => ((at * seed) % 7) - 3)
  t.is((await embed(t, server, { v: { source: 'userProvided', dimensions } })).status, 'succeeded')
  t.is(
    (await post(t, server, { id: 'x', _vectors: { v: long(2) } }, { id: 'y', _vectors: { v: long(3) } }))
      .status,
    'succeeded',
  )
  t.is((await post(t, server, { id: 'z', _vectors: { v: [1, 2] } })).error?.code, 'invalid_vector_dimensions')
  t.is(told(await search(server, { vector: long(3), limit: 1 }))[0], 'y 1')
  t.is((await search(server, { vector: [1, 2] })).code, 'invalid_vector_dimensions')
})
