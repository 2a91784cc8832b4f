import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { jsonOf } from '../../ts/parse/index.js'
import {
  INLINE_PAYLOAD_BYTES_MAX,
  openRestore,
  type Task,
  type TaskFilter,
  type TaskPaging,
  type Tasks,
} from '../../ts/tasks/index.js'
import { CANCELED_TASKS_READ } from '../../ts/tasks/limits.js'
import { tempDir } from '../backup/archives.js'
import {
  add,
  batchesOf,
  cancel,
  clear,
  create,
  deleteBy,
  deleteIds,
  drop,
  dump,
  ended,
  forget,
  gate,
  settings,
  snapshot,
  swap,
  temporaryDirectory,
  testQueue,
  update,
} from './test-queue.js'

const everything: TaskPaging = { limit: 1000, from: null, reverse: true }

const uidsOf = async (tasks: Tasks, filter: TaskFilter, paging: Partial<TaskPaging> = {}) =>
  (await tasks.list(filter, { ...everything, ...paging })).results.map(({ uid }) => uid)

test('a created index is in the catalogue once its task has succeeded', async (t) => {
  const { tasks, start } = await testQueue(t)
  start()
  const summary = await tasks.enqueue(create('ferries'))
  t.deepEqual(Object.keys(summary), ['taskUid', 'indexUid', 'status', 'type', 'enqueuedAt'])
  t.like(summary, { taskUid: 0, indexUid: 'ferries', status: 'enqueued', type: 'indexCreation' })
  const task = await ended(tasks, 0)
  t.deepEqual(Object.keys(task), [
    'uid',
    'batchUid',
    'indexUid',
    'status',
    'type',
    'canceledBy',
    'details',
    'error',
    'duration',
    'enqueuedAt',
    'startedAt',
    'finishedAt',
  ])
  t.like(task, {
    batchUid: 0,
    status: 'succeeded',
    canceledBy: null,
    details: { primaryKey: null },
    error: null,
  })
  t.deepEqual(
    tasks.indexes().map(({ uid }) => uid),
    ['ferries'],
  )
})

test('a waiting task has no batch and no end', async (t) => {
  const { tasks } = await testQueue(t)
  const { taskUid, enqueuedAt } = await add(tasks, 'ferries', [{ id: 1 }])
  t.deepEqual(await tasks.get(taskUid, null), {
    uid: 0,
    batchUid: null,
    indexUid: 'ferries',
    status: 'enqueued',
    type: 'documentAdditionOrUpdate',
    canceledBy: null,
    details: { receivedDocuments: 1, indexedDocuments: null },
    error: null,
    duration: null,
    enqueuedAt,
    startedAt: null,
    finishedAt: null,
  })
  t.is(tasks.index('ferries'), null)
})

test('added documents are counted and metadata is returned', async (t) => {
  const { tasks, start } = await testQueue(t)
  start()
  const summary = await add(tasks, 'ferries', [{ id: 1 }, { id: 2 }, { id: 2 }], {
    customMetadata: 'night-load',
  })
  t.is(summary.customMetadata, 'night-load')
  const task = await ended(tasks, summary.taskUid)
  t.deepEqual(task.details, { receivedDocuments: 3, indexedDocuments: 2 })
  t.is(task.customMetadata, 'night-load')
})

test('an upload is removed when its task has ended', async (t) => {
  const { tasks, start, directory } = await testQueue(t)
  await add(tasks, 'ferries', [{ id: 1 }])
  t.is((await readdir(join(directory, 'update_files'))).length, 1)
  start()
  await ended(tasks, 0)
  await tasks.enqueue(create('after'))
  await ended(tasks, 1)
  t.deepEqual(await readdir(join(directory, 'update_files')), [])
})

test('tasks that need an index fail without one', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(drop('ghost'))
  await tasks.enqueue(deleteIds('ghost', '1', '2'))
  await tasks.enqueue(deleteBy('ghost', 'deck = 2'))
  await tasks.enqueue(clear('ghost'))
  await tasks.enqueue(update('ghost', { primaryKey: 'id' }))
  await add(tasks, 'ghost', [{ id: 1 }], { mayCreateIndex: false })
  start()
  const details = []
  for (const uid of [0, 1, 2, 3, 4, 5]) {
    const task = await ended(tasks, uid)
    t.is(task.status, 'failed')
    t.is(task.error?.code, 'index_not_found')
    t.regex(task.error?.message ?? '', /`ghost`/)
    details.push(task.details)
  }
  t.deepEqual(details, [
    { deletedDocuments: 0 },
    { providedIds: 2, deletedDocuments: 0, originalFilter: null },
    { providedIds: 0, deletedDocuments: 0, originalFilter: '"deck = 2"' },
    { deletedDocuments: 0 },
    { primaryKey: 'id' },
    { receivedDocuments: 1, indexedDocuments: 0 },
  ])
  t.is(tasks.index('ghost'), null)
})

test('a failed task that may create its index still creates it', async (t) => {
  const { tasks, start } = await testQueue(t)
  await add(tasks, 'ferries', [{ name: 'no id' }])
  start()
  const task = await ended(tasks, 0)
  t.is(task.error?.code, 'missing_document_id')
  t.deepEqual(task.details, { receivedDocuments: 1, indexedDocuments: 0 })
  t.is(tasks.index('ferries')?.primaryKey, null)
})

