import { join } from 'node:path'
import test from 'ava'
import { ApiError } from '../../ts/errors/index.js'
import { openFollowedTasks, openReplicaStore, openTasks } from '../../ts/tasks/index.js'
import { openFake } from './fake-engine.js'
import { create, drop, quiet, temporaryDirectory } from './test-queue.js'

test('a follower that shows the end of a task shows the indexes as the task left them', async (t) => {
  const directory = await temporaryDirectory(t)
  const engine = await openFake(join(directory, 'indexes'), {})
  const leader = await openTasks({ directory, engine, log: quiet, keepsChanges: true })
  t.teardown(() => leader.close())
  leader.start()

  const copy = await temporaryDirectory(t)
  await (await openReplicaStore(copy)).close()
  const refusal = () => new ApiError('bucket_unavailable', 'a follower refuses writes')
  const follower = await openFollowedTasks({ directory: copy, engine, log: quiet, refusal })
  t.teardown(() => follower.close())

  let [after, position] = [0, 0]
  for (const [task, expected] of [
    [create('films'), ['films']],
    [drop('films'), []],
  ] as const) {
    const { taskUid } = await leader.tasks.enqueue(task)
    await leader.tasks.wait(taskUid, null, { waitMs: 60_000 })
    await leader.outgoing.sync()
    const page = await leader.outgoing.next(1_000_000, after)
    after = page!.last
    const following = follower.follow(page!.changes, position++)
    t.is((await follower.tasks.get(taskUid, null))?.status, 'succeeded')
    t.deepEqual(
      follower.tasks.indexes().map(({ uid }) => uid),
      expected,
    )
    await following
  }
})
