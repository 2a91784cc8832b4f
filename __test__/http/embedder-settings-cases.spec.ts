/** Edge cases of embedder settings: masked and default values, refusals, and the cost of changes. */
import test, { type ExecutionContext } from 'ava'
import { startServer, type TestServer } from '../support/server.js'
import { type Answer, bare, batched, generated, single, template, world } from './embedding-world.js'

const path = '/indexes/i/settings/embedders'
const patch = (server: TestServer, embedders: object) => server.patch(path, embedders)
const settled = (t: ExecutionContext, server: TestServer, embedders: object) =>
  server.settle(t, patch(server, embedders))

test('an openAi embedder is shown with the defaults of its source and a masked key', async (t) => {
  const server = await startServer(t)
  const masks: readonly (readonly [key: string, mask: string])[] = [
    ['sk-abcdefghijkl', 'skXXXX...'],
    ['abc', 'XXX...'],
    [`k1234${'x'.repeat(20)}`, 'k12XXXXX...'],
    [`sk-pr${'x'.repeat(35)}`, 'sk-prXXXXXX...'],
  ]
  for (const [apiKey, mask] of masks) {
    const task = await settled(t, server, { o: { apiKey } })
    t.is(task.status, 'succeeded')
    t.is((task.details as { embedders?: { o: { apiKey: string } } }).embedders?.o.apiKey, mask)
    const { o } = (await server.get(path)).body as unknown as { o: Record<string, unknown> }
    t.like(o, {
      source: 'openAi',
      model: 'text-embedding-3-small',
      apiKey: mask,
      documentTemplateMaxBytes: 400,
    })
    t.false('dimensions' in o)
    t.true(String(o.documentTemplate).includes('is_searchable'))
  }
})

test('unsupported dimensions of a model are refused at once, or by the task of a change', async (t) => {
  const server = await startServer(t)
  const ada = { model: 'text-embedding-ada-002', dimensions: 512 }
  const code = 'invalid_settings_embedders'
  const refused = await patch(server, { o: { source: 'openAi', ...ada } })
  t.deepEqual([refused.status, refused.body.code], [400, code])
  t.is((await settled(t, server, { o: ada })).error.code, code)
  for (const dimensions of [1537, 0, 1.5, '3']) {
    const answer = await patch(server, {
      o: { source: 'openAi', model: 'text-embedding-3-small', dimensions },
    })
    t.deepEqual([answer.status, answer.body.code], [400, code], String(dimensions))
  }
  t.is((await patch(server, { o: { source: 'openAi', model: 'gpt' } })).body.code, code)
})

test('invalid request templates are refused at once', async (t) => {
  const server = await startServer(t)
  const rest = { source: 'rest', url: 'http://localhost/', response: '{{embedding}}' }
  for (const g of [
    { ...rest, request: { in: 'say {{text}}' } },
    { ...rest, request: { in: ['{{text}}', '{{..}}'] }, response: { out: '{{embedding}}' } },
    { ...rest, request: '{{text}}', response: ['{{embedding}}', '{{..}}'] },
    { ...rest, request: ['{{text}}', '{{text}}'] },
    { ...rest, request: { a: '{{text}}', b: ['{{text}}', '{{..}}'] } },
  ]) {
    const { status, body } = await patch(server, { g })
    t.deepEqual([status, body.code], [400, 'vector_embedding_error'], JSON.stringify(g))
  }
})

test('templates with unknown tags or filters are refused at once', async (t) => {
  const server = await startServer(t)
  const refused = [
    '{{ doc.t | json }}',
    '{{ doc.t | sum }}',
    '{{ doc.t | push: 1 }}',
    '{% if doc.t | nothing %}{% endif %}',
    '{% assign a = doc.t | nothing %}',
    '{% liquid echo doc.t %}',
    '{% echo doc.t %}',
    '{% # a comment %}',
    '{% layout "a" %}',
    '{% block a %}{% endblock %}',
    '{% nothing %}',
    '{% if doc.t %}',
    '{{ doc.t',
    '{% endif %}',
  ]
  for (const documentTemplate of refused) {
    const { status, body } = await patch(server, { o: { source: 'openAi', documentTemplate } })
    t.deepEqual([status, body.code], [400, 'invalid_settings_embedders'], documentTemplate)
  }
})

test('accepted templates render with every filter of the dialect', async (t) => {
  const { add, settings, provider } = await world(t, bare)
  const onText =
    'append: "x"|capitalize|downcase|escape|escape_once|lstrip|newline_to_br|prepend: "x"|remove: "x"|' +
    'remove_first: "x"|replace: "x", "y"|replace_first: "x", "y"|rstrip|size|slice: 0, 2|strip|strip_html|' +
    'strip_newlines|truncate: 5|truncatewords: 2|upcase|url_decode|url_encode|default: "x"|date: "%Y"'
  const onNumber =
    'abs|at_least: 1|at_most: 9|ceil|divided_by: 2|floor|minus: 1|modulo: 2|plus: 1|round|times: 2'
  const onList = 'compact|concat: doc.l|first|join: ","|last|reverse|sort|sort_natural|uniq|size'
  const each = (name: string, filters: string) =>
    filters.split('|').map((filter) => `{{ doc.${name} | ${filter} }};`)
  const others = [
    '{{ doc.t | split: "e" | join: "-" }};',
    '{{ doc.o | map: "k" | first }};',
    '{{ doc.o | where: "k", 1 | size }};',
  ]
  const documentTemplate = [
    ...each('t', onText),
    ...each('n', onNumber),
    ...each('l', onList),
    ...others,
  ].join('')
  const g = { ...single, url: provider.url, documentTemplate, documentTemplateMaxBytes: 10_000 }
  t.is((await settings({ g })).status, 'succeeded')
  const task = await add({ id: 1, t: 'red wine', n: -3.5, l: ['b', 'a'], o: [{ k: 1 }, { k: 2 }] })
  t.is(task.status, 'succeeded', task.error?.message)
  const text = String(provider.calls[0]?.body)
  t.regex(text, /^red winex;Red wine;red wine;/)
  t.regex(text, /;r-d win;1;1;$/)
})