test('a task that fails does not affect other tasks in its batch', async (t) => {
  const { tasks, start } = await testQueue(t)
  await add(tasks, 'ferries', [{ id: 1 }])
  await add(tasks, 'ferries', [{ name: 'no id' }])
  await add(tasks, 'ferries', [{ id: 2 }])
  start()
  const statuses = []
  for (const uid of [0, 1, 2]) statuses.push((await ended(tasks, uid)).status)
  t.deepEqual(statuses, ['succeeded', 'failed', 'succeeded'])
  t.deepEqual(await batchesOf(tasks), [[0, 1, 2]])
})

test('a snapshot task has no details', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(snapshot)
  start()
  const task = await ended(tasks, 0)
  t.false('details' in task)
  t.is(task.indexUid, null)
})

test('creating an index twice fails the second time', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(create('ferries', 'code'))
  await tasks.enqueue(create('ferries', 'sku'))
  start()
  const second = await ended(tasks, 1)
  t.is(second.error?.code, 'index_already_exists')
  t.deepEqual(second.details, { primaryKey: 'sku' })
  t.is(tasks.index('ferries')?.primaryKey, 'code')
})

test('pages are descending or ascending by uid and name the next page', async (t) => {
  const { tasks } = await testQueue(t)
  for (let i = 0; i < 10; i++) await tasks.enqueue(create(`boats-${i}`))
  const page = async (limit: number, from: number | null, reverse: boolean) => {
    const { results, ...rest } = await tasks.list({}, { limit, from, reverse })
    return { uids: results.map(({ uid }) => uid), ...rest }
  }
  t.deepEqual(await page(3, null, false), { uids: [9, 8, 7], total: 10, limit: 3, from: 9, next: 6 })
  t.deepEqual(await page(3, 8, true), { uids: [8, 9], total: 10, limit: 3, from: 8, next: null })
  t.deepEqual(await page(0, null, false), { uids: [], total: 10, limit: 0, from: null, next: 9 })
  t.deepEqual(await page(3, 1, false), { uids: [1, 0], total: 10, limit: 3, from: 1, next: null })
  t.deepEqual(await page(20, null, true), {
    uids: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    total: 10,
    limit: 20,
    from: 0,
    next: null,
  })
})

test('batches of different indexes run concurrently, tasks of an index in order', async (t) => {
  const { tasks, start, hooks } = await testQueue(t)
  const held = gate(t)
  hooks.commit = (batch) => (batch.indexUid === 'slow' ? held.passed : undefined)
  await add(tasks, 'slow', [{ id: 1 }]) // 0
  start()
  while ((await tasks.get(0, null))?.status !== 'processing') await new Promise((go) => setTimeout(go, 2))
  await add(tasks, 'slow', [{ id: 2 }]) // 1
  await add(tasks, 'quick', [{ id: 1 }]) // 2
  await tasks.enqueue(swap(['other', 'slow'])) // 3
  await add(tasks, 'other', [{ id: 1 }]) // 4, after the swap
  await add(tasks, 'quick', [{ id: 2 }]) // 5
  t.is((await ended(tasks, 2)).batchUid, 1)
  t.is((await ended(tasks, 5)).batchUid, 2)
  const running = await tasks.list({ statuses: ['processing', 'enqueued'] }, everything)
  t.deepEqual(
    running.results.map(({ uid, status }) => [uid, status]),
    [
      [0, 'processing'],
      [1, 'enqueued'],
      [3, 'enqueued'],
      [4, 'enqueued'],
    ],
  )
  t.true(tasks.isIndexing('slow'))
  held.open()
  t.is((await ended(tasks, 4)).batchUid, 5)
  t.is((await tasks.get(3, null))?.error?.code, 'index_not_found')
  t.is((await tasks.get(1, null))?.batchUid, 3)
  const first = await tasks.batches({ batchUids: [0] }, everything)
  const second = await tasks.batches({ batchUids: [2] }, everything)
  t.true((first.results[0]?.finishedAt ?? '') > (second.results[0]?.finishedAt ?? ''))
})

test('a dump does not wait for a preparation, and no batch waits for the dump', async (t) => {
  const [preparation, reading, written] = [gate(t), gate(t), gate(t)]
  const seen: [number, string, number | null][] = []
  const { tasks, start, hooks } = await testQueue(t, {
    writeDump: async (source) => {
      const instance = await source.freeze(join(await tempDir(t), 'tasks.db'))
      written.open()
      await reading.passed
      for await (const { task } of instance.tasks()) seen.push([task.uid, task.status, task.batchUid])
      await instance.release()
      return '20261125-000000000'
    },
  })
  hooks.prepare = (batch) => (batch.indexUid === 'slow' ? preparation.passed : undefined)
  await add(tasks, 'slow', [{ id: 1 }]) // 0
  start()
  while ((await tasks.get(0, null))?.status !== 'processing') await new Promise((go) => setTimeout(go, 2))
  await tasks.enqueue(dump()) // 1
  await written.passed
  await add(tasks, 'quick', [{ id: 1 }]) // 2
  preparation.open()
  for (const uid of [0, 2]) t.is((await ended(tasks, uid)).status, 'succeeded')
  t.is((await tasks.get(1, null))?.status, 'processing')
  reading.open()
  t.is((await ended(tasks, 1)).status, 'succeeded')
  t.deepEqual(seen, [
    [0, 'enqueued', null],
    [1, 'succeeded', 1],
  ])
})

