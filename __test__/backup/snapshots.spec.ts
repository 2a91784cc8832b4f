/** A restored snapshot is a consistent copy of the instance, byte for byte, and continues from there. */
import { createReadStream } from 'node:fs'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { readVersion } from '../../ts/instance/index.js'
import { startServer, type TestServer, type TestServerOptions, testEngine } from '../support/server.js'
import { archiveOf, tempDir } from './archives.js'
import { place } from './import.js'

const masterKey = 'a-master-key-of-32-characters-xx'

async function sourceOf(t: ExecutionContext, keptMax = 1, options: TestServerOptions = {}) {
  const directory = join(await tempDir(t), 'snapshots')
  const server = await startServer(t, { ...options, snapshots: { directory, keptMax } })
  const snapshot = async (): Promise<string> => {
    const task = await server.settle(t, server.post('/snapshots'))
    t.is(task.status, 'succeeded', JSON.stringify(task))
    return join(directory, 'data.ms.snapshot')
  }
  return { server, directory, snapshot }
}

/** A new data directory, and a function to restore a snapshot into it. */
async function target(t: ExecutionContext) {
  const { directory, start } = await place(t)
  const restore = (archive: string, some: Parameters<typeof start>[1] = {}) =>
    start(archive, { kind: 'snapshot', ...some })
  return { directory, restore }
}

async function shown(server: TestServer, paths: readonly string[]): Promise<readonly unknown[]> {
  return Promise.all(paths.map(async (path) => (await server.get(path)).body))
}

const plants = [
  { id: 1, name: 'the fern', kind: 'fern', _vectors: { own: [0.5, 1] } },
  {
    id: 2,
    name: 'moss',
    kind: 'moss',
    _vectors: {
      own: [
        [1, 0],
        [0, 1],
      ],
    },
  },
  { id: 3, name: 'tall fern', kind: 'fern', _vectors: { own: null } },
]

test('a restored snapshot has the same indexes, tasks, batches, keys, webhooks and features', async (t) => {
  const { server, snapshot } = await sourceOf(t, 1, { masterKey })
  await server.patch('/experimental-features', { containsFilter: true })
  const settings = {
    filterableAttributes: ['kind'],
    synonyms: { bracken: ['fern'] },
    embedders: { own: { source: 'userProvided', dimensions: 2 } },
  }
  await server.settle(t, server.patch('/indexes/plants/settings', settings))
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  await server.settle(t, server.post('/indexes', { uid: 'birds', primaryKey: 'ring' }))
  await server.settle(t, server.post('/indexes', { uid: 'birds' }))
  const key = {
    uid: 'aa0e2a5e-1f1f-4d3f-9a0a-2a1f4bb2a001',
    actions: ['search'],
    indexes: ['plants'],
    expiresAt: null,
  }
  await server.post('/keys', key)
  await server.post('/webhooks', { url: 'https://hooks.test/', headers: { authorization: 'Bearer secret' } })
  const paths = [
    '/indexes',
    '/indexes/plants/settings',
    '/indexes/plants/documents?retrieveVectors=true',
    '/tasks',
    '/batches',
    '/keys',
    '/webhooks',
    '/experimental-features',
  ]
  const searches = [
    { q: 'bracken' },
    { q: 'mos', filter: 'kind = moss' },
    { vector: [1, 1], hybrid: { embedder: 'own' } },
  ]
  const answers = (from: TestServer) =>
    Promise.all(searches.map(async (body) => (await from.post('/indexes/plants/search', body)).body.hits))
  const before = [await shown(server, paths), await answers(server)]

  const { directory, restore } = await target(t)
  await restore(await snapshot())
  const restored = await startServer(t, { directory, masterKey })
  t.deepEqual([await shown(restored, paths), await answers(restored)], before)
  const added = await restored.settle(
    t,
    restored.post('/indexes/plants/documents', [{ id: 4, name: 'new fern', _vectors: { own: null } }]),
  )
  t.is(added.status, 'succeeded')
  t.is((await restored.post('/indexes/plants/search', { q: 'fern' })).body.hits.length, 3)
})

test('tasks waiting in a snapshot run after its restore, with their uploads', async (t) => {
  const { server, snapshot } = await sourceOf(t)
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  // Snapshots precede tasks that change indexes, so these tasks wait.
  const large = Array.from({ length: 3000 }, (_, id) => ({
    id: 10 + id,
    name: `leaf ${id}`,
    text: 'green '.repeat(20),
  }))
  const asked = await server.post('/snapshots')
  const waiting = await server.post('/indexes/plants/documents', large)
  await server.settle(t, Promise.resolve(asked))
  await server.settle(t, Promise.resolve(waiting))
  const { directory, restore } = await target(t)
  await restore(await snapshot())
  const restored = await startServer(t, { directory })
  const stats = (await restored.get('/indexes/plants/stats')).body
  t.is(stats.numberOfDocuments, 3003)
})

