import { access, copyFile, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { type DumpStart, startFromDump } from '../../ts/cli/start-from-dump.js'
import { LaunchError } from '../../ts/settings/index.js'
import { openLog } from '../../ts/telemetry/index.js'
import { startServer, type TestServer, type TestServerOptions, testEngine } from '../support/server.js'
import { archiveOf, type MadeEntry, tempDir } from './archives.js'

// Rules held here:
// 1. What starts from a dump is what the dump was made of, on whichever engine, and goes on from there.
// 2. Nothing is imported over data, nor silently left out, unless an option says so.
// 3. An archive that is not a whole dump is refused by its reason, and leaves nothing where it would have been.

/** A place for a data directory, and how to import into it. */
async function place(t: ExecutionContext) {
  const parent = await tempDir(t)
  const directory = join(parent, 'data.ms')
  const start = (archive: string, some: Partial<DumpStart> = {}): Promise<void> =>
    startFromDump({
      archive,
      ignoreMissing: false,
      ignoreIfDbExists: false,
      directory,
      version: '0.0.0',
      engine: testEngine,
      indexingMemoryBytes: 64 * 1024 * 1024,
      indexingThreads: 1,
      log: openLog({ level: 'OFF', mode: 'JSON' }),
      signal: new AbortController().signal,
      progress: () => undefined,
      ...some,
    })
  return { parent, directory, start }
}

async function sourceOf(t: ExecutionContext, options: TestServerOptions = {}) {
  const dumpDirectory = join(await tempDir(t), 'dumps')
  const server = await startServer(t, { dumpDirectory, ...options })
  const dump = async (): Promise<string> => {
    const task = await server.settle(t, server.post('/dumps'))
    t.is(task.status, 'succeeded', JSON.stringify(task))
    return join(dumpDirectory, `${task.details.dumpUid}.dump`)
  }
  return { server, dump }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

async function shown(server: TestServer, paths: readonly string[]): Promise<readonly unknown[]> {
  return Promise.all(paths.map(async (path) => (await server.get(path)).body))
}

const masterKey = 'a-master-key-of-32-characters-xx'

test('an import brings back documents, settings, keys, tasks, features, webhooks, network and rules', async (t) => {
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
    actions: [{ selector: { indexUid: 'plants', id: 'b' }, action: { type: 'pin', position: 0 } }],
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

test('tasks that wait run once the new instance starts', async (t) => {
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

test('an index larger than one commit is imported whole and in order', async (t) => {
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
  const batch = (uid: number) =>
    JSON.stringify({ uid, startedAt: at(41), finishedAt: at(42), details: {}, stats: {} })
  const entries = [
    { path: 'tasks/queue.jsonl', content: tasks.join('\n') },
    // One is of no task, and the batch of the last task has no line.
    { path: 'batches/queue.jsonl', content: [batch(0), batch(1), batch(9)].join('\n') },
  ]
  await writeFile(archive, archiveOf([metadata, ...entries]))
  await start(archive)
  const server = await startServer(t, { directory })
  const uids = async (path: string) => (await server.get(path)).body.results.map(({ uid }) => uid)
  t.deepEqual(await uids('/tasks'), [5, 4, 3, 0] as never)
  t.deepEqual(await uids('/tasks?statuses=succeeded&types=documentDeletion'), [5, 4, 3, 0] as never)
  t.deepEqual(await uids('/batches'), [2, 1, 0] as never)
  t.deepEqual(await uids('/tasks?afterStartedAt=2030-01-01T00:50:00Z'), [5] as never)
  t.deepEqual(await uids('/tasks?afterStartedAt=2030-01-01T00:41:30Z&beforeStartedAt=2030-01-01T00:50:00Z'), [
    4,
  ] as never)
  t.like((await server.get('/tasks/4')).body, { startedAt: '2030-01-01T00:42:00.123456Z' })
  t.is((await server.settle(t, server.post('/indexes', { uid: 'next' }))).uid, 6 as never)
})

/** Answers any text with the vector [its length, 1]. */
async function startProvider(t: ExecutionContext) {
  let calls = 0
  const server = createServer(async (request, answer) => {
    calls++
    const text = JSON.parse(Buffer.concat(await request.toArray()).toString()) as string
    answer.end(JSON.stringify([text.length, 1]))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, calls: () => calls }
}

test('an import brings vectors of providers along, and calls no provider', async (t) => {
  const { url, calls } = await startProvider(t)
  const allowedNetworks = 'any'
  const { server, dump } = await sourceOf(t, { allowedNetworks })
  const rest = {
    source: 'rest',
    url,
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
  const asked = calls()
  const { directory, start } = await place(t)
  await start(archive)
  const other = await startServer(t, { directory, allowedNetworks })
  const paths = [
    '/indexes/plants/documents?retrieveVectors=true',
    '/indexes/plants/settings',
    '/indexes/empty/settings',
  ]
  t.deepEqual(await shown(other, paths), await shown(server, paths))
  t.is(calls(), asked)
  for (const uid of ['plants', 'empty']) {
    const added = await other.settle(t, other.post(`/indexes/${uid}/documents`, [{ id: 3, name: 'moss' }]))
    t.is(added.status, 'succeeded', JSON.stringify(added.error))
  }
  const hybrid = { embedder: 'rest', semanticRatio: 1 }
  const { hits } = (await other.post('/indexes/plants/search', { vector: [8, 1], hybrid })).body
  t.is(hits[0]?.id, 2 as never)
})

test('an import learns the dimensions of an embedder from the documents of another writer', async (t) => {
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

const rejected = async (t: ExecutionContext, attempt: Promise<void>, message: RegExp): Promise<void> => {
  const error = await t.throwsAsync(attempt, { instanceOf: LaunchError })
  t.regex(error.message, message)
  t.is(error.exitCode, 1)
}

test('a dump is imported, skipped or refused by its file, existing data and options', async (t) => {
  const { dump } = await sourceOf(t)
  const archive = await dump()
  const { parent, directory, start } = await place(t)
  const missing = join(parent, 'missing.dump')

  await rejected(t, start(missing), /there is no file .*missing\.dump/)
  await rejected(t, start(missing, { ignoreIfDbExists: true }), /there is no file/)
  t.deepEqual(await readdir(parent), [])
  await start(missing, { ignoreMissing: true })
  t.deepEqual(await readdir(parent), [])

  await mkdir(directory)
  await start(archive)
  t.is((await readFile(join(directory, 'VERSION'), 'utf8')).trim(), '0.0.0')

  await writeFile(join(directory, 'mark'), 'kept')
  await rejected(t, start(archive), /holds data already/)
  await rejected(t, start(missing, { ignoreMissing: true }), /holds data already/)
  await rejected(t, start(missing, { ignoreIfDbExists: true }), /there is no file/)
  await start(archive, { ignoreIfDbExists: true })
  await start(missing, { ignoreIfDbExists: true, ignoreMissing: true })
  t.is(await readFile(join(directory, 'mark'), 'utf8'), 'kept')
  t.deepEqual(await readdir(parent), ['data.ms'])
})

test('a dump that was cut short anywhere is refused, and imports once it is whole', async (t) => {
  const { server, dump } = await sourceOf(t)
  await server.settle(
    t,
    server.post(
      '/indexes/plants/documents',
      Array.from({ length: 50 }, (_, id) => ({ id, n: id * 7 })),
    ),
  )
  const archive = await dump()
  const { length } = await readFile(archive)
  const { parent, directory, start } = await place(t)
  const cut = join(await tempDir(t), 'cut.dump')
  for (const share of [0, 0.01, 0.3, 0.6, 0.9, 0.99]) {
    await copyFile(archive, cut)
    await truncate(cut, Math.floor(length * share))
    await rejected(t, start(cut), /cannot be imported/)
    t.deepEqual(await readdir(parent), [], `cut to ${share}`)
  }
  await copyFile(archive, cut)
  await start(cut)
  t.true(await exists(join(directory, 'VERSION')))
})

test('the next import removes what a killed import left', async (t) => {
  const { dump } = await sourceOf(t)
  const { parent, start } = await place(t)
  // No process has this number.
  await mkdir(join(parent, 'data.ms.importing-4194305', 'indexes'), { recursive: true })
  await start(await dump())
  t.deepEqual(await readdir(parent), ['data.ms'])
})

const metadata = {
  path: 'metadata.json',
  content: '{"dumpVersion":"V6","dbVersion":"1.50.0","dumpDate":"2030-01-01T00:00:00Z"}',
}
const indexAt = (uid: string, folder = uid): readonly MadeEntry[] => [
  {
    path: `indexes/${folder}/metadata.json`,
    content: JSON.stringify({
      uid,
      primaryKey: 'id',
      createdAt: '2030-01-01T00:00:00Z',
      updatedAt: '2030-01-01T00:00:00Z',
    }),
  },
  { path: `indexes/${folder}/settings.json`, content: '{}' },
  { path: `indexes/${folder}/documents.jsonl`, content: '{"id":1}\n{"id":2}' },
]
const task = (some: object) =>
  JSON.stringify({
    uid: 0,
    indexUid: 'a',
    status: 'succeeded',
    type: 'documentClear',
    enqueuedAt: '2030-01-01T00:00:00Z',
    finishedAt: '2030-01-01T00:00:00Z',
    ...some,
  })

test('a minimal dump is imported, and unknown files in it are ignored', async (t) => {
  const { directory, start } = await place(t)
  const archive = join(await tempDir(t), 'least.dump')
  const others = [
    { path: 'chat-completions-settings/one.json', content: 'x' },
    { path: 'indexes/', type: 'Directory' as const },
  ]
  const dotted = indexAt('plants').map((entry) => ({ ...entry, path: `./${entry.path}` }))
  await writeFile(archive, archiveOf([metadata, ...others, ...dotted]))
  await start(archive)
  const server = await startServer(t, { directory })
  t.is((await server.get('/indexes/plants/documents')).body.total, 2)
})

const hostile: Readonly<Record<string, readonly [readonly MadeEntry[] | Buffer, RegExp]>> = {
  'is not compressed': [Buffer.from('{"dumpVersion":"V6"}'), /no whole tar archive/],
  'is empty': [Buffer.alloc(0), /no whole tar archive/],
  'holds no entries': [[], /no whole tar archive/],
  'holds nothing of a dump': [[{ path: 'notes.txt', content: 'x' }], /no metadata\.json/],
  'leads out of its root': [[metadata, { path: '../escaped', content: 'x' }], /none of a file below/],
  'leads out of its root on the way': [
    [metadata, { path: 'indexes/../../escaped', content: 'x' }],
    /none of a file below/,
  ],
  'names a file of the system': [[metadata, { path: '/escaped', content: 'x' }], /none of a file below/],
  'holds a symbolic link': [
    [metadata, { path: 'indexes/a', type: 'SymbolicLink', linkpath: '/etc' }],
    /kind SymbolicLink/,
  ],
  'holds a hard link': [
    [metadata, { path: 'keys.jsonl', type: 'Link', linkpath: '/etc/passwd' }],
    /kind Link/,
  ],
  'holds a device': [[metadata, { path: 'keys.jsonl', type: 'CharacterDevice' }], /kind CharacterDevice/],
  'claims more than the disk has': [
    [metadata, { path: 'keys.jsonl', content: 'x', size: 2 ** 52 }],
    /the disk has \d+ left/,
  ],
  'names an entry twice': [[metadata, metadata], /twice/],
  'is of another version': [
    [{ path: 'metadata.json', content: '{"dumpVersion":"V5"}' }],
    /expected `"V6"`.*found `"V5"`/,
  ],
  'holds no JSON': [[{ path: 'metadata.json', content: '{' }], /metadata\.json is no JSON/],
  'lacks the settings of an index': [
    [metadata, ...indexAt('a').filter(({ path }) => !path.includes('settings'))],
    /no indexes\/a\/settings\.json/,
  ],
  'names an index that cannot be': [[metadata, ...indexAt('../x', 'a')], /uid of an index/],
  'names an index twice': [[metadata, ...indexAt('a', 'a'), ...indexAt('a', 'b')], /twice/],
  'holds unknown settings': [
    [
      metadata,
      ...indexAt('a').map((one) =>
        one.path.includes('settings') ? { ...one, content: '{"colour":1}' } : one,
      ),
    ],
    /settings\.json: .*colour/,
  ],
  'holds no documents but words': [
    [
      metadata,
      ...indexAt('a').map((one) => (one.path.includes('documents') ? { ...one, content: 'words' } : one)),
    ],
    /indexes\/a: /,
  ],
  'holds documents without an id': [
    [
      metadata,
      ...indexAt('a').map((one) => (one.path.includes('documents') ? { ...one, content: '{"no":1}' } : one)),
    ],
    /indexes\/a: /,
  ],
  'holds a key without an uid': [[metadata, { path: 'keys.jsonl', content: '{}' }], /keys\.jsonl:1\.uid/],
  'holds a task of no kind': [
    [metadata, { path: 'tasks/queue.jsonl', content: task({ type: 'wonder' }) }],
    /tasks\/queue\.jsonl:1: type/,
  ],
  'holds a task twice': [
    [metadata, { path: 'tasks/queue.jsonl', content: `${task({})}\n${task({})}` }],
    /does not rise/,
  ],
  'holds a task with a wild uid': [
    [metadata, { path: 'tasks/queue.jsonl', content: task({ uid: 2 ** 40 }) }],
    /unsigned 32-bit/,
  ],
  'lacks the upload of a task': [
    [
      metadata,
      {
        path: 'tasks/queue.jsonl',
        content: task({
          status: 'enqueued',
          type: {
            documentImport: {
              primary_key: null,
              method: 'ReplaceDocuments',
              documents_count: 1,
              allow_index_creation: true,
            },
          },
        }),
      },
    ],
    /update_files\/0\.jsonl/,
  ],
  'holds a webhook of no address': [
    [
      metadata,
      { path: 'webhooks.json', content: '{"webhooks":{"11111111-1111-4111-8111-111111111111":{"url":"x"}}}' },
    ],
    /absolute URL/,
  ],
  'holds no uid of an instance': [[metadata, { path: 'instance_uid.uuid', content: '../../x' }], /UUID/],
}

for (const [name, [content, message]] of Object.entries(hostile)) {
  test(`an archive that ${name} is refused and leaves nothing`, async (t) => {
    const { parent, start } = await place(t)
    const archive = join(await tempDir(t), 'hostile.dump')
    await writeFile(archive, Buffer.isBuffer(content) ? content : archiveOf(content as readonly MadeEntry[]))
    await rejected(t, start(archive), message)
    t.deepEqual(await readdir(parent), [])
    t.false(await exists('/escaped'))
  })
}