test('an upload that a dump reads is kept until it is read, even if its task has ended', async (t) => {
  const [preparation, reading, written] = [gate(t), gate(t), gate(t)]
  const lines: string[] = []
  const { tasks, start, hooks, directory } = await testQueue(t, {
    writeDump: async (source) => {
      const instance = await source.freeze(join(await tempDir(t), 'tasks.db'))
      written.open()
      await reading.passed
      for await (const { content } of instance.tasks())
        if (content?.kind === 'documents')
          for await (const line of instance.documents(content)) lines.push(line)
      await instance.release()
      return '20261125-000000000'
    },
  })
  hooks.prepare = () => preparation.passed
  const filler = 'x'.repeat(INLINE_PAYLOAD_BYTES_MAX)
  await add(tasks, 'slow', [{ id: 1, filler }]) // 0
  start()
  await tasks.enqueue(dump()) // 1
  await written.passed
  preparation.open()
  t.is((await ended(tasks, 0)).status, 'succeeded')
  t.is((await readdir(join(directory, 'update_files'))).length, 1)
  reading.open()
  t.is((await ended(tasks, 1)).status, 'succeeded')
  t.deepEqual(
    lines.map((line) => JSON.parse(line).filler.length),
    [filler.length],
  )
  t.deepEqual(await readdir(join(directory, 'update_files')), [])
})

test('a cancelation ends a dump, and waiting tasks continue', async (t) => {
  const begun = gate(t)
  const { tasks, start } = await testQueue(t, {
    writeDump: (source) =>
      new Promise<string>((_, reject) => {
        source.signal.addEventListener('abort', () => reject(new Error('stopped')))
        begun.open()
      }),
  })
  await tasks.enqueue(dump()) // 0
  start()
  await begun.passed
  await add(tasks, 'quick', [{ id: 1 }]) // 1
  await tasks.enqueue(cancel('?uids=0', 0)) // 2
  t.is((await ended(tasks, 0)).status, 'canceled')
  t.is((await ended(tasks, 1)).status, 'succeeded')
})

test('filters select tasks and their batches, and totals count them', async (t) => {
  const { tasks, start, hooks } = await testQueue(t)
  const held = gate(t)
  hooks.commit = (batch) => (batch.indexUid === 'slow' ? held.passed : undefined)
  await add(tasks, 'boats_a', [{ id: 1 }, { id: 2 }]) // 0: batch 0
  await tasks.enqueue(create('boats_a')) // 1: batch 1, fails
  await add(tasks, 'boats_a', [{ id: 3 }]) // 2: batch 2
  start()
  await ended(tasks, 2)
  await add(tasks, 'trains', [{ id: 1 }]) // 3: batch 3
  await tasks.enqueue(swap(['boats_a', 'trains'])) // 4: batch 4; then 0 1 2 belong to trains, 3 to boats_a
  await ended(tasks, 4)
  await tasks.enqueue(settings('boats_a', { stopWords: ['of'] })) // 5: batch 5
  await ended(tasks, 5)
  const middle = (await tasks.get(3, null))?.enqueuedAt ?? ''
  const lastStart = (await tasks.get(5, null))?.startedAt ?? ''
  await add(tasks, 'slow', [{ id: 1 }]) // 6: batch 6, processing
  while ((await tasks.get(6, null))?.status !== 'processing') await new Promise((go) => setTimeout(go, 2))
  await add(tasks, 'slow', [{ id: 2 }]) // 7: enqueued

  // Filter, tasks, batches. `more`: tasks and batches that count in totals but are not listed: swaps of the index, and
  // entries that an API key limited to some indexes may not see.
  type Case = readonly [TaskFilter, readonly number[], readonly number[], more?: readonly [number, number]]
  const cases: readonly Case[] = [
    [{}, [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6]],
    [{ uids: [2, 5, 99] }, [2, 5], [2, 5]],
    [{ uids: [] }, [], []],
    [{ batchUids: [1, 4] }, [1, 4], [1, 4]],
    [{ batchUids: [6] }, [6], [6]],
    [{ statuses: ['failed'] }, [1], [1]],
    [{ statuses: ['enqueued'] }, [7], []],
    [{ statuses: ['processing'] }, [6], [6]],
    [{ statuses: ['failed', 'enqueued'] }, [1, 7], [1]],
    [{ types: ['indexSwap', 'settingsUpdate'] }, [4, 5], [4, 5]],
    [{ indexUids: ['boats_a'] }, [3, 5], [3, 5], [1, 0]],
    [{ indexUids: ['trains', 'slow'] }, [0, 1, 2, 6, 7], [0, 1, 2, 6], [1, 0]],
    [{ indexUids: ['nowhere'] }, [], []],
    [{ indexUids: ['trains'], statuses: ['succeeded'], types: ['documentAdditionOrUpdate'] }, [0, 2], [0, 2]],
    [{ canceledBy: [3] }, [], []],
    [{ visibleIndexes: ['boats_*'] }, [3, 5], [3, 5], [6, 5]],
    [{ visibleIndexes: ['boats', 'trains'] }, [0, 1, 2], [0, 1, 2], [5, 4]],
    [{ visibleIndexes: [] }, [], [], [8, 7]],
    [{ visibleIndexes: ['*'] }, [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6]],
    [{ visibleIndexes: ['slow'], indexUids: ['trains'] }, [], [], [4, 3]],
    [{ beforeEnqueuedAt: middle }, [0, 1, 2], [0, 1, 2]],
    [{ afterEnqueuedAt: middle }, [4, 5, 6, 7], [4, 5, 6]],
    [{ afterEnqueuedAt: middle, statuses: ['succeeded'] }, [4, 5], [4, 5]],
    [{ afterEnqueuedAt: '2031-02-04T00:00:00Z' }, [], []],
    [{ beforeEnqueuedAt: '2031-02-04T00:00:00Z', uids: [1] }, [1], [1]],
    [{ beforeStartedAt: lastStart }, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]],
    [{ afterStartedAt: lastStart }, [6], [6]],
    [{ afterFinishedAt: '2001-01-01T00:00:00Z' }, [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]],
    [{ beforeFinishedAt: '2001-01-01T00:00:00Z' }, [], []],
  ]
  for (const [filter, uids, batchUids, [moreTasks, moreBatches] = [0, 0]] of cases) {
    const label = JSON.stringify(filter)
    const listed = await tasks.list(filter, everything)
    t.deepEqual(
      listed.results.map(({ uid }) => uid),
      uids,
      label,
    )
    t.is(listed.total, uids.length + moreTasks, `total of ${label}`)
    t.deepEqual(await tasks.match(filter), uids, `match of ${label}`)
    const down = await uidsOf(tasks, filter, { reverse: false, limit: 3 })
    t.deepEqual(down, [...uids].reverse().slice(0, 3), `newest of ${label}`)
    const batches = await tasks.batches(filter, everything)
    t.deepEqual(
      batches.results.map(({ uid }) => uid),
      batchUids,
      `batches of ${label}`,
    )
    t.is(batches.total, batchUids.length + moreBatches, `total of batches of ${label}`)
  }
  held.open()
  await ended(tasks, 6)
})