test('a snapshot replaces the previous one, is readable by its owner only, and leaves no other file', async (t) => {
  const { server, directory, snapshot } = await sourceOf(t)
  await mkdir(directory, { recursive: true, mode: 0o755 })
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  const path = await snapshot()
  const first = await stat(path)
  await server.settle(t, server.post('/indexes/plants/documents', [{ id: 9 }]))
  await snapshot()
  const second = await stat(path)
  t.not(second.ino, first.ino)
  if (process.platform !== 'win32') t.is(second.mode & 0o777, 0o400)
  t.deepEqual(await readdir(directory), ['data.ms.snapshot'])
})

test('the configured number of snapshots is kept, older ones under their dates', async (t) => {
  const { directory, snapshot } = await sourceOf(t, 3)
  for (let round = 0; round < 5; round++) {
    const path = await snapshot()
    // The mode used by an earlier version.
    await chmod(path, 0o444)
  }
  await snapshot()
  const names = (await readdir(directory)).sort()
  if (process.platform !== 'win32')
    for (const name of names) t.is((await stat(join(directory, name))).mode & 0o777, 0o400, name)
  t.is(names.length, 3)
  t.true(names.includes('data.ms.snapshot'))
  t.is(names.filter((name) => /^data\.ms-\d{8}-\d{9}\.snapshot$/.test(name)).length, 2)
})

test('waiting snapshots share one batch and one file, which does not list them', async (t) => {
  let goOn: () => void = () => undefined
  const asked = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const queueEngine = (engine: Engine): Engine =>
    new Proxy(engine, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name)
        if (typeof found !== 'function') return found
        if (name !== 'prepare') return found.bind(target)
        return async (...given: unknown[]) => {
          await asked
          return found.apply(target, given)
        }
      },
    })
  const { server, directory } = await sourceOf(t, 1, { queueEngine, limits: { batchesMax: 1 } })
  const written = await server.post('/indexes/plants/documents', plants)
  const answers = await Promise.all([1, 2].map(() => server.post('/snapshots')))
  goOn()
  await server.settle(t, Promise.resolve(written))
  const tasks = await Promise.all(answers.map((answer) => server.settle(t, Promise.resolve(answer))))
  for (const task of tasks) t.like(task, { status: 'succeeded', batchUid: tasks[0]?.batchUid })
  t.false(tasks.some(({ details }) => details !== undefined && details !== null))
  t.deepEqual(await readdir(directory), ['data.ms.snapshot'])
  const { directory: data, restore } = await target(t)
  await restore(join(directory, 'data.ms.snapshot'))
  const restored = await startServer(t, { directory: data })
  t.is((await restored.get('/tasks?types=snapshotCreation')).body.total, 0)
  t.is((await restored.get('/tasks')).body.total, 1)
})

test('a snapshot lists earlier snapshots as succeeded', async (t) => {
  const { snapshot } = await sourceOf(t)
  await snapshot()
  const { directory, restore } = await target(t)
  await restore(await snapshot())
  const restored = await startServer(t, { directory })
  const { results } = (await restored.get('/tasks')).body
  t.deepEqual(
    results.map(({ uid, type, status }) => [uid, type, status]),
    [[0, 'snapshotCreation', 'succeeded']] as never,
  )
})

test('a directory that cannot be written to fails the task with io_error, and its leftovers are removed', async (t) => {
  const blocked = join(await tempDir(t), 'file')
  await writeFile(blocked, '')
  const server = await startServer(t, { snapshots: { directory: join(blocked, 'snapshots'), keptMax: 1 } })
  const task = await server.settle(t, server.post('/snapshots'))
  t.is(task.status, 'failed')
  t.is(task.error?.code, 'io_error')
})

test('the next snapshot removes the remains of a killed process', async (t) => {
  const { directory, snapshot } = await sourceOf(t)
  const left = join(directory, '.siftd-5e0a3f0c-6f3b-4f5e-9b52-0d5f6f0f7c11-snapshot-files')
  await mkdir(left, { recursive: true })
  await writeFile(join(left, 'tasks.db'), 'half')
  await snapshot()
  t.deepEqual(await readdir(directory), ['data.ms.snapshot'])
})

