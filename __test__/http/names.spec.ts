/** Names with a special meaning in JavaScript work like any other. */
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { startFromArchive } from '../../ts/cli/start-from-archive.js'
import { openLog } from '../../ts/telemetry/index.js'
import { tempDir } from '../backup/archives.js'
import { startProvider, vectorOf } from '../support/provider.js'
import { startReceiver } from '../support/receiver.js'
import { startServer, type TestBody, type TestServer, testEngine } from '../support/server.js'

const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf']

/** A member per name, as own properties, even if assignment would set a prototype. */
const byName = <T>(value: (name: string) => T): Readonly<Record<string, T>> =>
  Object.fromEntries(names.map((name) => [name, value(name)]))

/** Compares as text: some comparisons of objects overlook a key such as `__proto__`. */
function sameJson(t: ExecutionContext, found: unknown, expected: unknown, what = ''): void {
  t.is(JSON.stringify(found), JSON.stringify(expected), what)
}

const local = { allowedNetworks: ['127.0.0.0/8'] }
const path = '/indexes/a'
const settle = async (t: ExecutionContext, server: TestServer, accepted: ReturnType<TestServer['get']>) => {
  const task = await server.settle(t, accepted)
  t.is(task.status, 'succeeded', JSON.stringify(task.error))
  return task
}

test('an embedder of any name keeps its settings, its vectors and its searches', async (t) => {
  const server = await startServer(t, { features: ['multimodal'] })
  const embedders = byName(() => ({ source: 'userProvided', dimensions: 2 }))
  await settle(t, server, server.patch(`${path}/settings`, { embedders }))
  sameJson(t, (await server.get(`${path}/settings/embedders`)).body, embedders)
  const document = { id: 1, _vectors: byName(() => [1, 0]) }
  await settle(
    t,
    server,
    server.post(`${path}/documents`, [document, { id: 2, _vectors: byName(() => null) }]),
  )
  for (const embedder of names) {
    const search = {
      vector: [1, 0],
      hybrid: { embedder, semanticRatio: 1 },
      filter: `_vectors.${embedder} EXISTS`,
    }
    const { body } = await server.post(`${path}/search`, search)
    sameJson(t, body.hits, [{ id: 1 }], embedder)
    t.is((await server.post(`${path}/similar`, { id: 1, embedder })).status, 200, embedder)
  }
  const { body } = await server.get(`${path}/documents/1?retrieveVectors=true`)
  sameJson(t, Object.keys(body._vectors as object), names)
  t.like((await server.get(`${path}/stats`)).body, { numberOfEmbeddings: names.length })
  const gone = byName(() => null)
  await settle(t, server, server.patch(`${path}/settings`, { embedders: gone }))
  sameJson(t, (await server.get(`${path}/settings/embedders`)).body, {})
})

test('an unknown embedder is refused, even under a name that every object inherits', async (t) => {
  const server = await startServer(t, { features: ['renderRoute', 'multimodal'] })
  await settle(t, server, server.post(`${path}/documents`, [{ id: 1 }]))
  for (const embedder of names) {
    const hybrid = { embedder, semanticRatio: 1 }
    t.is(
      (await server.post(`${path}/search`, { q: 'x', hybrid })).body.code,
      'invalid_search_embedder',
      embedder,
    )
    const similar = await server.post(`${path}/similar`, { id: 1, embedder })
    t.is(similar.body.code, 'invalid_similar_embedder', embedder)
    const template = { kind: 'documentTemplate', indexUid: 'a', embedder }
    const rendered = await server.post('/render-template', { template })
    t.is(rendered.body.code, 'invalid_render_template', embedder)
  }
})

test('fragments and headers of any name reach the provider', async (t) => {
  const provider = await startProvider(t, ({ body }) => vectorOf(JSON.stringify(body)).slice())
  const server = await startServer(t, { ...local, features: ['multimodal'] })
  const fragments = byName((name) => ({ value: `${name} {{doc.id}}` }))
  const embedder = {
    source: 'rest',
    url: provider.url,
    dimensions: 2,
    request: '{{fragment}}',
    response: '{{embedding}}',
    headers: byName((name) => `value of ${name}`),
    indexingFragments: fragments,
    searchFragments: { q: { value: '{{q}}' } },
  }
  await settle(t, server, server.patch(`${path}/settings`, { embedders: { e: embedder } }))
  await settle(t, server, server.post(`${path}/documents`, [{ id: 1 }]))
  t.deepEqual(provider.calls.map(({ body }) => body).sort(), names.map((name) => `${name} 1`).sort())
  const sent = provider.calls[0]?.rawHeaders ?? []
  for (const name of names) t.is(sent[sent.indexOf(name) + 1], `value of ${name}`)
  for (const name of names) {
    const filter = `_vectors.e.fragments.${name} EXISTS`
    t.is((await server.post(`${path}/search`, { filter })).body.hits.length, 1, name)
  }
})