test('date bounds are exact to the microsecond', async (t) => {
  const { tasks } = await testQueue(t)
  const { enqueuedAt } = await tasks.enqueue(create('ferries'))
  const [seconds = '', fraction = '0'] = enqueuedAt.replace('Z', '').split('.')
  const digits = fraction.padEnd(6, '0')
  t.deepEqual(await uidsOf(tasks, { afterEnqueuedAt: enqueuedAt }), [])
  t.deepEqual(await uidsOf(tasks, { beforeEnqueuedAt: enqueuedAt }), [])
  t.deepEqual(await uidsOf(tasks, { beforeEnqueuedAt: `${seconds}.${digits}001Z` }), [0])
  t.deepEqual(await uidsOf(tasks, { afterEnqueuedAt: `${seconds}.${digits}001Z` }), [])
})

test('a key limited to an index sees only its tasks and batches', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(create('a'))
  await tasks.enqueue(create('b'))
  await tasks.enqueue(snapshot)
  start()
  for (const uid of [0, 1, 2]) await ended(tasks, uid)
  const batchOf = async (uid: number) => (await tasks.get(uid, null))?.batchUid ?? -1
  t.is(await tasks.get(0, ['b']), null)
  t.is((await tasks.get(1, ['b']))?.uid, 1)
  t.is(await tasks.get(2, ['b']), null)
  t.is(await tasks.batch(await batchOf(0), ['b']), null)
  t.is((await tasks.batch(await batchOf(1), ['b*']))?.uid, await batchOf(1))
  t.is(await tasks.batch(await batchOf(2), ['b']), null)
})

test('canceled tasks join the batch of their cancelation', async (t) => {
  const { tasks, start, directory, close } = await testQueue(t)
  start()
  await tasks.enqueue(create('ferries'))
  await ended(tasks, 0)
  await close()
  const held = await testQueue(t, { directory })
  await add(held.tasks, 'ferries', [{ id: 1 }])
  await held.tasks.enqueue(deleteIds('ferries', '1'))
  const summary = await held.tasks.enqueue(cancel('?uids=0,1,2', 0, 1, 2))
  t.like(summary, { taskUid: 3, indexUid: null, type: 'taskCancelation' })
  held.start()
  const cancelation = await ended(held.tasks, 3)
  t.like(cancelation, {
    status: 'succeeded',
    details: { matchedTasks: 3, canceledTasks: 2, originalFilter: '?uids=0,1,2' },
  })
  const expected = [
    { receivedDocuments: 1, indexedDocuments: 0 },
    { providedIds: 1, deletedDocuments: 0, originalFilter: null },
  ]
  for (const [position, details] of expected.entries()) {
    const task = await held.tasks.get(position + 1, null)
    const { batchUid, startedAt, finishedAt } = cancelation
    t.like(task, { status: 'canceled', canceledBy: 3, error: null, batchUid, startedAt, finishedAt, details })
  }
  t.is((await held.tasks.get(0, null))?.status, 'succeeded')
  t.deepEqual(await uidsOf(held.tasks, { canceledBy: [3] }), [1, 2])
  t.deepEqual((await held.tasks.batch(cancelation.batchUid ?? -1, null))?.stats.status, {
    canceled: 2,
    succeeded: 1,
  })
  // Uploads are removed after the outcome is recorded. Closing waits for it.
  await held.close()
  t.deepEqual(await readdir(join(directory, 'update_files')), [])
})

