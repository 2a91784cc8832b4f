import test, { type ExecutionContext } from 'ava'
import { openTasks } from '../../ts/tasks/index.js'
import { type FakeEngine, openFake } from './fake-engine.js'
import { add, cancel, ended, forget, quiet, temporaryDirectory } from './test-queue.js'

// The task that upgrades a data directory:
// 1. It runs before all waiting tasks, and cannot be canceled.
// 2. It is enqueued only once, regardless of the number of starts.
// 3. If it fails, no other task runs, and its record is kept.
// 4. The next start retries it in a batch with the same uid, which webhooks receive again.

const upgrade = { from: '0.0.8', to: '0.0.9' }

async function opened(t: ExecutionContext, directory: string, given: object, broken = false) {
  const fake = await openFake(`${directory}/indexes`)
  const lastCommit: FakeEngine['lastCommit'] = () => Promise.reject(new Error('the disk does not answer'))
  const engine = broken ? { ...fake, lastCommit } : fake
  const queue = await openTasks({ directory, engine, log: quiet, capacity: { reserveBytes: 0 }, ...given })
  t.teardown(() => queue.close())
  return queue
}

const waitsFor = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('an upgrade runs once, before all waiting tasks, and cannot be canceled', async (t) => {
  const directory = await temporaryDirectory(t)
  const first = await opened(t, directory, {})
  await add(first.tasks, 'plants', [{ id: 1 }])
  await first.close()
  // Imitates starts that end before they could record the enqueued task.
  for (const _ of [1, 2]) await (await opened(t, directory, { upgrade })).close()
  const { tasks, start } = await opened(t, directory, { upgrade })
  const found = await tasks.list({ types: ['upgradeDatabase'] }, { limit: 5, from: null, reverse: false })
  t.deepEqual(
    found.results.map(({ uid, details }) => [uid, details]),
    [[1, { upgradeFrom: 'v0.0.8', upgradeTo: 'v0.0.9' }]],
  )
  const { taskUid } = await tasks.enqueue(cancel('?uids=0,1', 0, 1))
  start()
  const canceling = await ended(tasks, taskUid)
  t.deepEqual([canceling.details?.canceledTasks, (await ended(tasks, 0)).status], [1, 'canceled'])
  t.is((await ended(tasks, 1)).status, 'succeeded')
})

test('a failed upgrade stops the queue until the next start, which retries it', async (t) => {
  const directory = await temporaryDirectory(t)
  const before = await opened(t, directory, {})
  await before.webhooks.put(
    { uuid: 'b9a1c6de-0c2f-4f0b-8f53-0f4c3a7e1c11', url: 'https://hooks.test/', headers: {} },
    9,
  )
  before.start()
  await add(before.tasks, 'plants', [{ id: 1 }])
  await ended(before.tasks, 0)
  await before.close()

  const failing = await opened(t, directory, { upgrade }, true)
  failing.start()
  const failed = await ended(failing.tasks, 1)
  t.deepEqual([failed.status, failed.batchUid, failed.error?.code], ['failed', 1, 'internal'])
  await failing.webhooks.delivered('b9a1c6de-0c2f-4f0b-8f53-0f4c3a7e1c11', 1)
  await add(failing.tasks, 'plants', [{ id: 2 }])
  await failing.tasks.enqueue(forget('?uids=1', 1))
  await waitsFor(100)
  const all = { limit: 9, from: null, reverse: true }
  const statuses = async ({ tasks }: typeof failing) =>
    (await tasks.list({}, all)).results.map(({ status }) => status)
  t.deepEqual(await statuses(failing), ['succeeded', 'failed', 'enqueued', 'enqueued'])
  await failing.close()

  const next = await opened(t, directory, {})
  t.deepEqual(await statuses(next), ['succeeded', 'enqueued', 'enqueued', 'enqueued'])
  t.deepEqual((await next.tasks.list({ statuses: ['failed'] }, all)).results, [])
  const waits = await next.tasks.list({ types: ['upgradeDatabase'], statuses: ['enqueued'] }, all)
  t.deepEqual(
    waits.results.map(({ uid }) => uid),
    [1],
  )
  t.is(await next.tasks.batch(1, null), null)
  next.start()
  await ended(next.tasks, 3)
  const done = await ended(next.tasks, 2)
  const task = await next.tasks.get(1, null)
  // The deletion was enqueued before this task had ended, and finds it ended now.
  t.is(task, null)
  t.is(done.status, 'succeeded')
  t.is(await next.webhooks.next('b9a1c6de-0c2f-4f0b-8f53-0f4c3a7e1c11'), 1)
})
