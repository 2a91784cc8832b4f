import { Ajv2020 } from 'ajv/dist/2020.js'
import test from 'ava'
import { startServer, type TestAnswer } from '../support/server.js'

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}
interface Described {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
  readonly security?: readonly { readonly Bearer: readonly string[] }[]
}

const document = (answer: TestAnswer): Document => JSON.parse(answer.bytes.toString()) as Document

test('the description has every route once, with its input and required actions', async (t) => {
  const server = await startServer(t, { masterKey: 'a-master-key-of-20-b' })
  const described = document(await server.get('/openapi.json', { headers: { authorization: undefined } }))
  t.is(described.openapi, '3.1.0')
  const operations = Object.values(described.paths).flatMap((methods) => Object.values(methods))
  const ids = operations.map(({ operationId }) => operationId)
  t.deepEqual(
    ids.filter((id, position) => ids.indexOf(id) !== position),
    [],
  )
  const search = described.paths['/indexes/{indexUid}/search']!
  t.deepEqual(Object.keys(search).sort(), ['get', 'post'])
  t.deepEqual(search.get?.security, [{ Bearer: ['search'] }])
  t.true(search.get?.parameters?.some(({ name }) => name === 'hybridEmbedder'))
  t.deepEqual(
    Object.keys(described.paths['/indexes/{indexUid}/documents']?.post?.requestBody?.content ?? {}),
    ['application/json', 'application/x-ndjson', 'text/csv'],
  )
  t.is(described.paths['/health']?.get?.security, undefined)
})

test('refused bodies do not match the description, accepted ones do', async (t) => {
  const server = await startServer(t)
  const described = document(await server.get('/openapi.json'))
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(described, 'api')
  const accepts = (schema: string, body: unknown): boolean =>
    ajv.compile({ $ref: `api#/components/schemas/${schema}` })(body)
  t.true(accepts('Settings', { stopWords: ['a'], pagination: { maxTotalHits: null }, embedders: null }))
  t.true(accepts('Settings', { filterableAttributes: ['a', { attributePatterns: ['b*'] }] }))
  t.false(accepts('Settings', { stopWords: 'a' }))
  t.false(accepts('Settings', { pagination: { maxTotalHits: 0 } }))
  t.false(accepts('Settings', { stop_words: [] }))
  t.false(accepts('Settings', { typoTolerance: { minWordSizeForTypos: { oneTypo: 256 } } }))
})