test('a cancelation stops the running batch, and its other tasks run again', async (t) => {
  const { tasks, start, hooks, engine } = await testQueue(t)
  const [preparing, held] = [gate(t), gate(t)]
  hooks.prepare = () => {
    preparing.open()
    return held.passed
  }
  await add(tasks, 'ferries', [{ id: 1 }])
  await add(tasks, 'ferries', [{ id: 2 }])
  start()
  await preparing.passed
  t.true(tasks.isIndexing('ferries'))
  await tasks.enqueue(cancel('?uids=1', 1))
  // The cancelation ends although the engine is still preparing.
  t.like(await ended(tasks, 2), { status: 'succeeded', details: { canceledTasks: 1 } })
  t.like(await tasks.get(1, null), { status: 'canceled', canceledBy: 2 })
  held.open()
  t.like(await ended(tasks, 0), { status: 'succeeded', details: { indexedDocuments: 1 } })
  const documents = await engine.read(tasks.index('ferries')?.id ?? '')
  t.deepEqual(Object.keys(documents.documents), ['1'])
})

test('a batch waits until the engine has abandoned the batch before it, which a cancelation met too late', async (t) => {
  const { tasks, start, hooks } = await testQueue(t)
  const [committing, committed, abandoned] = [gate(t), gate(t), gate(t)]
  const prepared: (string | undefined)[] = []
  hooks.prepare = ({ indexUid }) => void prepared.push(indexUid)
  hooks.commit = ({ indexUid }) => {
    if (indexUid !== 'ferries') return
    committing.open()
    return committed.passed
  }
  hooks.abandon = () => abandoned.passed
  await add(tasks, 'ferries', [{ id: 1 }])
  start()
  await committing.passed
  await tasks.enqueue(cancel('?uids=0', 0))
  committed.open()
  t.like(await ended(tasks, 1), { status: 'succeeded', details: { canceledTasks: 0 } })
  t.is((await ended(tasks, 0)).status, 'succeeded')
  // An engine that abandons now would stop the next batch of the index.
  await add(tasks, 'ferries', [{ id: 2 }])
  await add(tasks, 'boats', [{ id: 1 }])
  t.is((await ended(tasks, 3)).status, 'succeeded')
  t.deepEqual(prepared, ['ferries', 'boats'])
  abandoned.open()
  t.is((await ended(tasks, 2)).status, 'succeeded')
})

test('a cancelation cancels more tasks than are read at once', async (t) => {
  const { tasks, start, directory } = await testQueue(t)
  const count = CANCELED_TASKS_READ + 1
  for (let uid = 0; uid < count; uid++) await tasks.enqueue(deleteIds('ferries', String(uid)))
  await add(tasks, 'ferries', [{ id: 1 }])
  const all = Array.from({ length: count + 1 }, (_, uid) => uid)
  await tasks.enqueue(cancel('?statuses=enqueued', ...all))
  start()
  t.like((await ended(tasks, count + 1)).details, { matchedTasks: count + 1, canceledTasks: count + 1 })
  t.is((await tasks.list({ statuses: ['canceled'] }, everything)).total, count + 1)
  t.deepEqual(await readdir(join(directory, 'update_files')), [])
})

test('a newer cancelation cancels an older one', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(create('ferries'))
  await tasks.enqueue(cancel('?uids=0', 0))
  await tasks.enqueue(cancel('?uids=1', 1))
  start()
  t.is((await ended(tasks, 0)).status, 'succeeded')
  t.like(await ended(tasks, 1), { status: 'canceled', canceledBy: 2, details: { canceledTasks: 0 } })
})

test('a deleted task is gone for good and its uid is not reused', async (t) => {
  const { tasks, start, directory, close } = await testQueue(t)
  start()
  await tasks.enqueue(create('ferries'))
  await ended(tasks, 0)
  await close()
  const held = await testQueue(t, { directory })
  await held.tasks.enqueue(forget('?uids=0', 0))
  await held.tasks.enqueue(forget('?uids=0', 0))
  await held.tasks.enqueue(create('waiting'))
  held.start()
  t.deepEqual((await ended(held.tasks, 1)).details, {
    matchedTasks: 1,
    deletedTasks: 1,
    originalFilter: '?uids=0',
  })
  t.deepEqual((await ended(held.tasks, 2)).details, {
    matchedTasks: 1,
    deletedTasks: 0,
    originalFilter: '?uids=0',
  })
  t.is(await held.tasks.get(0, null), null)
  t.is(await held.tasks.batch(0, null), null)
  t.is((await held.tasks.list({}, everything)).total, 3)
  t.is(held.tasks.index('ferries')?.uid, 'ferries')
  t.is((await held.tasks.enqueue(create('next'))).taskUid, 4)
})

test('waiting tasks are never deleted', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(create('ferries'))
  await tasks.enqueue(forget('?statuses=*', 0, 1))
  start()
  t.deepEqual((await ended(tasks, 1)).details, {
    matchedTasks: 2,
    deletedTasks: 0,
    originalFilter: '?statuses=*',
  })
  t.is((await ended(tasks, 0)).status, 'succeeded')
})

