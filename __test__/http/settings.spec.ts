import test from 'ava'
import { freshSettings } from '../support/fresh-settings.js'
import { checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const path = '/indexes/a/settings'

test('a fresh index shows twenty settings in their order', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  t.is((await server.get(path)).bytes.toString(), JSON.stringify(freshSettings))
  await server.patch('/experimental-features', { foreignKeys: true, chatCompletions: true })
  t.deepEqual(Object.keys((await server.get(path)).body).slice(4, 5), ['foreignKeys'])
})

test('every setting is written, read and reset by its own route', async (t) => {
  const server = await startServer(t)
  const values = [
    ['PUT', 'displayed-attributes', ['t'], ['*']],
    ['PUT', 'searchable-attributes', ['t', 'b'], ['*']],
    ['PUT', 'filterable-attributes', ['t'], []],
    ['PUT', 'sortable-attributes', ['t'], []],
    ['PUT', 'ranking-rules', ['words', 'price:asc'], null],
    ['PUT', 'stop-words', ['a', 'the'], []],
    ['PUT', 'non-separator-tokens', ['#'], []],
    ['PUT', 'separator-tokens', ['|'], []],
    ['PUT', 'dictionary', ['J.R.R.'], []],
    ['PUT', 'synonyms', { car: ['auto'] }, {}],
    ['PUT', 'distinct-attribute', 'sku', null],
    ['PUT', 'proximity-precision', 'byAttribute', 'byWord'],
    ['PUT', 'localized-attributes', [{ attributePatterns: ['*_ja'], locales: ['jpn'] }], null],
    ['PUT', 'search-cutoff-ms', 100, null],
    ['PUT', 'facet-search', false, true],
    ['PUT', 'prefix-search', 'disabled', 'indexingTime'],
    ['PATCH', 'pagination', { maxTotalHits: 30 }, { maxTotalHits: 1000 }],
    ['PATCH', 'faceting', { maxValuesPerFacet: 3, sortFacetValuesBy: { '*': 'count' } }, null],
  ] as const
  for (const [method, segment, value, fallback] of values) {
    const url = `${path}/${segment}`
    const task = await server.settle(t, server.request(method, url, { body: JSON.stringify(value) }))
    t.is(task.status, 'succeeded', `${segment}: ${JSON.stringify(task.error)}`)
    t.deepEqual(JSON.parse((await server.get(url)).bytes.toString()), value, segment)
    const reset = await server.settle(t, server.delete(url))
    t.is(reset.type, 'settingsUpdate')
    const shown = JSON.parse((await server.get(url)).bytes.toString())
    if (fallback === null) t.notDeepEqual(shown, value, segment)
    else t.deepEqual(shown, fallback, segment)
  }
})

test('a partial update changes only the sent settings, null resets', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.patch(path, { stopWords: ['the', 'a'], distinctAttribute: 'sku' }))
  const task = await server.settle(t, server.patch(path, { stopWords: null, sortableAttributes: ['z', 'b'] }))
  t.deepEqual(task.details as unknown, { sortableAttributes: ['b', 'z'], stopWords: null })
  const { body } = await server.get(path)
  t.deepEqual([body.stopWords, body.distinctAttribute, body.sortableAttributes], [[], 'sku', ['b', 'z']])
  await server.settle(t, server.delete(path))
  t.is((await server.get(path)).body.distinctAttribute, null)
})

test('invalid settings are refused with the code of the setting and change nothing', async (t) => {
  const server = await startServer(t)
  const bad = (segment: string, body: unknown, method = 'PUT') => ({
    method,
    path: `${path}/${segment}`,
    body: JSON.stringify(body),
    code: `invalid_settings_${segment.replaceAll('-', '_')}`,
  })
  await checkRefusals(t, server, [
    bad('stop-words', 'the'),
    bad('stop-words', ['the', 3]),
    bad('displayed-attributes', {}),
    bad('filterable-attributes', [{ features: {} }]),
    bad('ranking-rules', ['wordz']),
    bad('ranking-rules', ['attribute', 'wordPosition']),
    bad('synonyms', { a: 'b' }),
    bad('distinct-attribute', 3),
    bad('proximity-precision', 'byLetter'),
    bad('search-cutoff-ms', -1),
    bad('facet-search', 'yes'),
    bad('localized-attributes', [{ attributePatterns: ['*'], locales: ['klingon'] }]),
    bad('typo-tolerance', { minWordSizeForTypos: { oneTypo: 9, twoTypos: 5 } }, 'PATCH'),
    bad('typo-tolerance', { ghost: 1 }, 'PATCH'),
    bad('faceting', { sortFacetValuesBy: { a: 'size' } }, 'PATCH'),
    bad('pagination', { maxTotalHits: 0 }, 'PATCH'),
    {
      method: 'PATCH',
      path,
      body: { stopWords: 'the' },
      code: 'invalid_settings_stop_words',
      names: '.stopWords',
    },
    { method: 'PATCH', path, body: { stop_words: [] }, code: 'bad_request', names: 'stopWords' },
    { method: 'PATCH', path, body: [], code: 'bad_request' },
    { method: 'PATCH', path, body: '{"__proto__":[]}', code: 'bad_request' },
    { method: 'PATCH', path, body: { foreignKeys: [] }, code: 'feature_not_enabled' },
    { method: 'PATCH', path, body: '{', code: 'malformed_payload' },
    { method: 'PUT', path: `${path}/dictionary`, code: 'missing_content_type', status: 415 },
    { method: 'PATCH', path: '/indexes/a%20b/settings', body: {}, code: 'invalid_index_uid' },
  ])
  t.is((await server.get('/tasks')).body.total, 0)
})

test('the search of a chat setting needs the embedder of `hybrid`', async (t) => {
  const server = await startServer(t, { features: ['chatCompletions'] })
  const hybrid = (value: object | null) => ({ searchParameters: { hybrid: value } })
  const refused = { method: 'PATCH', path: `${path}/chat`, code: 'invalid_settings_index_chat' }
  await checkRefusals(t, server, [
    { ...refused, body: hybrid({}), names: '.searchParameters.hybrid' },
    { ...refused, body: hybrid({ semanticRatio: 0.3 }) },
    { ...refused, body: hybrid({ embedder: null }) },
    { ...refused, body: hybrid({ embedder: 'e', semanticRatio: 2 }) },
  ])
  await server.settle(t, server.patch(`${path}/chat`, hybrid({ embedder: 'e' })))
  const { body } = await server.get(`${path}/chat`)
  t.deepEqual(body.searchParameters, { hybrid: { embedder: 'e', semanticRatio: 0.5 } })
  await server.settle(t, server.patch(`${path}/chat`, hybrid(null)))
  t.deepEqual((await server.get(`${path}/chat`)).body.searchParameters, {})
})
