/** Requests and settings of each embedder source. */
import test from 'ava'
import { vectorOf } from '../support/provider.js'
import { type Answer, bare, generated, single, template, world } from './embedding-world.js'

test.serial('an openAi embedder sends the requests that OpenAI documents', async (t) => {
  const embedding = Array.from({ length: 1536 }, (_, at) => at)
  const answer: Answer = ({ body }) => ({
    data: (body as { input: unknown[] }).input.map(() => ({ embedding })),
  })
  const { add, provider, settings } = await world(t, answer)
  await settings({ g: { source: 'openAi', url: provider.url, apiKey: 'sk-1234', ...template } })
  t.is((await add({ id: 1, t: 'red' }, { id: 2, t: 'blue' })).status, 'succeeded')
  t.deepEqual(provider.calls[0]?.body, { model: 'text-embedding-3-small', input: ['red', 'blue'] })
  t.is(provider.calls[0]?.headers.authorization, 'Bearer sk-1234')
})

const openAiAnswer = (input: readonly unknown[]) => {
  const embedding = Array.from({ length: 1536 }, (_, at) => at + input.length)
  return { data: (typeof input[0] === 'number' ? [input] : input).map(() => ({ embedding })) }
}

test.serial(
  'texts that an openAi model refuses are sent separately, cut to its token limit if too long',
  async (t) => {
    const inputs: (readonly unknown[])[] = []
    const answer: Answer = ({ body }) => {
      const { input } = body as { input: unknown[] }
      inputs.push(input)
      const isLong = input.some((text) => typeof text === 'string' && text.length > 20_000)
      return isLong ? { status: 400, text: '{"error":"too long"}' } : openAiAnswer(input)
    }
    const { add, provider, settings, server } = await world(t, answer)
    const g = { source: 'openAi', url: provider.url, ...template, documentTemplateMaxBytes: 10_000_000 }
    t.is((await settings({ g })).status, 'succeeded')
    const long = `<|endoftext|> ${'hello world '.repeat(20_000)}`
    const unbroken = 'ab'.repeat(30_000)
    t.is((await add({ id: 1, t: 'short' }, { id: 2, t: long }, { id: 3, t: unbroken })).status, 'succeeded')
    t.deepEqual(inputs[0], ['short', long, unbroken])
    t.deepEqual(inputs[1], ['short'])
    const [, , cut, other] = inputs as [unknown, unknown, number[], number[]]
    t.is(cut.length, 8191)
    // Source: the published vocabulary cl100k_base.
    t.deepEqual(new Set(cut.slice(-1000)), new Set([24748, 1917]), '` hello` and ` world` in turn')
    t.is(other.length, 8191)
    t.true(other.every((token) => Number.isInteger(token) && token >= 0 && token < 100_256))
    t.is((await server.get('/indexes/i/stats')).body.numberOfEmbeddings, 3)
  },
)

test.serial(
  'a text that an openAi model refuses for another reason fails its batch and is named',
  async (t) => {
    const answer: Answer = ({ body }) => {
      const { input } = body as { input: unknown[] }
      return input.includes('bad') ? { status: 400, text: 'moderated' } : openAiAnswer(input)
    }
    const { add, provider, settings } = await world(t, answer)
    await settings({ g: { source: 'openAi', url: provider.url, ...template } })
    const task = await add({ id: 1, t: 'fine' }, { id: 2, t: 'bad' }, { id: 3, t: 'fine too' })
    t.regex(task.error.message, /^document `2` cannot be embedded: .*moderated/)
  },
)

for (const [path, shape] of [
  ['/api/embed', { model: 'm', input: ['red'] }],
  ['/api/embeddings', { model: 'm', prompt: 'red' }],
] as const) {
  test.serial(`an ollama embedder sends the requests that Ollama documents for ${path}`, async (t) => {
    const answer: Answer = () => (path === '/api/embed' ? { embeddings: [[1, 2]] } : { embedding: [1, 2] })
    const { add, provider, settings } = await world(t, answer)
    const url = `${provider.url}${path}`
    t.is((await settings({ g: { source: 'ollama', model: 'm', url, ...template } })).status, 'succeeded')
    t.is((await add({ id: 1, t: 'red' })).status, 'succeeded')
    t.deepEqual(provider.calls.at(-1)?.body, shape)
  })
}

test.serial('an ollama embedder with another path is refused', async (t) => {
  const { provider, settings } = await world(t, bare)
  const task = await settings({ g: { source: 'ollama', model: 'm', url: provider.url } })
  t.is(task.error.code, 'vector_embedding_error')
})

test.serial('a composite embedder whose embedders make different vectors fails its task', async (t) => {
  const answer: Answer = ({ path, body }) =>
    path === '/three' ? [1, 2, 3] : path === '/other' ? [-1, 1] : [...vectorOf(body)]
  const { provider, settings } = await world(t, answer)
  const { dimensions: _dimensions, ...half } = single
  const composite = (path: string) => ({
    source: 'composite',
    indexingEmbedder: { ...half, url: provider.url },
    searchEmbedder: { ...half, url: `${provider.url}${path}` },
  })
  t.is((await settings({ g: composite('/three') })).error.code, 'vector_embedding_error')
  t.is((await settings({ g: composite('/other') })).error.code, 'vector_embedding_error')
  t.is((await settings({ g: composite('/') })).status, 'succeeded')
})