test('a deletion of running tasks only waits for their batches and blocks nothing else', async (t) => {
  const [ferries, trains] = [gate(t), gate(t)]
  const begun = new Map(['ferries', 'trains', 'ships'].map((uid) => [uid, gate(t)]))
  const { tasks, start } = await testQueue(t, {
    limits: { batchesMax: 3 },
    hooks: {
      async prepare({ indexUid }) {
        begun.get(indexUid)?.open()
        if (indexUid === 'ferries') await ferries.passed
        if (indexUid === 'trains') await trains.passed
      },
    },
  })
  start()
  await add(tasks, 'ferries', [{ id: 1 }])
  await add(tasks, 'trains', [{ id: 1 }])
  await Promise.all([begun.get('ferries')?.passed, begun.get('trains')?.passed])
  await tasks.enqueue(forget('?uids=0', 0))
  await add(tasks, 'ships', [{ id: 1 }])
  t.is((await ended(tasks, 3)).status, 'succeeded')
  await tasks.enqueue(forget('?uids=3', 3))
  t.like((await ended(tasks, 4)).details, { deletedTasks: 1 })
  t.is((await tasks.get(2, null))?.status, 'enqueued')
  ferries.open()
  t.like((await ended(tasks, 2)).details, { deletedTasks: 1 })
  t.is(await tasks.get(0, null), null)
  t.is((await tasks.get(1, null))?.status, 'processing')
  trains.open()
  t.is((await ended(tasks, 1)).status, 'succeeded')
})

test('a batch shows the merged details and the counts of its tasks', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(settings('ferries', { stopWords: ['of'] }))
  await tasks.enqueue(settings('ferries', { stopWords: ['a'], distinctAttribute: null }))
  await tasks.enqueue(clear('ferries'))
  start()
  await ended(tasks, 2)
  const batch = await tasks.batch(0, null)
  t.deepEqual(Object.keys(batch ?? {}), [
    'uid',
    'progress',
    'details',
    'stats',
    'duration',
    'startedAt',
    'finishedAt',
    'batchStrategy',
  ])
  t.is(batch?.progress, null)
  t.deepEqual(batch?.details, { stopWords: ['a'], distinctAttribute: null, deletedDocuments: 0 })
  t.like(batch?.stats, {
    totalNbTasks: 3,
    status: { succeeded: 3 },
    types: { settingsUpdate: 2, documentDeletion: 1 },
    indexUids: { ferries: 3 },
  })
})

test('a batch sums up counters, also for an index named like an object property', async (t) => {
  const { tasks, start } = await testQueue(t)
  await add(tasks, '__proto__', [{ id: 1 }, { id: 2 }])
  await add(tasks, '__proto__', [{ id: 2 }])
  await tasks.enqueue(deleteIds('__proto__', '1', '7'))
  start()
  await ended(tasks, 2)
  const batch = await tasks.batch(0, null)
  t.deepEqual(batch?.details, {
    receivedDocuments: 3,
    indexedDocuments: 3,
    providedIds: 2,
    deletedDocuments: 1,
  })
  t.is(JSON.stringify(batch?.stats.indexUids), '{"__proto__":3}')
})

test('a batch joins the filters of its tasks, and omits those that would make the text too long', async (t) => {
  const { tasks, start } = await testQueue(t)
  await add(tasks, 'ferries', [{ id: 1 }])
  const long = 'x'.repeat(400_000)
  const filters = ['a = 1', 'b = 2', long, long, long, 'c = 3']
  for (const filter of filters) await tasks.enqueue(deleteBy('ferries', filter))
  start()
  await ended(tasks, filters.length)
  const batch = await tasks.batch((await tasks.get(1, null))!.batchUid!, null)
  const { details } = JSON.parse(jsonOf(batch!)) as { details: { originalFilter: string } }
  t.is(
    details.originalFilter,
    [...filters.slice(0, 4).map((filter) => JSON.stringify(filter)), '…'].join('&'),
  )
})

test('a running batch shows its progress', async (t) => {
  const { tasks, start, hooks } = await testQueue(t)
  const [committing, held] = [gate(t), gate(t)]
  hooks.commit = () => {
    committing.open()
    return held.passed
  }
  await add(tasks, 'ferries', [{ id: 1 }])
  start()
  await committing.passed
  const batch = await tasks.batch(0, null)
  t.like(batch, {
    finishedAt: null,
    duration: null,
    details: { receivedDocuments: 1, indexedDocuments: null },
  })
  t.deepEqual(batch?.stats.status, { processing: 1 })
  const progress = batch?.progress as {
    steps: { currentStep: string; finished: number; total: number }[]
    percentage: number
  }
  t.deepEqual(progress.steps[0], { currentStep: 'processing tasks', finished: 0, total: 2 })
  t.true(progress.percentage > 0 && progress.percentage < 50)
  t.like(await tasks.get(0, null), {
    status: 'processing',
    batchUid: 0,
    finishedAt: null,
    startedAt: batch?.startedAt,
  })
  held.open()
  await ended(tasks, 0)
})

test('additions before an index deletion end with it, and the index is never visible', async (t) => {
  const { tasks, start } = await testQueue(t)
  await add(tasks, 'tmp', [{ id: 1 }])
  await add(tasks, 'tmp', [{ id: 2 }])
  await tasks.enqueue(drop('tmp'))
  start()
  t.like(await ended(tasks, 2), { status: 'succeeded', details: { deletedDocuments: 0 } })
  for (const uid of [0, 1])
    t.like(await tasks.get(uid, null), { status: 'succeeded', details: { indexedDocuments: 0 } })
  t.deepEqual(await batchesOf(tasks), [[0, 1, 2]])
  t.is(tasks.index('tmp'), null)
})

