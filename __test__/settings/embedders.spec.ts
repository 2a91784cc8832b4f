/** Cost of embedder changes, and the facts stored with embedders. */
import test from 'ava'
import {
  defaultIndexSettings,
  type IndexSettings,
  mergeSettings,
  parseRequestTemplate,
  type Remake,
  RequestTemplateError,
  remakesBetween,
  renderSetting,
} from '../../ts/settings/index.js'

const rest = {
  source: 'rest',
  url: 'http://a/',
  request: '{{text}}',
  response: '{{embedding}}',
  dimensions: 2,
}
const openAi = { source: 'openAi' }
const fragments = {
  indexingFragments: { a: { value: '{{doc.a}}' } },
  searchFragments: { q: { value: '{{q}}' } },
}
const withEmbedder = (g: object, from: IndexSettings = defaultIndexSettings) =>
  mergeSettings(from, { embedders: { g } })

const costs: readonly (readonly [name: string, before: object, change: object, cost: Remake | undefined])[] =
  [
    ['nothing', rest, {}, undefined],
    ['the source', rest, openAi, 'all'],
    ['the model', openAi, { model: 'text-embedding-3-large' }, 'all'],
    ['dimensions of openAi', openAi, { dimensions: 512 }, 'all'],
    ['dimensions of rest', rest, { dimensions: 3 }, undefined],
    ['the url of rest', rest, { url: 'http://b/' }, 'all'],
    ['the url of openAi', openAi, { url: 'http://b/' }, undefined],
    ['the request', rest, { request: { text: '{{text}}' } }, 'all'],
    ['the response', rest, { response: { vector: '{{embedding}}' } }, 'all'],
    ['the template', rest, { documentTemplate: '{{doc.a}}' }, 'changed'],
    ['a longer cut', rest, { documentTemplateMaxBytes: 500 }, 'changed'],
    ['a shorter cut', rest, { documentTemplateMaxBytes: 300 }, undefined],
    ['the first fragment', rest, { ...fragments, request: '{{fragment}}' }, 'all'],
    ['another fragment', { ...rest, ...fragments }, { indexingFragments: { b: { value: 'b' } } }, 'changed'],
    ['a search fragment', { ...rest, ...fragments }, { searchFragments: { m: { value: 'm' } } }, undefined],
    [
      'key, headers and distribution',
      rest,
      { apiKey: 'k', headers: { a: 'b' }, distribution: { mean: 0.5, sigma: 0.5 } },
      undefined,
    ],
  ]
for (const [name, before, change, cost] of costs) {
  test(`a change of ${name} costs as the table says`, (t) => {
    const old = withEmbedder(before)
    t.is(remakesBetween(old, withEmbedder(change, old)).g, cost)
  })
}

test('fields that become searchable render again only templates that iterate over fields', (t) => {
  const searchable = { searchableAttributes: ['a'] }
  const usual = withEmbedder(rest)
  t.is(remakesBetween(usual, mergeSettings(usual, searchable)).g, 'changed')
  const own = withEmbedder({ ...rest, documentTemplate: '{{doc.a}}' })
  t.is(remakesBetween(own, mergeSettings(own, searchable)).g, undefined)
})

test('fragments keep their numbers until they are removed', (t) => {
  const numbers = (settings: IndexSettings) =>
    (settings.embedders.g as { known: { fragments: object } }).known.fragments
  const first = withEmbedder({
    ...rest,
    ...fragments,
    indexingFragments: { b: { value: 'b' }, c: { value: 'c' } },
  })
  t.deepEqual(numbers(first), { b: 0, c: 1 })
  const second = withEmbedder({ indexingFragments: { a: { value: 'a' }, b: null } }, first)
  t.deepEqual(numbers(second), { a: 0, c: 1 })
})

test('an embedder without any fragment uses its template again', (t) => {
  const first = withEmbedder({ ...rest, ...fragments, request: '{{fragment}}' })
  const none = { indexingFragments: { a: null }, searchFragments: { q: null }, request: '{{text}}' }
  for (const g of [withEmbedder(none, first), withEmbedder({ indexingFragments: {}, ...rest })]) {
    const shown = (renderSetting(g, 'embedders') as { g: object }).g
    t.false(Object.hasOwn(shown, 'indexingFragments'))
    t.true(Object.hasOwn(shown, 'documentTemplate'))
  }
  t.is(remakesBetween(first, withEmbedder(none, first)).g, 'all')
})

const nestedChanges: readonly (readonly [name: string, change: object, after: object])[] = [
  ['null resets a field', { ...rest, dimensions: null }, { ...rest, dimensions: undefined, apiKey: 'k' }],
  [
    'another source drops the fields that it forbids',
    { source: 'ollama', model: 'm' },
    { source: 'ollama', model: 'm', apiKey: 'k', documentTemplate: 'x' },
  ],
]
for (const [name, change, after] of nestedChanges) {
  test(`in an indexing embedder, ${name}`, (t) => {
    const indexingEmbedder = { ...rest, apiKey: 'k', documentTemplate: 'x' }
    const first = withEmbedder({ source: 'composite', searchEmbedder: rest, indexingEmbedder })
    const merged = withEmbedder({ indexingEmbedder: change }, first).embedders.g!.indexingEmbedder
    t.like(merged, after)
    t.false(Object.values(merged as object).includes(null))
    t.is(Object.hasOwn(merged as object, 'url'), Object.hasOwn(change, 'url'))
  })
}

test('a search embedder is replaced, and shows no fields that are null', (t) => {
  const nested = { source: 'composite', searchEmbedder: { ...rest, apiKey: null }, indexingEmbedder: rest }
  t.deepEqual(withEmbedder(nested).embedders.g!.searchEmbedder, rest)
})

test('discovered dimensions of an embedder are not shown', (t) => {
  const { dimensions: _dimensions, ...g } = rest
  const settings = withEmbedder(g)
  const learned = { ...settings, embedders: { g: { ...settings.embedders.g, known: { dimensions: 7 } } } }
  t.false(Object.hasOwn((renderSetting(learned, 'embedders') as { g: object }).g, 'known'))
})

const faulty: readonly unknown[] = [
  {},
  'say {{text}}',
  ['{{text}}', '{{text}}'],
  { a: '{{text}}', b: '{{..}}' },
  ['{{..}}', '{{text}}'],
  ['{{text}}', '{{..}}', '{{..}}'],
  [['{{text}}', '{{..}}'], '{{..}}'],
  [{ a: '{{text}}' }, 'x', '{{..}}'],
]
for (const value of faulty) {
  test(`a request template ${JSON.stringify(value)} that cannot hold a text is refused`, (t) => {
    t.throws(() => parseRequestTemplate(value, '{{text}}'), { instanceOf: RequestTemplateError })
  })
}