test('settings, documents, facets and sorts accept attributes of any name', async (t) => {
  const server = await startServer(t)
  const settings = {
    filterableAttributes: names,
    sortableAttributes: names,
    synonyms: byName(() => ['y']),
    faceting: { sortFacetValuesBy: byName(() => 'count') },
    typoTolerance: { disableOnAttributes: names, disableOnWords: names },
    localizedAttributes: [{ attributePatterns: names, locales: ['eng'] }],
  }
  const task = await settle(t, server, server.patch(`${path}/settings`, settings))
  sameJson(t, task.details.synonyms, settings.synonyms)
  const shown = (await server.get(`${path}/settings`)).body as unknown as typeof settings
  sameJson(t, shown.synonyms, settings.synonyms)
  sameJson(t, shown.faceting.sortFacetValuesBy, { '*': 'alpha', ...settings.faceting.sortFacetValuesBy })
  const documents = [
    { id: 1, ...byName((name) => name) },
    { id: 2, ...byName(() => 3) },
  ]
  await settle(t, server, server.post(`${path}/documents`, documents))
  sameJson(t, (await server.get(`${path}/documents`)).body.results, documents)
  for (const name of names) {
    const search = {
      q: name,
      facets: names,
      filter: `${name} = ${name}`,
      sort: [`${name}:asc`],
      distinct: name,
      attributesToRetrieve: [name],
      attributesToHighlight: [name],
      attributesToCrop: [name],
      attributesToSearchOn: [name],
      showMatchesPosition: true,
    }
    const { status, body } = await server.post(`${path}/search`, search)
    t.is(status, 200, JSON.stringify(body))
    const [hit] = body.hits
    t.is(Object.getOwnPropertyDescriptor(hit, name)?.value, name)
    sameJson(t, Object.keys(hit?._formatted as object), [name])
    sameJson(t, Object.keys(hit?._matchesPosition as object), [name])
    sameJson(
      t,
      body.facetDistribution,
      byName((facet) => ({ [facet]: 1 })),
    )
    const facets = await server.post(`${path}/facet-search`, {
      facetName: name,
      facetQuery: name.slice(0, 3),
    })
    sameJson(t, facets.body.facetHits, [{ value: name, count: 1 }])
  }
  const { body } = await server.post(`${path}/search`, { facets: names })
  sameJson(
    t,
    body.facetStats,
    byName(() => ({ min: 3, max: 3 })),
  )
  const { fieldDistribution } = (await server.get(`${path}/stats`)).body
  for (const name of names) t.is(Object.getOwnPropertyDescriptor(fieldDistribution, name)?.value, 2, name)
  const fields = (await server.post(`${path}/fields`, { limit: 100 })).body.results
  t.true(fields.length > 1)
  for (const { name, filterable } of fields) {
    if (name !== 'id') t.like(filterable, { enabled: true, sortBy: 'count' }, String(name))
  }
})

test('indexes of any name are listed, counted, joined and exported', async (t) => {
  const [server, other] = await Promise.all([startServer(t, local), startServer(t)])
  for (const uid of names) {
    await settle(t, server, server.put(`/indexes/${uid}/settings/filterable-attributes`, ['k']))
    await settle(t, server, server.post(`/indexes/${uid}/documents`, [{ id: 1, k: uid }]))
  }
  const { indexes } = (await server.get('/stats')).body
  sameJson(t, Object.keys(indexes as object).sort(), [...names].sort())
  const federation = { facetsByIndex: byName(() => ['k']) }
  const queries = names.map((indexUid) => ({ indexUid }))
  const { body } = await server.post('/multi-search', { federation, queries })
  t.is(body.hits.length, names.length)
  const joined = body.facetsByIndex as Readonly<Record<string, { readonly distribution: object }>>
  for (const uid of names) {
    const facets = Object.getOwnPropertyDescriptor(joined, uid)?.value as (typeof joined)[string]
    sameJson(t, facets.distribution, { k: { [uid]: 1 } })
  }
  const { results } = (await server.get('/batches?limit=1')).body
  const stats = results[0]?.stats as TestBody | undefined
  t.deepEqual(Object.values(stats?.indexUids ?? {}), [1])
  const accepted = await server.post('/export', { url: other.url, indexes: byName(() => ({})) })
  const task = await settle(t, server, Promise.resolve(accepted))
  sameJson(t, Object.keys(task.details.indexes as object).sort(), [...names].sort())
})

