import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { open } from '../../ts/index.js'

test('adding no documents creates the index and records its primary key', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-documents-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  await using siftd = await open({ directory, engine: 'fallback', logLevel: 'OFF' })
  const { taskUid } = await siftd.index('films').addDocuments([], { primaryKey: 'id' })
  const task = await siftd.waitForTask(taskUid)
  t.is(task.status, 'succeeded')
  t.deepEqual(task.details, { receivedDocuments: 0, indexedDocuments: 0 })
  t.deepEqual(
    siftd.indexes().map(({ uid, primaryKey }) => ({ uid, primaryKey })),
    [{ uid: 'films', primaryKey: 'id' }],
  )
})
