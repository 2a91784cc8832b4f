import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { startFromArchive } from '../../ts/cli/start-from-archive.js'
import { featureNames } from '../../ts/instance/index.js'
import { openLog } from '../../ts/telemetry/index.js'
import { startServer, type TestServer, testEngine } from '../support/server.js'
import { type Entries, entriesOf, linesOf, tempDir } from './archives.js'

// A dump of an imported instance has the same content as the imported dump, however often this is repeated.

const masterKey = 'a-master-key-of-32-characters-xx'

async function fill(t: ExecutionContext, server: TestServer): Promise<void> {
  const settled = async (task: ReturnType<TestServer['post']>) => (await server.settle(t, task)).status
  const settings = {
    filterableAttributes: ['kind', { attributePatterns: ['n*'], features: { facetSearch: false } }],
    sortableAttributes: ['height'],
    synonyms: { fern: ['bracken'], __proto__of: ['constructor'] },
    typoTolerance: { disableOnWords: ['moss'], minWordSizeForTypos: { oneTypo: 4 } },
    localizedAttributes: [{ attributePatterns: ['*'], locales: ['eng'] }],
    distinctAttribute: 'kind',
    embedders: { own: { source: 'userProvided', dimensions: 2 } },
  }
  t.is(await settled(server.patch('/indexes/plants/settings', settings)), 'succeeded')
  const plants = [
    { id: 1, name: 'the fern', kind: null, height: 2, _vectors: { own: [0.5, 1] } },
    { id: 'b', name: 'moss', _geo: { lat: 1, lng: 2 }, _vectors: { own: null } },
  ]
  t.is(await settled(server.post('/indexes/plants/documents', plants)), 'succeeded')
  t.is(await settled(server.post('/indexes/plants/documents?primaryKey=no', [{ id: 9 }])), 'failed')
  t.is(await settled(server.post('/indexes', { uid: 'bare' })), 'succeeded')
  // Long enough to remain JSON text in answers.
  const words = Array.from({ length: 5_000 }, (_, i) => `a-word-of-the-dictionary-${i}`)
  t.is(await settled(server.put('/indexes/bare/settings/dictionary', words)), 'succeeded')
  t.is(await settled(server.patch('/indexes/bare', { uid: 'barer' })), 'succeeded')
  t.is(await settled(server.delete('/indexes/absent')), 'failed')
  t.is(await settled(server.post('/tasks/cancel?uids=0')), 'succeeded')
  await server.post('/keys', { actions: ['search'], indexes: ['plants'], expiresAt: null })
  await server.post('/keys', {
    uid: 'aa0e2a5e-1f1f-4d3f-9a0a-2a1f4bb2a001',
    name: 'ours',
    description: 'd',
    actions: ['*'],
    indexes: ['*'],
    expiresAt: '2099-01-01T00:00:00Z',
  })
  await server.post('/webhooks', { url: 'https://hooks.test/', headers: { authorization: 'secret' } })
  await server.post('/webhooks', { url: 'https://bare.test/' })
}

/** Fills the parts that only instances with experimental features have. */
async function fillByFeatures(t: ExecutionContext, server: TestServer): Promise<void> {
  await server.patch('/network', {
    self: 'west',
    remotes: { east: { url: 'https://east.test', searchApiKey: 'k' }, north: { url: 'https://north.test' } },
    shards: { one: { remotes: ['east'] } },
  })
  const rules = {
    moss: {
      description: 'moss first',
      precedence: 3,
      conditions: {
        time: { start: '2020-01-01T00:00:00Z' },
        query: { words: 'fern' },
        filter: { values: { kind: 'moss' } },
      },
      actions: { pin: [{ id: 'b', position: 0, indexUid: 'plants' }] },
    },
    bare: { description: null, active: false },
  }
  for (const [uid, rule] of Object.entries(rules))
    t.is((await server.settle(t, server.patch(`/dynamic-search-rules/${uid}`, rule))).status, 'succeeded')
}

async function dumpOf(t: ExecutionContext, server: TestServer, directory: string): Promise<string> {
  const task = await server.settle(t, server.post('/dumps'))
  t.is(task.status, 'succeeded', JSON.stringify(task))
  return join(directory, `${task.details.dumpUid}.dump`)
}

/** Returns the content of an archive except the expected differences: creation time, and the dump it was made from. */
function content(entries: Entries, lines: { readonly tasks: number; readonly batches: number }) {
  const json = (path: string) => JSON.parse(entries.get(path) ?? 'null') as Record<string, unknown>
  const others = [...entries.keys()].filter((path) => /settings|embedders|documents|uuid|webhooks/.test(path))
  const metadata = [...entries.keys()].filter((path) => /^indexes\/[^.].*metadata/.test(path))
  return {
    paths: [...entries.keys()].sort(),
    others: others.sort().map((path) => [path, entries.get(path)]),
    metadata: metadata.sort().map((path) => ({ ...json(path), updatedAt: null })),
    keys: linesOf(entries, 'keys.jsonl'),
    features: { ...json('experimental-features.json'), legacySearch: null },
    network: { ...json('network.json'), self: null },
    tasks: linesOf(entries, 'tasks/queue.jsonl').slice(0, lines.tasks),
    batches: linesOf(entries, 'batches/queue.jsonl').slice(0, lines.batches),
  }
}

const allFeatures = (on: boolean) => Object.fromEntries(featureNames.map((name) => [name, on]))
const instances = {
  'every feature on': allFeatures(true),
  'every feature off': allFeatures(false),
  'features never touched': null,
}

for (const [name, features] of Object.entries(instances)) {
  test(`three generations of dumps have the same content, with ${name}`, async (t) => {
    const dumps = join(await tempDir(t), 'dumps')
    let server = await startServer(t, { masterKey, dumpDirectory: dumps })
    if (features !== null) t.is((await server.patch('/experimental-features', features)).status, 200)
    await fill(t, server)
    if (features?.network === true) await fillByFeatures(t, server)

    let archive = await dumpOf(t, server, dumps)
    const first = await entriesOf(t, archive)
    const lines = {
      tasks: linesOf(first, 'tasks/queue.jsonl').length,
      batches: linesOf(first, 'batches/queue.jsonl').length,
    }
    for (const generation of ['second', 'third']) {
      const directory = join(await tempDir(t), 'data.ms')
      await startFromArchive({
        kind: 'dump',
        upgrade: false,
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
      })
      server = await startServer(t, { masterKey, directory, dumpDirectory: dumps })
      archive = await dumpOf(t, server, dumps)
      const entries = await entriesOf(t, archive)
      const { legacySearch, ...rest } = JSON.parse(entries.get('experimental-features.json') ?? '{}')
      t.is(legacySearch, false, generation)
      for (const [feature, on] of Object.entries(rest)) t.is(on, features?.network === true, feature)
      const [now, then] = [content(entries, lines), content(first, lines)]
      if (features !== null) t.deepEqual(now.features, then.features)
      t.deepEqual({ ...now, features: null }, { ...then, features: null }, generation)
    }
  })
}