/** Sources that `g` changes to → the vector of a document that they embed. */
const longerSources: Readonly<Record<string, readonly [object, number]>> = {
  rest: [{ ...single, dimensions: 3 }, 3],
  ollama: [{ source: 'ollama', model: 'm', dimensions: 4 }, 4],
  openAi: [{ source: 'openAi', apiKey: 'sk-1234' }, 1536],
}
for (const [name, [fields, dimensions]] of Object.entries(longerSources))
  test.serial(`a change to ${name} with other dimensions drops the vectors of clients`, async (t) => {
    const embedding = Array.from({ length: dimensions }, (_, at) => at + 1)
    const answer: Answer = ({ path, body }) => {
      if (path === '/api/embed') return { embeddings: [embedding] }
      return Object.hasOwn(Object(body), 'input') ? { data: [{ embedding }] } : embedding
    }
    const { add, provider, search, settings, vectors } = await world(t, answer)
    await settings({ g: { source: 'userProvided', dimensions: 2 } })
    const regenerated = { embeddings: [[1, 2]], regenerate: true }
    await add({ id: 1, _vectors: { g: [3, 4] } }, { id: 2, _vectors: { g: null } })
    await add({ id: 3, t: 'red', _vectors: { g: regenerated } })
    const longer = await settings({ g: { dimensions: 3 } })
    t.is(longer.error.code, 'invalid_settings_embedders', 'no source makes vectors of three dimensions')
    t.deepEqual(await vectors('1'), { g: { embeddings: [[3, 4]], regenerate: false } })

    const url = name === 'ollama' ? `${provider.url}/api/embed` : provider.url
    const changed = await settings({ g: { url, ...fields, ...template } })
    t.is(changed.status, 'succeeded', JSON.stringify(changed.error))
    t.is(provider.calls.length, 1, 'documents of `regenerate: false` are not embedded')
    for (const id of ['1', '2']) t.deepEqual(await vectors(id), { g: { embeddings: [], regenerate: false } })
    t.deepEqual(await vectors('3'), generated(embedding))
    const hybrid = { embedder: 'g', semanticRatio: 1 }
    const { body } = await search({ vector: embedding, hybrid, showRankingScore: true })
    t.deepEqual(
      body.hits.map(({ id, _rankingScore: score }) => [id, score]),
      [
        [3, 1],
        [1, 0],
        [2, 0],
      ],
    )
    t.is((await add({ id: 1, _vectors: { g: embedding } })).status, 'succeeded')
    t.deepEqual(await vectors('1'), { g: { embeddings: [embedding], regenerate: false } })
    const back = await settings({ g: { source: 'userProvided', dimensions: 2 } })
    t.is(back.error.code, 'invalid_settings_embedders')
  })

const fragmented = {
  source: 'rest',
  dimensions: 2,
  request: '{{fragment}}',
  response: '{{embedding}}',
  indexingFragments: { txt: { value: '{{doc.t}}' }, img: { value: { u: '{{doc.u}}' } } },
  searchFragments: { q: { value: '{{q}}' }, m: { value: { u: '{{media.u}}' } } },
}

test.serial('a document has a vector for each fragment whose fields it has', async (t) => {
  const { add, settings, vectors, provider, search } = await world(t, bare, fragmented)
  t.is((await add({ id: 1, t: 'red' }, { id: 2, t: 'blue', u: 'x' })).status, 'succeeded')
  t.deepEqual(await vectors('1'), generated([3, 18]))
  t.deepEqual(await vectors('2'), generated([9, 27], [4, 2]))
  const found = async (filter: string) => (await search({ filter })).body.hits.map(({ id }) => id)
  t.deepEqual(await found('_vectors.g.fragments.img EXISTS'), [2])
  t.deepEqual(await found('_vectors.g.fragments.txt EXISTS'), [1, 2])
  t.deepEqual(await found('_vectors.g.documentTemplate EXISTS'), [])
  const before = provider.calls.length
  await settings({ g: { indexingFragments: { also: { value: 'a {{doc.t}}' } } } })
  t.is(provider.calls.length, before + 2)
  t.deepEqual(await vectors('2'), generated([9, 27], [4, 2], [6, 1]))
  await settings({ g: { indexingFragments: { img: null } } })
  t.is(provider.calls.length, before + 2)
  t.deepEqual(await vectors('2'), generated([4, 2], [6, 1]))
})

test.serial('a search that matches no search fragment, or several, is refused', async (t) => {
  const { add, search, provider } = await world(t, bare, fragmented)
  await add({ id: 1, t: 'red' })
  const hybrid = { embedder: 'g', semanticRatio: 1 }
  t.is((await search({ media: { u: 'x' }, hybrid })).status, 200)
  t.deepEqual(provider.calls.at(-1)?.body, { u: 'x' })
  t.is((await search({ q: 'a', media: { u: 'x' }, hybrid })).body.code, 'vector_embedding_error')
})