/** Damages of an archive, as functions of its bytes. */
const damages: readonly (readonly [string, (bytes: Buffer) => Buffer | Promise<Buffer>, RegExp])[] = [
  ['a truncated archive', (bytes) => bytes.subarray(0, Math.floor(bytes.length * 0.7)), /cannot be imported/],
  ['an archive without its last entry', (bytes) => withoutLast(bytes), /no contents\.json/],
  ['an archive with a flipped bit in a file', (bytes) => flipped(bytes), /is damaged|cannot be imported/],
  [
    'an archive of another program',
    () => archiveOf([{ path: 'tasks/data.mdb', content: 'x' }]),
    /no contents\.json/,
  ],
  ['a file that is not an archive', () => Buffer.from('no archive'), /cannot be imported/],
  ['an empty file', () => Buffer.alloc(0), /cannot be imported/],
  [
    'a path outside the archive',
    () => archiveOf([{ path: '../outside', content: 'x' }]),
    /not the path of a file inside/,
  ],
  [
    'a link',
    () => archiveOf([{ path: 'indexes/a', type: 'SymbolicLink', linkpath: '/etc/passwd' }]),
    /SymbolicLink/,
  ],
  [
    'a future format',
    () => archiveOf([{ path: 'contents.json', content: '{"format":99,"version":"9.0.0","files":{}}' }]),
    /format.*99/,
  ],
]

/** Returns all bytes before the header of the last entry. */
function withoutLast(bytes: Buffer): Buffer {
  const tar = gunzipSync(bytes)
  const at = tar.lastIndexOf('contents.json\0')
  return gzipSync(Buffer.concat([tar.subarray(0, at), Buffer.alloc(1024)]))
}

function flipped(bytes: Buffer): Buffer {
  const tar = gunzipSync(bytes)
  const at = tar.indexOf('SQLite format 3') + 5000
  tar[at] = tar[at]! ^ 4
  return gzipSync(tar)
}

for (const [what, damage, message] of damages)
  test(`${what} is refused in one line and leaves nothing`, async (t) => {
    const { server, snapshot } = await sourceOf(t)
    await server.settle(t, server.post('/indexes/plants/documents', plants))
    const path = join(await tempDir(t), 'given.snapshot')
    await writeFile(path, await damage(await readFile(await snapshot())))
    const { directory, restore } = await target(t)
    const error = await t.throwsAsync(restore(path), { message })
    t.false(error?.message.includes('\n'))
    await t.throwsAsync(stat(directory), { code: 'ENOENT' })
    t.deepEqual(
      (await readdir(join(directory, '..'))).filter((name) => name.includes('importing')),
      [],
    )
  })

for (const [what, start, message] of [
  [
    'a newer version',
    { version: '0.0.0', written: '9.1.0' },
    /written by version 9\.1\.0 and this is 0\.0\.0; start siftd 9/,
  ],
  [
    'an older version',
    { version: '0.2.0', written: '0.0.0' },
    /written by version 0\.0\.0 and this is 0\.2\.0; .*--upgrade-db/,
  ],
] as const)
  test(`a snapshot of ${what} is refused and leaves nothing`, async (t) => {
    const directory = join(await tempDir(t), 'snapshots')
    const server = await startServer(t, { snapshots: { directory, keptMax: 1 }, version: start.written })
    await server.settle(t, server.post('/indexes/plants/documents', plants))
    await server.settle(t, server.post('/snapshots'))
    const { directory: data, restore } = await target(t)
    const { version } = start
    await t.throwsAsync(restore(join(directory, 'data.ms.snapshot'), { version }), { message })
    await t.throwsAsync(stat(data), { code: 'ENOENT' })
    if (what !== 'an older version') return
    await restore(join(directory, 'data.ms.snapshot'), { version, upgrade: true })
    t.is((await readVersion(data)).version, start.written)
  })

test('a snapshot of the other engine is refused with its engine name, and leaves nothing', async (t) => {
  const { server, snapshot } = await sourceOf(t)
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  const { directory, restore } = await target(t)
  const other = testEngine === 'native' ? 'fallback' : 'native'
  await t.throwsAsync(restore(await snapshot(), { engine: other }), {
    message: /given|snapshot.* was written by the/,
  })
  await t.throwsAsync(stat(directory), { code: 'ENOENT' })
})

test('a snapshot is read as a stream: its last entry lists length and checksum of each file', async (t) => {
  const { server, snapshot } = await sourceOf(t)
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(await snapshot())) chunks.push(chunk as Buffer)
  const tar = gunzipSync(Buffer.concat(chunks)).toString('latin1')
  const listed = JSON.parse(/\{"format":1.*?\}\}\}/.exec(tar)![0]) as { files: Record<string, object> }
  t.true('tasks/tasks.db' in listed.files)
  t.true(Object.keys(listed.files).some((path) => path.startsWith('indexes/')))
})
