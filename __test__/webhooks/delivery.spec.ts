import test, { type ExecutionContext } from 'ava'
import { type LaunchWebhook, openWebhooks } from '../../ts/instance/index.js'
import { openOutbound } from '../../ts/outbound/index.js'
import type { OpenedTasks, TaskLog } from '../../ts/tasks/index.js'
import { startReceiver } from '../support/receiver.js'
import {
  add,
  create,
  ended,
  forget,
  gate,
  quiet,
  temporaryDirectory,
  testQueue,
} from '../tasks/test-queue.js'

// Guarantees of webhook delivery:
// 1. Each batch is one call, with one line per task, ascending.
// 2. Batches are delivered in order, and each call is repeated until it succeeds.
// 3. A restart continues after the last successful call.
// 4. A new webhook only receives batches that finish later.
// 5. Deleted tasks are still delivered to webhooks that have not received them.
// 6. An unreachable webhook does not block others.

async function hooks(
  t: ExecutionContext,
  { webhooks: store }: OpenedTasks,
  launch: LaunchWebhook | null = null,
  log: TaskLog = quiet,
) {
  const outbound = openOutbound({ allowedNetworks: ['127.0.0.0/8'] })
  const webhooks = await openWebhooks({ store, outbound, launch, log })
  let closed: Promise<void> | null = null
  const close = () => {
    closed ??= webhooks.close().then(() => outbound.close())
    return closed
  }
  t.teardown(close)
  return { ...webhooks, close }
}

const headers = undefined

test('a batch is delivered in one call, with one line per task', async (t) => {
  const receiver = await startReceiver(t)
  const queue = await testQueue(t)
  const webhooks = await hooks(t, queue)
  await webhooks.create({
    url: `${receiver.url}/in?a=b`,
    headers: new Map([
      ['Authorization', 'Bearer harbour'],
      ['transfer-encoding', 'gzip'],
    ]),
  })
  for (const id of [1, 2, 3]) await add(queue.tasks, 'ferries', [{ id }], { customMetadata: `load ${id}` })
  queue.start()
  await receiver.until(() => receiver.receipts.length > 0)
  const [receipt] = receiver.receipts
  t.like(receipt, { method: 'POST', url: '/in?a=b' })
  t.like(receipt?.headers, {
    authorization: 'Bearer harbour',
    'content-type': 'application/x-ndjson',
    'content-encoding': 'gzip',
    'transfer-encoding': 'chunked',
  })
  const shown = await Promise.all([0, 1, 2].map((uid) => queue.tasks.get(uid, null)))
  t.deepEqual(receipt?.tasks as unknown, JSON.parse(JSON.stringify(shown)))
  t.is(receipt?.tasks[0]?.customMetadata, 'load 1')
})

test('a failed call is repeated, and later batches wait for it', async (t) => {
  const receiver = await startReceiver(t, (call) => (call < 2 ? 500 : 204))
  const logged: object[] = []
  const queue = await testQueue(t)
  const log = { ...quiet, warn: (facts: object) => void logged.push(facts) }
  const webhooks = await hooks(t, queue, { url: receiver.url, authorization: 'plain' }, log)
  queue.start()
  for (const uid of ['a', 'b']) await ended(queue.tasks, (await queue.tasks.enqueue(create(uid))).taskUid)
  await receiver.until(() => receiver.uids().length === 2)
  t.deepEqual(
    receiver.receipts.map(({ tasks }) => tasks.map(({ uid }) => uid)),
    [[0], [0], [0], [1]],
  )
  t.is(receiver.receipts[0]?.headers.authorization, 'plain')
  t.is(logged.length, 2)
  t.is(webhooks.all().length, 1)
})

test('after a restart a webhook receives only the batches that it has not received', async (t) => {
  const directory = await temporaryDirectory(t)
  const held = gate(t)
  let answer = 200
  const receiver = await startReceiver(t, async () => {
    if (answer === 0) await held.passed
    return answer
  })
  const first = await testQueue(t, { directory })
  const before = await hooks(t, first)
  const { uuid } = await before.create({ url: receiver.url, headers })
  first.start()
  await ended(first.tasks, (await first.tasks.enqueue(create('told'))).taskUid)
  await receiver.until(() => receiver.uids().length === 1)
  answer = 0
  for (const uid of ['a', 'b']) await ended(first.tasks, (await first.tasks.enqueue(create(uid))).taskUid)
  await before.close()
  await first.close()
  answer = 200
  held.open()

  const second = await testQueue(t, { directory })
  const after = await hooks(t, second)
  t.deepEqual(after.all(), [{ uuid, url: receiver.url, headers: {} }])
  await receiver.until(() => receiver.uids().includes(2))
  t.deepEqual(
    receiver.uids().filter((uid) => uid !== 1),
    [0, 2],
  )
  t.true(receiver.uids().includes(1))
})