test('a rest embedder accepts a change of headers alone, but a sent source requires all mandatory fields', async (t) => {
  const { add, settings, server, provider } = await world(t, bare, { ...single, ...template })
  await add({ id: 1, t: 'red' })
  t.is(provider.calls.length, 1)
  t.is((await settings({ g: { headers: { 'x-a': '1' } } })).status, 'succeeded')
  t.is(provider.calls.length, 1)
  const { status, body } = await patch(server, { g: { source: 'rest', headers: {} } })
  t.deepEqual([status, body.code], [400, 'invalid_settings_embedders'])
  t.is((await settings({ g: { url: null } })).error.code, 'invalid_settings_embedders')
})

test('composite embedders and fragments need their features', async (t) => {
  const server = await startServer(t)
  const half = { source: 'ollama', model: 'm' }
  const composite = { source: 'composite', searchEmbedder: half, indexingEmbedder: half }
  t.is((await patch(server, { g: composite })).body.code, 'feature_not_enabled')
  const rest = {
    source: 'rest',
    url: 'http://localhost/',
    request: '{{fragment}}',
    response: '{{embedding}}',
  }
  const fragments = { searchFragments: { a: { value: 'a' } } }
  t.is((await patch(server, { g: { ...rest, ...fragments } })).body.code, 'feature_not_enabled')
})

test('OpenAI models have the published score distributions', async (t) => {
  const server = await startServer(t)
  const shifts: readonly (readonly [model: string, scores: readonly (readonly [number, number])[]])[] = [
    [
      'text-embedding-3-small',
      [
        [0.85, 0.9],
        [0.75, 0.5],
        [0.6, 2 ** -23],
      ],
    ],
    [
      'text-embedding-3-large',
      [
        [0.8, 0.9],
        [0.6, 0.1],
      ],
    ],
    [
      'text-embedding-ada-002',
      [
        [0.95, 0.75],
        [0.9, 0.5],
      ],
    ],
  ]
  for (const [model, scores] of shifts) {
    const fixed = model.endsWith('002')
    const length = fixed ? 1536 : 2
    const dimensions = fixed ? {} : { dimensions: 2 }
    await server.settle(t, server.delete('/indexes/i'))
    t.is((await settled(t, server, { o: { source: 'openAi', model, ...dimensions } })).status, 'succeeded')
    const padded = (...head: number[]) => [...head, ...Array<number>(length - 2).fill(0)]
    const documents = scores.map(([similarity], id) => {
      const cosine = 2 * similarity - 1
      return { id, _vectors: { o: padded(cosine, Math.sqrt(1 - cosine * cosine)) } }
    })
    t.is((await server.settle(t, server.post('/indexes/i/documents', documents))).status, 'succeeded')
    const hybrid = { embedder: 'o', semanticRatio: 1 }
    const search = { vector: padded(1, 0), hybrid, showRankingScore: true }
    const { body } = await server.post('/indexes/i/search', search)
    t.is(body.hits.length, scores.length, model)
    for (const [at, [, shown]] of scores.entries()) {
      const score = body.hits[at]?._rankingScore as number
      t.true(Math.abs(score - shown) < 1e-5, `${model}: ${score} is not ${shown}`)
    }
  }
})

test('a rendered text is cut at the end of a character', async (t) => {
  const { add, settings, provider } = await world(t, bare, { ...single, ...template })
  for (const [documentTemplateMaxBytes, text] of [
    [5, 'naïv'],
    [4, 'naï'],
    [3, 'na'],
  ] as const) {
    await settings({ g: { documentTemplateMaxBytes } })
    await add({ id: documentTemplateMaxBytes, t: 'naïveté' })
    t.is(provider.calls.at(-1)?.body, text)
  }
})

test('an answer with too few vectors fails without a retry', async (t) => {
  const short: Answer = () => ({ data: [{ embedding: [1, 2] }, { embedding: [1, 2] }] })
  const { add, provider } = await world(t, short, { ...batched, ...template })
  const task = await add({ id: 1, t: 'a' }, { id: 2, t: 'b' }, { id: 3, t: 'c' })
  t.is(task.error.code, 'vector_embedding_error')
  t.regex(task.error.message, /expected 3, found 2/)
  t.is(provider.calls.length, 1)
})

test('a replaced document keeps its sent vectors, and regenerates vectors on request', async (t) => {
  const { add, update, vectors, provider } = await world(t, bare, { ...single, ...template })
  await add({ id: 1, t: 'red', _vectors: { g: [0, 1] } })
  await add({ id: 1, t: 'x' })
  t.deepEqual(await vectors('1'), { g: { embeddings: [[0, 1]], regenerate: false } })
  const dropping = await add({ id: 1, _vectors: { g: { regenerate: true } } })
  t.is(dropping.error.code, 'invalid_document_fields', 'the template needs a field that is gone')
  t.is(provider.calls.length, 0)
  await update({ id: 1, _vectors: { g: { regenerate: true } } })
  t.is(provider.calls.length, 1)
  t.deepEqual(await vectors('1'), generated([1, 24]))
})
