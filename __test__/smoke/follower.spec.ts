/** A server follows another through a bucket. Outages and takeovers are in `process/e2e/`. */
import { add, sent, settled, tests, titles, world } from '../process/e2e/bucket-world.js'

tests('a follower finds documents that the writer acknowledged', async (t) => {
  const { start } = await world(t)
  const writer = await start('writer', '--bucket-ack', 'bucket')
  await settled(writer, await add(writer, [{ id: 1, title: 'Solaris', year: 1972 }]))
  await sent(writer)
  const follower = await start('follower', '--follow')
  t.deepEqual(await titles(follower, 'solars'), ['Solaris'])
  const task = await settled(follower, await add(writer, [{ id: 2, title: 'Stalker', year: 1979 }]))
  t.is(task.status, 'succeeded')
  t.deepEqual(await titles(follower, 'stalker'), ['Stalker'])
})
