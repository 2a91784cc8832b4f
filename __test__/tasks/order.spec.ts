/** The order in which the store finds waiting tasks when more of them wait than it reads at once. */
import test from 'ava'
import { OLDEST_READ } from '../../ts/tasks/limits.js'
import { add, batchesOf, create, deleteIds, ended, gate, swap, testQueue } from './test-queue.js'

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

test('a long queue runs in the order of uids: its oldest index first, and all tasks of an index', async (t) => {
  const { tasks, start } = await testQueue(t, { limits: { tasksMax: OLDEST_READ, batchesMax: 1 } })
  // More tasks wait than are read at once, and tasks of the first index lie on both sides of them.
  const between = OLDEST_READ + 20
  const last = between + OLDEST_READ + 30
  const indexes = range(0, last + 1).map((uid) => (uid === 0 || uid > between ? 'ferries' : 'boats'))
  await Promise.all(indexes.map((indexUid) => tasks.enqueue(deleteIds(indexUid, '1'))))
  start()
  await ended(tasks, last)
  t.deepEqual(await batchesOf(tasks), [
    [0, ...range(between + 1, between + OLDEST_READ)],
    range(1, OLDEST_READ + 1),
    range(OLDEST_READ + 1, between + 1),
    range(between + OLDEST_READ, last + 1),
  ])
})

test('behind many tasks of a busy index, a swap runs between the tasks before and after it', async (t) => {
  const { tasks, start, hooks } = await testQueue(t)
  const held = gate(t)
  hooks.commit = ({ indexUid }) => (indexUid === 'busy' ? held.passed : undefined)
  await tasks.enqueue(create('ferries')) // 0
  await tasks.enqueue(create('boats')) // 1
  await add(tasks, 'busy', [{ id: 1 }]) // 2
  start()
  await ended(tasks, 1)
  while ((await tasks.get(2, null))?.status !== 'processing') await new Promise((go) => setTimeout(go, 2))
  await Promise.all(range(0, OLDEST_READ).map(() => tasks.enqueue(deleteIds('busy', '1'))))
  await Promise.all([
    tasks.enqueue(deleteIds('ferries', '1')),
    tasks.enqueue(swap(['ferries', 'boats'])),
    tasks.enqueue(deleteIds('ferries', '1')),
  ])
  const before = 3 + OLDEST_READ
  await ended(tasks, before + 2)
  const { results } = await tasks.list(
    { uids: range(before, before + 3) },
    { limit: 3, from: null, reverse: true },
  )
  const [batch = -1] = results.map(({ batchUid }) => batchUid ?? -1)
  t.deepEqual(
    results.map(({ batchUid }) => batchUid),
    [batch, batch + 1, batch + 2],
  )
  held.open()
})
