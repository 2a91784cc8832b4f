import { statSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { add, batchesOf, cancel, create, drop, ended, forget, settings, testQueue } from './test-queue.js'

// When the task store or the disk becomes full:
// 1. New tasks are refused unless they free space. Accepted tasks are executed.
// 2. New tasks are accepted again once space is free, without a restart.
// 3. If too many tasks are stored, the oldest finished ones are deleted.

const long = (serial: number) => settings(`boats-${serial}`, { stopWords: ['x'.repeat(8_000)] })

test('a full task store only accepts tasks that free space, until it has space again', async (t) => {
  const { tasks, start } = await testQueue(t, { capacity: { storeBytesMax: 1024 * 1024 } })
  let taken = 0
  const refusal = await (async () => {
    for (;;) {
      try {
        await tasks.enqueue(long(taken))
        taken++
      } catch (error) {
        return error as { code?: string; status?: number }
      }
    }
  })()
  t.like(refusal, { code: 'no_space_left_on_device', status: 422 })
  t.true(taken > 5)
  await t.throwsAsync(add(tasks, 'boats', [{ id: 1 }]), { message: /no space/ })
  await t.throwsAsync(tasks.enqueue(cancel('?uids=999')), { message: /no space/ }, 'it matches no task')
  const last = taken - 1
  await tasks.enqueue(cancel(`?uids=${last}`, last))
  await tasks.enqueue(drop('boats-0'))
  start()
  t.is((await ended(tasks, last)).status, 'canceled')
  t.is((await ended(tasks, 0)).status, 'succeeded')
  const all = Array.from({ length: taken }, (_, uid) => uid)
  for (const uid of all) await ended(tasks, uid)
  const { taskUid } = await tasks.enqueue(forget('?uids=*', ...all))
  t.is((await ended(tasks, taskUid)).details?.deletedTasks, taken)
  t.is((await ended(tasks, (await tasks.enqueue(create('after'))).taskUid)).status, 'succeeded')
})

test('the oldest finished tasks are deleted once too many are stored, waiting tasks are kept', async (t) => {
  const first = await testQueue(t)
  first.start()
  for (let i = 0; i < 5; i++) {
    await ended(first.tasks, (await first.tasks.enqueue(create(`boats-${i}`))).taskUid)
  }
  await first.close()
  const { tasks, start } = await testQueue(t, { directory: first.directory, storedTasksMax: 6 })
  await tasks.enqueue(create('last'))
  start()
  // The deletion runs before the last task, which has not ended yet.
  t.is((await ended(tasks, 5)).status, 'succeeded')
  const cleanup = await ended(tasks, 6)
  t.like(cleanup, { type: 'taskDeletion', status: 'succeeded' })
  t.is(cleanup.details?.deletedTasks, 5)
  t.regex(
    String(cleanup.details?.originalFilter),
    /^\?beforeEnqueuedAt=.*Z&statuses=succeeded,failed,canceled$/,
  )
  t.deepEqual((await batchesOf(tasks)).flat().sort(), [5, 6])
})

test('compaction frees the space of deleted tasks and loses nothing', async (t) => {
  const { tasks, start, directory } = await testQueue(t)
  start()
  for (let i = 0; i < 40; i++) await ended(tasks, (await tasks.enqueue(long(i))).taskUid)
  const { taskUid } = await tasks.enqueue(
    forget('?uids=1..39', ...Array.from({ length: 39 }, (_, i) => i + 1)),
  )
  await ended(tasks, taskUid)
  const [compaction, arrived] = await Promise.all([tasks.compact(), tasks.enqueue(create('meanwhile'))])
  t.true(compaction.bytesAfter < compaction.bytesBefore / 2, JSON.stringify(compaction))
  t.is(statSync(join(directory, 'tasks', 'tasks.db')).size, compaction.bytesAfter)
  t.is((await ended(tasks, arrived.taskUid)).status, 'succeeded')
  t.is((await tasks.get(0, null))?.status, 'succeeded')
  t.is(await tasks.get(1, null), null)
})