test('a deletion of an index reports the number of its documents, and removes its files', async (t) => {
  const { tasks, start, engine } = await testQueue(t)
  start()
  await add(tasks, 'tmp', [{ id: 1 }, { id: 2 }])
  await ended(tasks, 0)
  await tasks.enqueue(drop('tmp'))
  t.deepEqual((await ended(tasks, 1)).details, { deletedDocuments: 2 })
  while ((await engine.list()).length > 0) await new Promise((go) => setTimeout(go, 2))
  t.is(tasks.index('tmp'), null)
})

test('additions before a clear succeed and count nothing', async (t) => {
  const { tasks, start } = await testQueue(t)
  await add(tasks, 'ferries', [{ id: 1 }])
  await tasks.enqueue(deleteIds('ferries', '1'))
  await tasks.enqueue(clear('ferries'))
  start()
  t.like(await ended(tasks, 2), { status: 'succeeded', details: { deletedDocuments: 0 } })
  t.like(await tasks.get(0, null), {
    status: 'succeeded',
    details: { receivedDocuments: 1, indexedDocuments: 0 },
  })
})

test('a swap exchanges indexes and relabels earlier tasks', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(create('a', 'x'))
  await tasks.enqueue(create('b', 'y'))
  await tasks.enqueue(swap(['a', 'b']))
  start()
  t.like(await ended(tasks, 2), {
    indexUid: null,
    details: { swaps: [{ indexes: ['a', 'b'], rename: false }] },
  })
  t.is((await tasks.get(0, null))?.indexUid, 'b')
  t.is((await tasks.get(1, null))?.indexUid, 'a')
  t.deepEqual([tasks.index('a')?.primaryKey, tasks.index('b')?.primaryKey], ['y', 'x'])
  await tasks.enqueue(update('a', { newUid: 'c' }))
  await ended(tasks, 3)
  t.deepEqual((await tasks.get(2, null))?.details, { swaps: [{ indexes: ['c', 'b'], rename: false }] })
})

test('an impossible swap is refused completely', async (t) => {
  const { tasks, start } = await testQueue(t)
  for (const uid of ['a', 'b', 'c']) await tasks.enqueue(create(uid, uid))
  await tasks.enqueue(swap(['a', 'b'], ['c', 'zz']))
  await tasks.enqueue(swap(['a', 'b', 'rename']))
  await tasks.enqueue(swap(['xx', 'yy']))
  await tasks.enqueue(swap())
  start()
  const missing = await ended(tasks, 3)
  t.is(missing.error?.code, 'index_not_found')
  t.is((await ended(tasks, 4)).error?.code, 'index_already_exists')
  t.regex((await ended(tasks, 5)).error?.message ?? '', /`xx`.*`yy`/)
  t.is((await ended(tasks, 6)).status, 'succeeded')
  t.deepEqual(
    tasks.indexes().map(({ uid, primaryKey }) => [uid, primaryKey]),
    [
      ['a', 'a'],
      ['b', 'b'],
      ['c', 'c'],
    ],
  )
})

test('a rename moves the index and its history; its own task is listed under both names', async (t) => {
  const { tasks, start } = await testQueue(t)
  await add(tasks, 'old', [{ id: 1 }])
  await tasks.enqueue(update('old', { newUid: 'new' }))
  await tasks.enqueue(create('old'))
  start()
  await ended(tasks, 2)
  t.like(await tasks.get(1, null), {
    indexUid: 'old',
    details: { primaryKey: null, oldIndexUid: 'old', newIndexUid: 'new' },
  })
  t.is((await tasks.get(0, null))?.indexUid, 'new')
  t.deepEqual(await uidsOf(tasks, { indexUids: ['new'] }), [0, 1])
  t.deepEqual(await uidsOf(tasks, { indexUids: ['old'] }), [1, 2])
  t.is((await tasks.list({ indexUids: ['new', 'old'] }, everything)).total, 3)
  t.is(tasks.index('new')?.primaryKey, 'id')
})

test('a rename to a taken name fails, to the same name succeeds', async (t) => {
  const { tasks, start } = await testQueue(t)
  await tasks.enqueue(create('a'))
  await tasks.enqueue(create('b'))
  await tasks.enqueue(update('a', { newUid: 'b', primaryKey: 'id' }))
  await tasks.enqueue(update('a', { newUid: 'a' }))
  start()
  t.is((await ended(tasks, 2)).error?.code, 'index_already_exists')
  t.is((await ended(tasks, 3)).status, 'succeeded')
  t.is(tasks.index('a')?.primaryKey, null)
})

test('updatedAt changes only when an index changes', async (t) => {
  const { tasks, start } = await testQueue(t)
  start()
  const updatedAfter = async (enqueue: () => Promise<{ taskUid: number }>) => {
    const before = tasks.index('ferries')
    const { taskUid } = await enqueue()
    await ended(tasks, taskUid)
    const after = tasks.index('ferries')
    t.is(after?.createdAt, before?.createdAt ?? after?.createdAt)
    return before?.updatedAt !== after?.updatedAt
  }
  t.is(tasks.lastUpdate(), null)
  t.true(await updatedAfter(() => add(tasks, 'ferries', [{ id: 1 }])))
  t.is(tasks.lastUpdate(), tasks.index('ferries')?.updatedAt ?? '')
  t.true(await updatedAfter(() => tasks.enqueue(settings('ferries', {}))))
  t.true(await updatedAfter(() => tasks.enqueue(update('ferries', { primaryKey: 'id' }))))
  t.false(await updatedAfter(() => tasks.enqueue(update('ferries', {}))))
  t.false(await updatedAfter(() => tasks.enqueue(deleteIds('ferries', '7'))))
  t.true(await updatedAfter(() => tasks.enqueue(deleteIds('ferries', '1'))))
  t.false(await updatedAfter(() => tasks.enqueue(deleteBy('ferries', 'deck = 2'))))
  t.true(await updatedAfter(() => tasks.enqueue(clear('ferries'))))
})

