/** An instance restored from a dump equals the original, on either engine, and continues from there. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { archiveOf, indexAt, metadata, task, tempDir } from '../../backup/archives.js'
import { place, sourceOf } from '../../backup/import.js'
import { startProvider } from '../../support/provider.js'
import { startServer, type TestServer } from '../../support/server.js'

async function shown(server: TestServer, paths: readonly string[]): Promise<readonly unknown[]> {
  return Promise.all(paths.map(async (path) => (await server.get(path)).body))
}

const masterKey = 'a-master-key-of-32-characters-xx'

test('an import restores documents, settings, keys, tasks, features, webhooks, network and rules', async (t) => {
  const { server, dump } = await sourceOf(t, { masterKey })
  const settings = {
    filterableAttributes: [
      'kind',
      {
        attributePatterns: ['n*'],
        features: { facetSearch: false, filter: { equality: true, comparison: false } },
      },
    ],
    sortableAttributes: ['height'],
    rankingRules: ['words', 'sort', 'height:desc'],
    synonyms: { fern: ['bracken'] },
    stopWords: ['the'],
    typoTolerance: { disableOnWords: ['moss'], minWordSizeForTypos: { oneTypo: 4 } },
    faceting: { maxValuesPerFacet: 7, sortFacetValuesBy: { kind: 'count' } },
    localizedAttributes: [{ attributePatterns: ['*'], locales: ['eng'] }],
    distinctAttribute: 'kind',
    searchCutoffMs: 900,
    prefixSearch: 'disabled',
    embedders: {
      own: { source: 'userProvided', dimensions: 2 },
      far: {
        source: 'rest',
        url: 'http://embed.test/',
        apiKey: 'open-sesame',
        dimensions: 2,
        request: '{{text}}',
        response: '{{embedding}}',
      },
    },
  }
  const vectors = (own: unknown) => ({ own, far: null })
  const plants = [
    { id: 1, name: 'the fern', kind: 'fern', height: 2, _vectors: vectors([0.5, 1]) },
    {
      id: 'b',
      name: 'moss',
      kind: 'moss',
      _geo: { lat: 1, lng: 2 },
      _vectors: vectors({
        regenerate: true,
        embeddings: [
          [1, 0],
          [0, 1],
        ],
      }),
    },
  ]
  await server.patch('/experimental-features', {
    network: true,
    dynamicSearchRules: true,
    legacySearch: true,
    containsFilter: true,
  })
  t.is((await server.settle(t, server.patch('/indexes/plants/settings', settings))).status, 'succeeded')
  t.is((await server.settle(t, server.post('/indexes/plants/documents', plants))).status, 'succeeded')
  await server.settle(t, server.post('/indexes', { uid: 'birds', primaryKey: 'ring' }))
  await server.settle(t, server.post('/indexes', { uid: 'birds' }))
  await server.settle(t, server.patch('/indexes/birds', { uid: 'fowl' }))
  await server.post('/keys', {
    uid: 'aa0e2a5e-1f1f-4d3f-9a0a-2a1f4bb2a001',
    name: 'ours',
    actions: ['search'],
    indexes: ['plants'],
    expiresAt: '2099-01-01T00:00:00Z',
  })
  await server.post('/webhooks', {
    url: 'https://hooks.test/',
    headers: { authorization: 'Bearer a-secret' },
  })
  await server.patch('/network', {
    self: 'west',
    remotes: { east: { url: 'https://east.test', searchApiKey: 'k' } },
  })
  const rule = {
    description: 'moss first',
    conditions: { query: { words: 'fern' } },
    actions: { pin: [{ id: 'b', position: 0, indexUid: 'plants' }] },
  }
  t.is((await server.settle(t, server.patch('/dynamic-search-rules/moss', rule))).status, 'succeeded')
  const archive = await dump()

  const { directory, start } = await place(t)
  await start(archive)
  const other = await startServer(t, { directory, masterKey })
  const same = [
    '/indexes/plants/documents?retrieveVectors=true',
    '/indexes/plants/settings',
    '/indexes/fowl/settings',
    '/keys',
    '/webhooks',
    '/batches?uids=0,1,2,3,4,5',
    '/dynamic-search-rules/moss',
    '/tasks/0',
    '/tasks/1',
    '/tasks/3',
    '/tasks?indexUids=fowl&limit=9&from=5',
    '/tasks/5',
    '/tasks?statuses=succeeded&from=5',
    '/tasks?types=settingsUpdate,indexUpdate',
    '/tasks?afterStartedAt=2020-01-01&from=5&limit=3',
    '/batches?beforeFinishedAt=2999-01-01&from=5',
  ]
  for (const path of same) t.deepEqual(await shown(other, [path]), await shown(server, [path]), path)
  t.like((await other.get('/tasks/6')).body, {
    type: 'dumpCreation',
    status: 'succeeded',
    details: { dumpUid: null },
  })
  t.is((await other.get('/batches/6')).status, 200)
  const [before, after] = await Promise.all([server, other].map((one) => one.get('/indexes/plants')))
  t.is(after?.body.createdAt, before?.body.createdAt)
  t.true(String(after?.body.updatedAt) > String(before?.body.updatedAt))
  t.like((await other.get('/experimental-features')).body, {
    network: true,
    dynamicSearchRules: true,
    containsFilter: true,
    legacySearch: false,
  })
  t.like((await other.get('/network')).body, {
    self: null,
    leader: null,
    remotes: { east: { url: 'https://east.test', searchApiKey: 'k' } },
  })
  for (const q of ['fern', 'moss', 'brakcen']) {
    const [one, two] = await Promise.all(
      [server, other].map((it) => it.post('/indexes/plants/search', { q })),
    )
    t.deepEqual(two?.body.hits, one?.body.hits, q)
  }
  const task = await other.settle(
    t,
    other.post('/indexes/plants/documents', [{ id: 3, _vectors: vectors([1, 1]) }]),
  )
  t.like(task, { uid: 7, batchUid: 7, status: 'succeeded' })
})

test('an import under another master key keeps the uids of keys, not their values', async (t) => {
  const { server, dump } = await sourceOf(t, { masterKey })
  const { directory, start } = await place(t)
  await start(await dump())
  const other = await startServer(t, { directory, masterKey: 'another-master-key-of-32-charact' })
  const [before, after] = await Promise.all(
    [server, other].map(async (one) => (await one.get('/keys')).body.results),
  )
  t.deepEqual(
    after?.map(({ uid }) => uid),
    before?.map(({ uid }) => uid),
  )
  t.is(
    after?.some(({ key }, at) => key === before?.[at]?.key),
    false,
  )
})

test('waiting tasks run when the new instance starts', async (t) => {
  const { server, dump } = await sourceOf(t, {
    queueEngine: (engine) =>
      new Proxy(engine, {
        get: (target, name) => {
          const found = Reflect.get(target, name) as unknown
          if (name !== 'prepare' || typeof found !== 'function')
            return typeof found === 'function' ? found.bind(target) : found
          return async (...given: unknown[]) => {
            await new Promise((resolve) => setTimeout(resolve, 300))
            return found.apply(target, given)
          }
        },
      }),
  })
  await server.post('/indexes/plants/documents', [{ id: 1 }])
  await server.post('/indexes/plants/documents', [{ id: 2, pad: 'x'.repeat(9_000) }])
  await server.put('/indexes/plants/documents', 'id,n:number\n1,5\n', {
    headers: { 'content-type': 'text/csv' },
  })
  await server.post('/indexes/plants/documents/delete', { filter: 'id = 9' })
  await server.post('/indexes/herbs/documents', '', { headers: { 'content-type': 'application/json' } })
  await server.post('/indexes/herbs/documents', [])
  const { directory, start } = await place(t)
  await start(await dump())
  const other = await startServer(t, { directory })
  for (let uid = 0; uid < 6; uid++) {
    for (;;) {
      const { body } = await other.get(`/tasks/${uid}`)
      if (body.status !== 'enqueued' && body.status !== 'processing') break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const { results } = (await other.get('/indexes/plants/documents')).body
  t.deepEqual(
    results.map(({ id, n }) => [String(id), n]),
    [
      ['1', 5],
      ['2', undefined],
    ] as never,
  )
  t.like((await other.get('/tasks/3')).body, { status: 'failed', error: { code: 'invalid_document_filter' } })
  t.like((await other.get('/tasks/4')).body, { status: 'succeeded', details: { indexedDocuments: 0 } })
  t.deepEqual(await readdir(join(directory, 'update_files')), [])
})

test('an index larger than one commit is imported completely and in order', async (t) => {
  const { server, dump } = await sourceOf(t, { payloadBytesMax: 200_000_000 })
  for (let part = 0; part < 2; part++) {
    const documents = Array.from({ length: 40 }, (_, at) => ({
      id: part * 40 + at,
      pad: `${at}`.repeat(450_000),
    }))
    const lines = documents.map((one) => JSON.stringify(one)).join('\n')
    const type = { headers: { 'content-type': 'application/x-ndjson' } }
    t.is((await server.settle(t, server.post('/indexes/big/documents', lines, type))).status, 'succeeded')
  }
  const { directory, start } = await place(t)
  await start(await dump())
  const other = await startServer(t, { directory })
  const { results } = (await other.get('/indexes/big/documents?fields=id&limit=100')).body
  t.deepEqual(
    results.map(({ id }) => id),
    Array.from({ length: 80 }, (_, id) => id),
  )
})

test('imported tasks of another writer are listed, even without their batches', async (t) => {
  const { directory, start } = await place(t)
  const archive = join(await tempDir(t), 'foreign.dump')
  const at = (minute: number) => `2030-01-01T00:${minute}:00.123456789Z`
  const line = (uid: number, batchUid: number | null, minutes: readonly [number, number, number]) =>
    task({ uid, batchUid, enqueuedAt: at(minutes[0]), startedAt: at(minutes[1]), finishedAt: at(minutes[2]) })
  const tasks = [
    line(0, null, [10, 11, 12]),
    line(3, 0, [20, 40, 50]),
    line(4, 1, [15, 30, 45]),
    line(5, 2, [21, 51, 52]),
  ]
  const batch = (uid: number, startedAt: number) =>
    JSON.stringify({ uid, startedAt: at(startedAt), finishedAt: at(42), details: {}, stats: {} })
  const entries = [
    { path: 'tasks/queue.jsonl', content: tasks.join('\n') },
    // A batch belongs to no task, and the batch of the last task has no line.
    { path: 'batches/queue.jsonl', content: [batch(0, 41), batch(1, 30), batch(9, 41)].join('\n') },
  ]
  await writeFile(archive, archiveOf([metadata, ...entries]))
  await start(archive)
  const server = await startServer(t, { directory })
  const uids = async (path: string) => (await server.get(path)).body.results.map(({ uid }) => uid)
  t.deepEqual(await uids('/tasks'), [5, 4, 3, 0] as never)
  t.deepEqual(await uids('/tasks?statuses=succeeded&types=documentDeletion'), [5, 4, 3, 0] as never)
  t.deepEqual(await uids('/batches'), [2, 1, 0] as never)
  t.deepEqual(await uids('/tasks?afterStartedAt=2030-01-01T00:50:00Z'), [5] as never)
  t.deepEqual(await uids('/tasks?afterStartedAt=2030-01-01T00:40:30Z&beforeStartedAt=2030-01-01T00:50:00Z'), [
    4, 3,
  ] as never)
  t.like((await server.get('/tasks/4')).body, { startedAt: '2030-01-01T00:41:00.123456Z' })
  t.is((await server.settle(t, server.post('/indexes', { uid: 'next' }))).uid, 6 as never)
})

test('an import reads a network with only remotes from another writer', async (t) => {
  const { directory, start } = await place(t)
  const archive = join(await tempDir(t), 'foreign.dump')
  const network = { self: 'west', remotes: { east: { url: 'https://east.test', searchApiKey: null } } }
  const entry = { path: 'network.json', content: JSON.stringify(network) }
  await writeFile(archive, archiveOf([metadata, entry]))
  await start(archive)
  const server = await startServer(t, { directory, features: ['network'] })
  t.like((await server.get('/network')).body, {
    self: null,
    remotes: { east: { url: 'https://east.test' } },
    version: '00000000-0000-0000-0000-000000000000',
  })
})

test('an import restores vectors of providers, and calls no provider', async (t) => {
  const provider = await startProvider(t, ({ body }) => [String(body).length, 1])
  const allowedNetworks = 'any'
  const { server, dump } = await sourceOf(t, { allowedNetworks })
  const rest = {
    source: 'rest',
    url: provider.url,
    request: '{{text}}',
    response: '{{embedding}}',
    documentTemplate: '{{doc.name}}',
  }
  const plants = [
    { id: 1, name: 'fern' },
    { id: 2, name: 'sphagnum' },
  ]
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  for (const uid of ['plants', 'empty']) {
    const embedders = { rest }
    const settings = await server.settle(t, server.patch(`/indexes/${uid}/settings`, { embedders }))
    t.is(settings.status, 'succeeded', JSON.stringify(settings.error))
  }
  const archive = await dump()
  const asked = provider.calls.length
  const { directory, start } = await place(t)
  await start(archive)
  const other = await startServer(t, { directory, allowedNetworks })
  const paths = [
    '/indexes/plants/documents?retrieveVectors=true',
    '/indexes/plants/settings',
    '/indexes/empty/settings',
  ]
  t.deepEqual(await shown(other, paths), await shown(server, paths))
  t.is(provider.calls.length, asked)
  for (const uid of ['plants', 'empty']) {
    const added = await other.settle(t, other.post(`/indexes/${uid}/documents`, [{ id: 3, name: 'moss' }]))
    t.is(added.status, 'succeeded', JSON.stringify(added.error))
  }
  const hybrid = { embedder: 'rest', semanticRatio: 1 }
  const { hits } = (await other.post('/indexes/plants/search', { vector: [8, 1], hybrid })).body
  t.is(hits[0]?.id, 2 as never)
})

test('an import finds the dimensions of an embedder in the documents of another writer', async (t) => {
  const { directory, start } = await place(t)
  const archive = join(await tempDir(t), 'foreign.dump')
  const far = { source: 'rest', url: 'http://embed.test/', request: '{{text}}', response: '{{embedding}}' }
  const documents = [
    { id: 1, _vectors: { far: { embeddings: [], regenerate: true } } },
    { id: 2, _vectors: { far: { embeddings: [[1, 0, 0]], regenerate: true } } },
  ]
  const contents: Readonly<Record<string, string>> = {
    settings: JSON.stringify({ embedders: { far } }),
    documents: documents.map((one) => JSON.stringify(one)).join('\n'),
  }
  const entries = indexAt('plants').map((entry) => ({
    ...entry,
    content: contents[/(\w+)\.jsonl?$/.exec(entry.path)?.[1] ?? ''] ?? entry.content ?? '',
  }))
  await writeFile(archive, archiveOf([metadata, ...entries]))
  await start(archive)
  const server = await startServer(t, { directory })
  const { body } = await server.get('/indexes/plants/documents?retrieveVectors=true')
  t.deepEqual(body.results, documents as never)
})
