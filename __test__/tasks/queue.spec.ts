import test from 'ava'
import { add, create, ended, house } from './house.js'

test('a created index is in the catalogue once its task has succeeded', async (t) => {
  const { tasks, start } = await house(t)
  start()
  const summary = await tasks.enqueue(create('ferries'))
  t.deepEqual(Object.keys(summary), ['taskUid', 'indexUid', 'status', 'type', 'enqueuedAt'])
  t.is(summary.taskUid, 0)
  const task = await ended(tasks, 0)
  t.like(task, {
    uid: 0,
    batchUid: 0,
    indexUid: 'ferries',
    status: 'succeeded',
    type: 'indexCreation',
    canceledBy: null,
    details: { primaryKey: null },
    error: null,
  })
  t.is(tasks.index('ferries')?.primaryKey, null)
})

test('added documents are counted and metadata comes back', async (t) => {
  const { tasks, start } = await house(t)
  start()
  const summary = await add(tasks, 'ferries', [{ id: 1 }, { id: 2 }, { id: 2 }], {
    customMetadata: 'night-load',
  })
  t.is(summary.customMetadata, 'night-load')
  const task = await ended(tasks, summary.taskUid)
  t.deepEqual(task.details, { receivedDocuments: 3, indexedDocuments: 2 })
  t.is(task.customMetadata, 'night-load')
})
