/** A dump or snapshot unpins its indexes and releases its uploads, even if one of these steps fails. */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { INLINE_PAYLOAD_BYTES_MAX } from '../../ts/tasks/index.js'
import { add, create, dump, ended, gate, testQueue } from './test-queue.js'

test('a dump unpins its indexes even if an upload that it kept cannot be removed', async (t) => {
  const [preparation, written, reading] = [gate(t), gate(t), gate(t)]
  const { tasks, start, hooks, directory } = await testQueue(t, {
    async writeDump(source) {
      const frozen = await source.freeze(join(directory, 'copy.db'))
      written.open()
      await reading.passed
      await frozen.release()
      return '20261125-000000000'
    },
  })
  let unpinned = 0
  hooks.unpin = () => void unpinned++
  start()
  await ended(tasks, (await tasks.enqueue(create('ferries'))).taskUid)
  hooks.prepare = () => preparation.passed
  const { taskUid } = await add(tasks, 'slow', [{ id: 1, filler: 'x'.repeat(INLINE_PAYLOAD_BYTES_MAX) }])
  const dumping = await tasks.enqueue(dump())
  await written.passed
  const uploads = join(directory, 'update_files')
  const [upload = ''] = await readdir(uploads)
  await rm(join(uploads, upload))
  // Removing a directory like a file fails.
  await mkdir(join(uploads, upload))
  preparation.open()
  t.is((await ended(tasks, taskUid)).status, 'failed')
  reading.open()
  t.is((await ended(tasks, dumping.taskUid)).error?.code, 'dump_process_failed')
  t.is(unpinned, 1)
})