test('answers match the description', async (t) => {
  const masterKey = 'a-master-key-of-20-b'
  const server = await startServer(t, { masterKey, features: ['metrics', 'network', 'renderRoute'] })
  const described = document(await server.get('/openapi.json'))
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema(described, 'api')
  const documents = [
    { id: 1, title: 'Solaris', year: 1972, genre: 'drama' },
    { id: 2, title: 'Alien', year: 1979, genre: 'horror' },
  ]
  await server.settle(t, server.post('/indexes/films/documents', documents))
  await server.settle(
    t,
    server.patch('/indexes/films/settings', {
      filterableAttributes: ['genre', 'year', { attributePatterns: ['x*'] }],
      sortableAttributes: ['year'],
      localizedAttributes: [{ attributePatterns: ['*'], locales: ['eng'] }],
    }),
  )
  const failed = await server.settle(t, server.post('/indexes', { uid: 'films' }))
  t.is(failed.status, 'failed')
  const key = { actions: ['search'], indexes: ['*'], expiresAt: '2090-05-06' }

  const calls: readonly (readonly [string, string, string, unknown?])[] = [
    ['GET', '/', '/'],
    ['GET', '/health', '/health'],
    ['GET', '/ready', '/ready'],
    ['GET', '/version', '/version'],
    ['GET', '/stats', '/stats'],
    ['GET', '/stats', '/stats?sizeFormat=human&showInternalDatabaseSizes=true'],
    ['GET', '/indexes', '/indexes'],
    ['POST', '/indexes', '/indexes', { uid: 'other' }],
    ['GET', '/indexes/{indexUid}', '/indexes/films'],
    ['PATCH', '/indexes/{indexUid}', '/indexes/films', { primaryKey: 'id' }],
    ['GET', '/indexes/{indexUid}/stats', '/indexes/films/stats'],
    ['POST', '/indexes/{indexUid}/fields', '/indexes/films/fields', {}],
    ['GET', '/indexes/{indexUid}/documents', '/indexes/films/documents'],
    ['POST', '/indexes/{indexUid}/documents', '/indexes/films/documents?customMetadata=m', documents],
    ['POST', '/indexes/{indexUid}/documents/fetch', '/indexes/films/documents/fetch', { ids: [1] }],
    ['GET', '/indexes/{indexUid}/documents/{documentId}', '/indexes/films/documents/1'],
    ['GET', '/indexes/{indexUid}/settings', '/indexes/films/settings'],
    ['GET', '/indexes/{indexUid}/settings/faceting', '/indexes/films/settings/faceting'],
    [
      'GET',
      '/indexes/{indexUid}/settings/filterable-attributes',
      '/indexes/films/settings/filterable-attributes',
    ],
    ['DELETE', '/indexes/{indexUid}/settings/synonyms', '/indexes/films/settings/synonyms'],
    [
      'POST',
      '/indexes/{indexUid}/search',
      '/indexes/films/search',
      { q: 's', facets: ['genre', 'year'], showRankingScoreDetails: true, showMatchesPosition: true },
    ],
    ['POST', '/indexes/{indexUid}/search', '/indexes/films/search', { page: 1 }],
    ['GET', '/indexes/{indexUid}/search', '/indexes/films/search?q=alien'],
    [
      'POST',
      '/indexes/{indexUid}/facet-search',
      '/indexes/films/facet-search',
      { facetName: 'genre', facetQuery: 'dr' },
    ],
    ['POST', '/multi-search', '/multi-search', { queries: [{ indexUid: 'films', q: 'a' }] }],
    ['POST', '/multi-search', '/multi-search', { federation: {}, queries: [{ indexUid: 'films', q: 'a' }] }],
    ['GET', '/tasks', '/tasks'],
    ['GET', '/tasks/{uid}', `/tasks/${String(failed.uid)}`],
    ['GET', '/tasks/{uid}', `/tasks/${String(failed.uid)}?waitMs=1`],
    ['POST', '/indexes', '/indexes?waitMs=60000', { uid: 'films' }],
    ['POST', '/tasks/cancel', '/tasks/cancel?uids=0&waitMs=60000'],
    ['POST', '/tasks/cancel', '/tasks/cancel?uids=0'],
    ['GET', '/batches', '/batches'],
    ['GET', '/keys', '/keys'],
    ['POST', '/keys', '/keys', key],
    ['GET', '/experimental-features', '/experimental-features'],
    ['PATCH', '/experimental-features', '/experimental-features', { containsFilter: true }],
    ['GET', '/network', '/network'],
    ['GET', '/webhooks', '/webhooks'],
    ['POST', '/swap-indexes', '/swap-indexes', []],
    ['GET', '/indexes/{indexUid}', '/indexes/ghost'],
    ['PATCH', '/indexes/{indexUid}/settings', '/indexes/films/settings', { stopWords: 3 }],
  ]
  for (const [method, pattern, path, body] of calls) {
    const answer = await server.request(method, path, { body })
    const { responses } = described.paths[pattern]![method.toLowerCase()]!
    const status =
      responses[answer.status] === undefined ? `${Math.floor(answer.status / 100)}XX` : answer.status
    t.true(Object.hasOwn(responses, status), `${method} ${path}: ${answer.status} is described`)
    const pointer = [pattern, method.toLowerCase(), 'responses', String(status)].map((part) =>
      encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')),
    )
    const schema = `api#/paths/${pointer.join('/')}/content/${encodeURIComponent('application~1json')}/schema`
    const validate = ajv.compile({ $ref: schema })
    t.true(
      validate(JSON.parse(answer.bytes.toString())),
      `${method} ${path}: ${JSON.stringify(validate.errors?.slice(0, 3))} in ${answer.bytes.toString().slice(0, 400)}`,
    )
  }
})