test('a webhook receives batches that finish after its creation and none after its removal', async (t) => {
  const [early, late] = [await startReceiver(t), await startReceiver(t)]
  const queue = await testQueue(t)
  const webhooks = await hooks(t, queue)
  queue.start()
  const { uuid } = await webhooks.create({ url: early.url, headers })
  await ended(queue.tasks, (await queue.tasks.enqueue(create('a'))).taskUid)
  await early.until(() => early.uids().length === 1)
  await webhooks.create({ url: late.url, headers })
  await webhooks.remove(uuid)
  await ended(queue.tasks, (await queue.tasks.enqueue(create('b'))).taskUid)
  await late.until(() => late.uids().length === 1)
  t.deepEqual([early.uids(), late.uids()], [[0], [1]])
})

test('tasks deleted before a webhook has received them are delivered anyway', async (t) => {
  const directory = await temporaryDirectory(t)
  const receiver = await startReceiver(t)
  const first = await testQueue(t, { directory })
  // Created, but not called yet.
  await first.webhooks.put(
    { uuid: '4bc0887a-0e41-4f3b-935d-0c451dcee9c8', url: receiver.url, headers: {} },
    20,
  )
  first.start()
  for (const uid of ['a', 'b']) await ended(first.tasks, (await first.tasks.enqueue(create(uid))).taskUid)
  await ended(first.tasks, (await first.tasks.enqueue(forget('?uids=0,1', 0, 1))).taskUid)
  t.is(await first.tasks.get(0, null), null)
  await first.close()
  const second = await testQueue(t, { directory })
  await hooks(t, second)
  await receiver.until(() => receiver.uids().length === 3)
  t.deepEqual(
    receiver.receipts.map(({ tasks }) => tasks.map(({ uid, indexUid }) => [uid, indexUid])),
    [[[0, 'a']], [[1, 'b']], [[2, null]]],
  )
  while ((await second.webhooks.next('4bc0887a-0e41-4f3b-935d-0c451dcee9c8')) !== null) await undefined
  t.deepEqual(await second.webhooks.tasks(0, -1, 10), [], 'delivered tasks are not kept')
})

test('an unreachable webhook blocks no others, and receives everything at its new address', async (t) => {
  const [good, other] = [await startReceiver(t), await startReceiver(t)]
  const queue = await testQueue(t)
  const webhooks = await hooks(t, queue)
  const { uuid } = await webhooks.create({ url: 'http://127.0.0.1:1/', headers })
  await webhooks.create({ url: 'http://10.255.255.1/', headers })
  await webhooks.create({ url: good.url, headers })
  queue.start()
  for (const uid of ['a', 'b', 'c'])
    await ended(queue.tasks, (await queue.tasks.enqueue(create(uid))).taskUid)
  await good.until(() => good.uids().length === 3)
  await webhooks.update(uuid, { url: other.url, headers })
  await other.until(() => other.uids().length === 3)
  t.deepEqual(other.uids(), [0, 1, 2])
})

test('the webhook of the command line keeps its cursor while the option is given', async (t) => {
  const directory = await temporaryDirectory(t)
  const receiver = await startReceiver(t)
  const open = async (launch: LaunchWebhook | null, index: string) => {
    const queue = await testQueue(t, { directory })
    queue.start()
    if (launch === null) await (await hooks(t, queue)).close()
    await ended(queue.tasks, (await queue.tasks.enqueue(create(index))).taskUid)
    const webhooks = launch === null ? null : await hooks(t, queue, launch)
    if (index === 'd') await receiver.until(() => receiver.uids().length > 0)
    await webhooks?.close()
    await queue.close()
  }
  const launch = { url: receiver.url, authorization: null }
  await open(launch, 'a') // given only after this finished
  await open(null, 'b')
  await open({ ...launch, url: 'http://127.0.0.1:1/' }, 'c') // given from here on
  await open(launch, 'd')
  t.deepEqual(receiver.uids(), [3])
})