test('a batch ends before the ids and filters of its tasks become too long', async (t) => {
  const { tasks, start } = await testQueue(t, { limits: { contentBytesMax: 25_000 } })
  await tasks.enqueue(deleteIds('ferries', 'x'.repeat(90_000)))
  for (let uid = 1; uid < 4; uid++) await tasks.enqueue(deleteIds('ferries', 'x'.repeat(10_000)))
  await tasks.enqueue(deleteBy('ferries', 'x'.repeat(10_000)))
  start()
  await ended(tasks, 4)
  t.deepEqual(await batchesOf(tasks), [[0], [1, 2], [3, 4]])
})

test('settings tasks of one batch build on each other', async (t) => {
  const { tasks, start, engine } = await testQueue(t)
  await tasks.enqueue(settings('ferries', { stopWords: ['of'], pagination: { maxTotalHits: 5 } }))
  await tasks.enqueue(settings('ferries', { stopWords: null, searchCutoffMs: 7 }))
  start()
  await ended(tasks, 1)
  const { settings: stored } = await engine.read(tasks.index('ferries')?.id ?? '')
  t.deepEqual([stored.stopWords, stored.pagination.maxTotalHits, stored.searchCutoffMs], [[], 5, 7])
})

test('concurrent tasks get uids without gaps, in the order of their dates', async (t) => {
  const { tasks } = await testQueue(t)
  const summaries = await Promise.all(
    Array.from({ length: 200 }, (_, i) => tasks.enqueue(create(`boats-${i}`))),
  )
  const sorted = [...summaries].sort((a, b) => a.taskUid - b.taskUid)
  t.deepEqual(
    sorted.map(({ taskUid }) => taskUid),
    Array.from({ length: 200 }, (_, i) => i),
  )
  const { results } = await tasks.list({}, everything)
  const dates = results.map(({ enqueuedAt }) => enqueuedAt.replace('Z', '').padEnd(26, '0'))
  t.deepEqual(dates, [...dates].sort())
  t.deepEqual(
    results.map(({ enqueuedAt }) => enqueuedAt),
    sorted.map(({ enqueuedAt }) => enqueuedAt),
  )
})

test('keys and values of the instance survive a restart', async (t) => {
  const { instance, close, directory } = await testQueue(t)
  const key = {
    uid: 'k1',
    name: null,
    description: 'deck',
    actions: ['*'],
    indexes: ['boats_*'],
    expiresAt: null,
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-01T00:00:00Z',
  }
  t.is(await instance.value('network'), null)
  await instance.putKey(key)
  await instance.putKey({ ...key, uid: 'k2' })
  await instance.putKey({ ...key, name: 'renamed' })
  await instance.deleteKey('k2')
  await instance.putValue('network', { self: 'here' })
  for (const name of ['a/2', 'a/1', 'a/gone', 'b/1', 'a']) await instance.putValue(name, name)
  await instance.deleteValue('a/gone')
  await instance.deleteValue('ghost')
  await close()
  const again = await testQueue(t, { directory })
  t.deepEqual(await again.instance.keys(), [{ ...key, name: 'renamed' }])
  t.deepEqual(await again.instance.value('network'), { self: 'here' })
  t.deepEqual(await again.instance.valueNames('a/'), ['a/1', 'a/2'])
  t.is(await again.instance.value('a/gone'), null)
})

test('an index can be renamed although a dump had a swap whose details have another shape', async (t) => {
  const directory = await temporaryDirectory(t)
  const pairs: readonly unknown[] = [
    [{ indexes: ['ferries', 'trains'] }, {}, null, { indexes: 7 }],
    { first: { indexes: ['ferries', 'buses'] } },
    [{ indexes: 'ferries' }],
  ]
  const restore = await openRestore(directory)
  const at = '2030-01-01T00:00:00Z'
  for (const [uid, swaps] of pairs.entries()) {
    const dates = { enqueuedAt: at, startedAt: at, finishedAt: at, duration: null }
    const row = { uid, batchUid: uid, indexUid: null, canceledBy: null, error: null, details: { swaps } }
    const task: Task = { ...row, ...dates, status: 'succeeded', type: 'indexSwap' }
    await restore.tasks([{ task, newIndexUid: null, content: null, foreign: null }])
  }
  await restore.end()
  await restore.close()
  const { tasks, start } = await testQueue(t, { directory })
  await tasks.enqueue(create('ferries'))
  await tasks.enqueue(update('ferries', { newUid: 'boats' }))
  start()
  t.is((await ended(tasks, 4)).status, 'succeeded')
  const swaps = await Promise.all([0, 1, 2].map(async (uid) => (await tasks.get(uid, null))?.details?.swaps))
  t.deepEqual(swaps, [[{ indexes: ['boats', 'trains'] }, {}, null, { indexes: 7 }], ...pairs.slice(1)])
})
