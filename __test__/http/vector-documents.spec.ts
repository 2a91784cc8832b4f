/** Storage of the vectors in documents. */
import test, { type ExecutionContext } from 'ava'
import { startServer, type TestBody, type TestServer } from '../support/server.js'

const path = '/indexes/pts'
const userProvided = (dimensions: number) => ({ source: 'userProvided', dimensions })

async function plane(t: ExecutionContext): Promise<TestServer> {
  const server = await startServer(t)
  await settings(t, server, { embedders: { v: userProvided(2) } })
  await post(t, server, { id: 'a', _vectors: { v: [3, 4] } }, { id: 'n', _vectors: { v: null } })
  return server
}

const settings = (t: ExecutionContext, server: TestServer, patch: object) =>
  server.settle(t, server.patch(`${path}/settings`, patch))
const post = (t: ExecutionContext, server: TestServer, ...documents: object[]) =>
  server.settle(t, server.post(`${path}/documents`, documents))
const put = (t: ExecutionContext, server: TestServer, ...documents: object[]) =>
  server.settle(t, server.put(`${path}/documents`, documents))

async function stored(server: TestServer, id: string): Promise<TestBody> {
  return (await server.get(`${path}/documents/${id}?retrieveVectors=true`)).body
}

test('every form of vectors is accepted, and is returned in the same form', async (t) => {
  const server = await plane(t)
  const forms: [unknown, unknown, boolean][] = [
    [[1, 2], [[1, 2]], false],
    [
      [
        [1, 2],
        [3, 4],
      ],
      [
        [1, 2],
        [3, 4],
      ],
      false,
    ],
    [[], [], false],
    [null, [], false],
    [{ regenerate: false, embeddings: [1, 2] }, [[1, 2]], false],
    [{ regenerate: true, embeddings: [[1, 2]] }, [[1, 2]], true],
    [{ regenerate: false, embeddings: null }, [], false],
    [{ regenerate: false }, [], false],
    [[0.1, 2], [[0.10000000149011612, 2]], false],
  ]
  for (const [at, [v, embeddings, regenerate]] of forms.entries()) {
    const task = await post(t, server, { id: at, _vectors: { v } })
    t.is(task.status, 'succeeded', JSON.stringify(task.error))
    t.deepEqual((await stored(server, String(at)))._vectors, { v: { embeddings, regenerate } })
  }
})

test('malformed vectors fail their task with their code and affect nothing else', async (t) => {
  const server = await plane(t)
  const refused: [unknown, string][] = [
    [{ v: [1, 2, 3] }, 'invalid_vector_dimensions'],
    [
      {
        v: [
          [1, 2],
          [1, 2, 3],
        ],
      },
      'invalid_vector_dimensions',
    ],
    [{ v: [[]] }, 'invalid_vector_dimensions'],
    [{ v: Array.from({ length: 100_000 }, () => 0.5) }, 'invalid_vector_dimensions'],
    [{ v: { embeddings: [1, 2] } }, 'invalid_vectors_type'],
    [{ v: { regenerate: 'yes', embeddings: [1, 2] } }, 'invalid_vectors_type'],
    [{ v: { regenerate: false, embeddings: [1, 2], more: 1 } }, 'invalid_vectors_type'],
    [{ v: { regenerate: false, embeddings: 'x' } }, 'invalid_vectors_type'],
    [{ v: [1, [2]] }, 'invalid_vectors_type'],
    [{ v: [[1, 2], 3] }, 'invalid_vectors_type'],
    [{ v: [1, null] }, 'invalid_vectors_type'],
    [{ v: ['NaN', 1] }, 'invalid_vectors_type'],
    [{ v: [1e39, 1] }, 'invalid_vectors_type'],
    [{ v: true }, 'invalid_vectors_type'],
    [{ v: 'x' }, 'invalid_vectors_type'],
    [{ v: Array.from({ length: 256 }, () => [1, 2]) }, 'too_many_vectors'],
    [null, 'invalid_vectors_type'],
    [[], 'invalid_vectors_type'],
    [{}, 'vector_embedding_error'],
    [undefined, 'vector_embedding_error'],
    [{ w: [1, 2] }, 'vector_embedding_error'],
    [{ v: [1, 2], w: 'any' }, 'invalid_vectors_type'],
    [{ v: { regenerate: true } }, 'vector_embedding_error'],
  ]
  for (const [_vectors, code] of refused) {
    const task = await post(t, server, { id: 'good', _vectors: { v: [1, 2] } }, { id: 'bad', _vectors })
    t.is(task.error?.code, code, JSON.stringify(_vectors)?.slice(0, 80))
    t.is(task.details.indexedDocuments, 0)
  }
  t.is((await server.get(`${path}/stats`)).body.numberOfDocuments, 2)
  t.is((await server.get(`${path}/stats`)).body.numberOfEmbeddings, 1)
})

test('a refused document does not affect other tasks of its batch', async (t) => {
  const server = await plane(t)
  const accepted = await Promise.all(
    [[1, 1], [1], [2, 2]].map((v, at) =>
      server.post(`${path}/documents`, [{ id: `x${at}`, _vectors: { v } }]),
    ),
  )
  const tasks = []
  for (const answer of accepted) tasks.push(await server.settle(t, Promise.resolve(answer)))
  t.deepEqual(
    tasks.map(({ status }) => status),
    ['succeeded', 'failed', 'succeeded'],
  )
  t.is((await server.get(`${path}/stats`)).body.numberOfEmbeddings, 3)
})

