import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { engineKinds, opened, temporary } from '../support/damaged-directory.js'
import { startServer, type TestServer } from '../support/server.js'
import { ended, testQueue } from './test-queue.js'

// If an upload differs from what was received:
// 1. Its task fails with `upload_damaged`, none of it is applied, and other tasks continue.
// 2. It is neither listed nor dumped.

const lines = (first: number) =>
  Array.from({ length: 200 }, (_, n) => `{"id":${first + n},"title":"a title that makes it longer"}\n`)

const damages: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  'cut at the end of a line': async (path) =>
    truncate(path, (await readFile(path, 'utf8')).split('\n').slice(0, 100).join('\n').length + 1),
  'with one letter changed': async (path) =>
    writeFile(path, (await readFile(path, 'utf8')).replace('a title', 'A title')),
  deleted: (path) => rm(path),
}

/** Enqueues two uploads and damages the first one. */
async function waiting(server: TestServer, directory: string, damage: (path: string) => Promise<unknown>) {
  const uploads = join(directory, 'update_files')
  const headers = { 'content-type': 'application/x-ndjson' }
  const uids: number[] = []
  for (const first of [0, 1000]) {
    const body = lines(first).join('')
    const { body: task } = await server.post('/indexes/films/documents', body, { headers })
    uids.push(task.taskUid)
    if (first === 0) await damage(join(uploads, (await readdir(uploads))[0] ?? ''))
  }
  return uids
}

for (const [name, damage] of Object.entries(damages)) {
  test(`an upload ${name} fails only its task, and none of it is applied`, async (t) => {
    const directory = await temporary(t)
    const held = await startServer(t, {
      directory,
      limits: { tasksMax: 0 },
      features: ['getTaskDocumentsRoute'],
    })
    const uids = await waiting(held, directory, damage)
    const shown = await held.get(`/tasks/${uids[0]}/documents`)
    t.is(shown.body.code, 'upload_damaged')
    await held.stop()
    const server = await startServer(t, { directory })
    const tasks = await Promise.all(
      uids.map(async (uid) => {
        for (;;) {
          const { body } = await server.get(`/tasks/${uid}`)
          if (body.status === 'succeeded' || body.status === 'failed') return body
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      }),
    )
    t.deepEqual(
      tasks.map(({ status }) => status),
      ['failed', 'succeeded'],
    )
    t.is(tasks[0]?.error.code, 'upload_damaged')
    t.regex(
      String(tasks[0]?.error.message),
      /update_files.*: none of it was applied, send its documents again$/,
    )
    const { body } = await server.get('/indexes/films/documents?limit=1')
    t.is(body.total, 200)
    t.is((await readdir(join(directory, 'update_files'))).length, 0)
  })
}

test('a dump with a damaged upload fails with `upload_damaged`', async (t) => {
  const directory = await temporary(t)
  const server = await startServer(t, { directory, limits: { tasksMax: 0 } })
  await waiting(server, directory, damages.deleted!)
  await server.post('/dumps')
  await server.stop()
  // Concurrently to the dump, the addition could end, and its upload would no longer be needed.
  const again = await startServer(t, { directory, limits: { batchesMax: 1 } })
  for (;;) {
    const { body } = await again.get('/tasks/2')
    if (body.status === 'failed' || body.status === 'succeeded') {
      t.is(body.error.code, 'upload_damaged')
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
})

for (const engine of engineKinds) {
  test(`${engine}: an upload in process is checked like an upload over HTTP`, async (t) => {
    const directory = await temporary(t)
    const siftd = await opened(t, directory, engine)
    const { taskUid } = await siftd
      .index('films')
      .addDocuments(lines(0).map((line) => JSON.parse(line) as { id: number }))
    t.is((await siftd.waitForTask(taskUid)).status, 'succeeded')
  })
}

test('an upload without a stored checksum is checked by its length', async (t) => {
  const { tasks, start, directory } = await testQueue(t)
  const slot = await tasks.spool('ndjson')
  await writeFile(slot.path, lines(0).join(''))
  await slot.sync()
  await tasks.enqueue({
    indexUid: 'films',
    type: 'documentAdditionOrUpdate',
    content: {
      kind: 'documents',
      method: 'replace',
      payload: { path: slot.path, format: 'ndjson' },
      payloadBytes: lines(0).join('').length,
      receivedDocuments: 200,
      primaryKey: null,
      skipCreation: false,
      mayCreateIndex: true,
    },
  })
  await truncate(join(directory, 'update_files', (await readdir(join(directory, 'update_files')))[0]!), 100)
  start()
  t.is((await ended(tasks, 0)).error?.code, 'upload_damaged')
})