test('remotes, shards, headers of webhooks and rules accept any name', async (t) => {
  const server = await startServer(t, { ...local, features: ['network', 'dynamicSearchRules'] })
  const remotes = byName(() => ({ url: 'http://127.0.0.1:9' }))
  const { body } = await server.patch('/network', {
    remotes,
    shards: byName((name) => ({ remotes: [name] })),
  })
  sameJson(t, Object.keys(body.remotes as object).sort(), [...names].sort())
  sameJson(
    t,
    body.shards,
    byName((name) => ({ remotes: [name] })),
  )
  const queries = names.map((remote) => ({ indexUid: 'a', federationOptions: { remote } }))
  const { remoteErrors } = (await server.post('/multi-search', { federation: {}, queries })).body
  sameJson(t, Object.keys(remoteErrors as object).sort(), [...names].sort())
  const removed = await server.patch('/network', { remotes: byName(() => null) })
  sameJson(t, removed.body.remotes, {})
  for (const remote of names) {
    const query = { indexUid: 'a', federationOptions: { remote } }
    const refused = await server.post('/multi-search', { federation: {}, queries: [query] })
    t.is(refused.status, 400, remote)
  }

  const receiver = await startReceiver(t)
  const headers = byName((name) => name)
  const webhook = await server.post('/webhooks', { url: receiver.url, headers })
  sameJson(t, webhook.body.headers, headers)
  for (const uid of names) {
    const rule = { actions: { pin: [{ id: '1', position: 0 }] } }
    t.is((await server.get(`/dynamic-search-rules/${uid}`)).status, 404, uid)
    await settle(t, server, server.patch(`/dynamic-search-rules/${uid}`, rule))
    t.like((await server.get(`/dynamic-search-rules/${uid}`)).body, { uid, active: true, ...rule })
    await settle(t, server, server.delete(`/dynamic-search-rules/${uid}`))
  }
  await receiver.until(() => receiver.receipts.length > 0)
  const sent = receiver.receipts[0]?.rawHeaders ?? []
  for (const name of names) t.is(sent[sent.indexOf(name) + 1], name)
})

test('a dump restores settings, vectors and documents with names of any kind', async (t) => {
  const directory = await tempDir(t)
  const options = {
    dumpDirectory: join(directory, 'dumps'),
    features: ['network', 'dynamicSearchRules'],
  } as const
  const server = await startServer(t, options)
  const settings = {
    embedders: byName(() => ({ source: 'userProvided', dimensions: 2 })),
    faceting: { sortFacetValuesBy: { '*': 'alpha', ...byName(() => 'count') } },
    synonyms: byName(() => ['y']),
  }
  await settle(t, server, server.patch(`${path}/settings`, settings))
  await settle(
    t,
    server,
    server.post(`${path}/documents`, [{ id: 1, ...byName(() => 1), _vectors: byName(() => [1, 0]) }]),
  )
  await server.patch('/network', { remotes: byName(() => ({ url: 'http://127.0.0.1:9' })) })
  await server.post('/webhooks', { url: 'http://127.0.0.1:9', headers: byName((name) => name) })
  for (const uid of names)
    await settle(t, server, server.patch(`/dynamic-search-rules/${uid}`, { active: false }))
  const asked = [
    '/indexes/a/settings',
    '/indexes/a/documents?retrieveVectors=true',
    '/network',
    '/webhooks',
    ...names.map((uid) => `/dynamic-search-rules/${uid}`),
  ]
  const before = await Promise.all(asked.map(async (one) => (await server.get(one)).bytes.toString()))
  const task = await settle(t, server, server.post('/dumps'))
  const data = join(directory, 'data.ms')
  await startFromArchive({
    kind: 'dump',
    upgrade: false,
    archive: join(options.dumpDirectory, `${task.details.dumpUid}.dump`),
    ignoreMissing: false,
    ignoreIfDbExists: false,
    directory: data,
    version: '0.0.0',
    engine: testEngine,
    indexingMemoryBytes: 64 * 1024 * 1024,
    indexingThreads: 1,
    log: openLog({ level: 'OFF', mode: 'JSON' }),
    signal: new AbortController().signal,
    progress: () => undefined,
  })
  const second = await startServer(t, { ...options, directory: data })
  const after = await Promise.all(asked.map(async (one) => (await second.get(one)).bytes.toString()))
  t.deepEqual(after, before)
})