test('vectors survive writes that do not mention them', async (t) => {
  const server = await plane(t)
  const kept = { v: { embeddings: [[3, 4]], regenerate: false } }
  await post(t, server, { id: 'a', t: 'x' })
  t.deepEqual(await stored(server, 'a'), { id: 'a', t: 'x', _vectors: kept } as unknown as TestBody)
  await put(t, server, { id: 'a', u: 'y', _vectors: {} })
  t.deepEqual(await stored(server, 'a'), { id: 'a', t: 'x', u: 'y', _vectors: kept } as unknown as TestBody)
  await put(t, server, { id: 'a', _vectors: { v: { regenerate: false } } })
  t.deepEqual((await stored(server, 'a'))._vectors, kept)
  await put(t, server, { id: 'a', _vectors: { v: { regenerate: true, embeddings: [5, 6] } } })
  await post(t, server, { id: 'a' })
  t.deepEqual((await stored(server, 'a'))._vectors, { v: { embeddings: [[5, 6]], regenerate: true } })
  await put(t, server, { id: 'a', _vectors: { v: [] } })
  t.deepEqual((await stored(server, 'a'))._vectors, { v: { embeddings: [], regenerate: false } })
})

test('vectors with names of no embedder stay in the document, and are merged by name', async (t) => {
  const server = await plane(t)
  await put(t, server, { id: 'a', _vectors: { w: [1, [2]], x: null } })
  t.deepEqual((await stored(server, 'a'))._vectors, {
    v: { embeddings: [[3, 4]], regenerate: false },
    w: [1, [2]],
    x: [],
  })
  await put(t, server, { id: 'a', _vectors: { x: [7] } })
  const { w, x } = (await stored(server, 'a'))._vectors as TestBody
  t.deepEqual([w, x], [[1, [2]], [7]])
  const distribution = (await server.get(`${path}/stats`)).body.fieldDistribution
  t.deepEqual(distribution, { id: 2 })
})

test('an embedder that is added again has its former vectors', async (t) => {
  const server = await plane(t)
  await settings(t, server, { embedders: { v: null } })
  t.deepEqual((await stored(server, 'a'))._vectors, { v: { embeddings: [[3, 4]], regenerate: false } })
  t.is((await server.get(`${path}/stats`)).body.numberOfEmbeddings, 0)
  await put(t, server, { id: 'a', t: 'x' })
  t.is((await settings(t, server, { embedders: { v: userProvided(2) } })).status, 'succeeded')
  t.deepEqual((await stored(server, 'a'))._vectors, { v: { embeddings: [[3, 4]], regenerate: false } })
  const search = { vector: [3, 4], hybrid: { embedder: 'v', semanticRatio: 1 }, showRankingScore: true }
  const { body } = await server.post(`${path}/search`, search)
  t.deepEqual(body.hits, [
    { id: 'a', t: 'x', _rankingScore: 1 },
    { id: 'n', _rankingScore: 0 },
  ] as unknown as typeof body.hits)
})

test('an embedder in conflict with documents fails its task and changes nothing', async (t) => {
  const server = await startServer(t)
  await post(t, server, { id: 1, _vectors: { v: [1, 2] } }, { id: 2, _vectors: { v: [1, 2], w: ['x'] } })
  const fail = async (embedders: object, code: string) => {
    const task = await settings(t, server, { embedders })
    t.is(task.error?.code, code, JSON.stringify(embedders))
    t.deepEqual((await server.get(`${path}/settings/embedders`)).body, {} as TestBody)
  }
  await fail({ v: userProvided(3) }, 'invalid_vector_dimensions')
  await fail({ w: userProvided(2) }, 'invalid_vectors_type')
  await fail({ u: userProvided(2) }, 'vector_embedding_error')
  await fail({ v: userProvided(2), u: userProvided(2) }, 'vector_embedding_error')
  t.is((await settings(t, server, { embedders: { v: userProvided(2) } })).status, 'succeeded')
  t.is((await server.get(`${path}/stats`)).body.numberOfEmbeddings, 2)
  const longer = await settings(t, server, { embedders: { v: userProvided(3) } })
  t.is(longer.error.code, 'invalid_settings_embedders')
  await server.settle(t, server.delete(`${path}/documents`))
  t.is((await settings(t, server, { embedders: { v: userProvided(3) } })).status, 'succeeded')
  t.is((await post(t, server, { id: 1, _vectors: { v: [1, 2, 3] } })).status, 'succeeded')
})

test('vectors are deleted with their documents', async (t) => {
  const server = await plane(t)
  const embeddings = async () => (await server.get(`${path}/stats`)).body.numberOfEmbeddings
  await server.settle(t, server.delete(`${path}/documents/a`))
  t.is(await embeddings(), 0)
  t.is((await post(t, server, { id: 'a', t: 'again' })).error.code, 'vector_embedding_error')
  await post(t, server, { id: 'a', _vectors: { v: [1, 1] } }, { id: 'b', _vectors: { v: [1, 0] } })
  t.is(await embeddings(), 2)
  await server.settle(t, server.delete(`${path}/documents`))
  t.is(await embeddings(), 0)
})

test('the last vectors of a repeated id in a payload count', async (t) => {
  const server = await plane(t)
  const task = await put(
    t,
    server,
    { id: 'x', _vectors: { v: [1, 0] } },
    { id: 'x', t: 'later' },
    { id: 'y', _vectors: { v: [1, 0] } },
    {
      id: 'y',
      _vectors: {
        v: [
          [0, 1],
          [1, 1],
        ],
      },
    },
  )
  t.is(task.status, 'succeeded')
  t.deepEqual((await stored(server, 'x'))._vectors, { v: { embeddings: [[1, 0]], regenerate: false } })
  t.deepEqual((await stored(server, 'y'))._vectors, {
    v: {
      embeddings: [
        [0, 1],
        [1, 1],
      ],
      regenerate: false,
    },
  })
})
