import { chmod, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { startServer, type TestServer, type TestServerOptions } from '../support/server.js'
import { type Entries, entriesOf, linesOf, tempDir } from './archives.js'

// 1. A dump is a single private file, named by its uid. It appears only when complete.
// 2. It has everything: documents with their vectors, settings with their secrets, keys, tasks with uploads.
// 3. A failure fails the task with a code and leaves nothing behind; so does a cancelation.

async function started(t: ExecutionContext, options: TestServerOptions = {}) {
  const dumpDirectory = join(await tempDir(t), 'dumps')
  return { server: await startServer(t, { dumpDirectory, ...options }), dumpDirectory }
}

async function dumped(
  t: ExecutionContext,
  server: TestServer,
  directory: string,
  asked = () => {},
): Promise<Entries> {
  const task = await server.settle(
    t,
    server.post('/dumps').finally(() => asked()),
  )
  t.is(task.status, 'succeeded', JSON.stringify(task))
  t.regex(String(task.details.dumpUid), /^\d{8}-\d{9}$/)
  return entriesOf(t, join(directory, `${task.details.dumpUid}.dump`))
}

test('a dump is a single private file with every index', async (t) => {
  const { server, dumpDirectory } = await started(t)
  const plants = [
    { id: 1, name: 'fern }"],[{' },
    { id: 2, big: '\n' },
    { id: 3, nested: { _vectors: {} } },
  ]
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  await server.settle(t, server.post('/indexes', { uid: 'birds', primaryKey: 'ring' }))
  const entries = await dumped(t, server, dumpDirectory)
  const [name = '', ...others] = await readdir(dumpDirectory)
  t.deepEqual(others, [])
  t.is((await stat(join(dumpDirectory, name))).mode & 0o777, 0o600)
  t.deepEqual(linesOf(entries, 'indexes/plants/documents.jsonl'), plants)
  t.is(entries.get('indexes/birds/documents.jsonl'), '')
  const { primaryKey, uid } = JSON.parse(entries.get('indexes/birds/metadata.json') ?? '{}') as Record<
    string,
    string
  >
  t.deepEqual({ primaryKey, uid }, { primaryKey: 'ring', uid: 'birds' })
  const { dumpVersion, dbVersion } = JSON.parse(entries.get('metadata.json') ?? '{}') as Record<
    string,
    string
  >
  t.deepEqual({ dumpVersion, dbVersion }, { dumpVersion: 'V6', dbVersion: '0.0.0' })
})

test('a dump of many pages keeps the digits of numbers and the order of documents', async (t) => {
  const { server, dumpDirectory } = await started(t)
  const lines = Array.from(
    { length: 2000 },
    (_, at) => `{"id":${2000 - at},"n":${9007199254740993n + BigInt(at)},"pad":"${'x'.repeat(at % 900)}"}`,
  )
  const body = `[${lines.join(',')}]`
  await server.settle(t, server.post('/indexes/digits/documents', body))
  const entries = await dumped(t, server, dumpDirectory)
  t.true(entries.get('indexes/digits/documents.jsonl') === `${lines.join('\n')}\n`)
})

test('a dump holds an index with the longest name', async (t) => {
  const { server, dumpDirectory } = await started(t)
  const uid = 'long-'.repeat(80)
  await server.settle(t, server.post(`/indexes/${uid}/documents`, [{ id: 1 }]))
  const task = await server.settle(t, server.post('/dumps'))
  t.is(task.status, 'succeeded', JSON.stringify(task))
  t.is((await readdir(dumpDirectory)).length, 1)
})

test('a dump holds vectors, and secrets of embedders in clear', async (t) => {
  const { server, dumpDirectory } = await started(t)
  const embedders = { own: { source: 'userProvided', dimensions: 2 } }
  await server.settle(t, server.patch('/indexes/plants/settings', { embedders }))
  const documents = [
    { id: 1, _vectors: { own: [0.5, 1] } },
    { id: 2, _vectors: { own: null } },
  ]
  await server.settle(t, server.post('/indexes/plants/documents', documents))
  const rest = {
    source: 'rest',
    url: 'http://embed.test/',
    apiKey: 'open-sesame',
    dimensions: 2,
    request: '{{text}}',
    response: '{{embedding}}',
  }
  await server.settle(t, server.patch('/indexes/empty/settings', { embedders: { rest } }))
  const entries = await dumped(t, server, dumpDirectory)
  t.deepEqual(linesOf(entries, 'indexes/plants/documents.jsonl'), [
    { id: 1, _vectors: { own: { embeddings: [[0.5, 1]], regenerate: false } } },
    { id: 2, _vectors: { own: { embeddings: [], regenerate: false } } },
  ])
  t.true(entries.get('indexes/empty/settings.json')?.includes('open-sesame'))
  t.false(entries.get('tasks/queue.jsonl')?.includes('open-sesame'))
})

test('while a dump is written, other users can read nothing of it, in any directory', async (t) => {
  const dumpDirectory = await tempDir(t)
  await chmod(dumpDirectory, 0o755)
  const open: string[] = []
  let seen = 0
  const queueEngine = (engine: Engine): Engine =>
    changed(engine, {
      pinnedDocuments: async (...given) => {
        for (const name of await readdir(dumpDirectory)) {
          seen++
          if (((await stat(join(dumpDirectory, name))).mode & 0o077) !== 0) open.push(name)
        }
        return engine.pinnedDocuments(...given)
      },
    })
  const server = await startServer(t, { dumpDirectory, queueEngine })
  await server.settle(t, server.post('/indexes/plants/documents', [{ id: 1 }]))
  await dumped(t, server, dumpDirectory)
  t.true(seen >= 2)
  if (process.platform !== 'win32') t.deepEqual(open, [])
})

test('a dump holds finished tasks, and waiting tasks with their uploads', async (t) => {
  let goOn: () => void = () => undefined
  const asked = new Promise<void>((resolve) => {
    goOn = resolve
  })
  // No batch ends before the dump is requested. The dump precedes the waiting tasks.
  const waiting = (engine: Engine): Engine =>
    changed(engine, {
      prepare: async (...given) => {
        await asked
        return engine.prepare(...given)
      },
    })
  const { server, dumpDirectory } = await started(t, { queueEngine: waiting, limits: { batchesMax: 1 } })
  t.teardown(goOn)
  const first = server.post('/indexes/plants/documents', [{ id: 1 }])
  await first
  const held = server.settle(t, first)
  await server.post('/indexes/birds/documents?customMetadata=kept', [{ id: 'b' }])
  await server.put('/indexes/fish/documents', 'id,n:number\nf,1.5\n', {
    headers: { 'content-type': 'text/csv' },
  })
  const entries = await dumped(t, server, dumpDirectory, goOn)
  await held
  const tasks = linesOf(entries, 'tasks/queue.jsonl')
  t.deepEqual(
    tasks.map(({ uid, status }) => [uid, status]),
    [
      [0, 'succeeded'],
      [1, 'enqueued'],
      [2, 'enqueued'],
      [3, 'succeeded'],
    ],
  )
  t.like(tasks[0], {
    indexUid: 'plants',
    batchUid: 0,
    details: { DocumentAdditionOrUpdate: { received_documents: 1, indexed_documents: 1 } },
  })
  t.like(tasks[2], {
    type: {
      documentImport: {
        method: 'UpdateDocuments',
        allow_index_creation: true,
        documents_count: 1,
        primary_key: null,
      },
    },
  })
  t.is(tasks[1]?.customMetadata, 'kept')
  t.deepEqual(linesOf(entries, 'tasks/update_files/1.jsonl'), [{ id: 'b' }])
  t.deepEqual(linesOf(entries, 'tasks/update_files/2.jsonl'), [{ id: 'f', n: 1.5 }])
  t.like(tasks[3], {
    type: { dumpCreation: { keys: [], instance_uid: null } },
    details: { Dump: { dump_uid: null } },
  })
  t.deepEqual(
    linesOf(entries, 'batches/queue.jsonl').map(({ uid }) => uid),
    [0, 1],
  )
})

/** Returns an engine with some methods replaced. */
const changed = (engine: Engine, own: Partial<Engine>): Engine =>
  new Proxy(engine, {
    get: (target, name) => {
      const found = Reflect.get(Reflect.has(own, name) ? own : target, name) as unknown
      return typeof found === 'function' ? found.bind(target) : found
    },
  })

test('a dump into a directory that cannot be written to fails with the reason', async (t) => {
  const parent = await tempDir(t)
  await writeFile(join(parent, 'file'), '')
  const server = await startServer(t, { dumpDirectory: join(parent, 'file') })
  const task = await server.settle(t, server.post('/dumps'))
  t.is(task.status, 'failed')
  t.is(task.error.code, 'io_error')
  t.true(task.error.message.includes(join(parent, 'file')))
  t.deepEqual(task.details, { dumpUid: null } as never)
})

test('a failure during the documents fails the task and leaves nothing', async (t) => {
  const { server, dumpDirectory } = await started(t, {
    queueEngine: (engine) =>
      changed(engine, { pinnedDocuments: () => Promise.reject(new Error('a torn page')) }),
  })
  await server.settle(t, server.post('/indexes/plants/documents', [{ id: 1 }]))
  const task = await server.settle(t, server.post('/dumps'))
  t.is(task.error.code, 'dump_process_failed')
  t.deepEqual(await readdir(dumpDirectory), [])
})

test('a dump can be canceled while it is written, and leaves nothing', async (t) => {
  let reached: () => void = () => undefined
  const reading = new Promise<void>((resolve) => {
    reached = resolve
  })
  const { server, dumpDirectory } = await started(t, {
    queueEngine: (engine) =>
      changed(engine, {
        pinnedDocuments: async (...given) => {
          reached()
          await new Promise((resolve) => setTimeout(resolve, 50))
          return engine.pinnedDocuments(...given)
        },
      }),
  })
  const many = Array.from({ length: 500 }, (_, id) => ({ id, text: 'word '.repeat(2000) }))
  await server.settle(t, server.post('/indexes/plants/documents', many))
  const asked = await server.post('/dumps')
  await reading
  const { body: batch } = await server.get('/batches?limit=1')
  t.like(batch.results[0], { stats: { types: { dumpCreation: 1 } } })
  const cancel = await server.settle(t, server.post(`/tasks/cancel?uids=${asked.body.taskUid}`))
  t.is(cancel.details.canceledTasks, 1)
  t.is((await server.get(`/tasks/${asked.body.taskUid}`)).body.status, 'canceled')
  t.deepEqual(await readdir(dumpDirectory), [])
})

test('the next dump removes the remains of a killed process, and nothing else', async (t) => {
  const { server, dumpDirectory } = await started(t)
  await server.settle(t, server.post('/dumps'))
  const own = '.siftd-5e0a3f0c-6f3b-4f5e-9b52-0d5f6f0f7c11-20200101-000000000.archive'
  const other = '.siftd-00000000-6f3b-4f5e-9b52-0d5f6f0f7c11-20200101-000000000.archive'
  for (const name of [own, other]) await writeFile(join(dumpDirectory, name), 'half')
  await server.settle(t, server.post('/dumps'))
  const names = await readdir(dumpDirectory)
  t.is(names.filter((name) => name.endsWith('.dump')).length, 2)
  t.deepEqual(
    names.filter((name) => name.startsWith('.')),
    [other],
  )
})
