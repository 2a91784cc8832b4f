import { createHash } from 'node:crypto'
import { open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { DiskReserve } from '../../../ts/sqlite/disk-reserve.js'
import { tempDir } from '../../backup/archives.js'
import { type Reply, startDaemon } from '../../support/daemon.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { mountableDisks, smallDisk } from '../../support/small-disk.js'
import { testNeeding } from '../../support/test-needing.js'

// Rules tested here, on a real file system of 64 MiB:
// 1. A write that does not fit is refused with `no_space_left_on_device`, or its task fails with this code.
// 2. Searches over existing data continue.
// 3. A server starts on a full disk by releasing its reserve.
// 4. Once there is space, everything works again without a restart, and refused writes have left no trace.

/** Fills the disk until only `bytes` are free. */
async function leave(disk: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk)
  const file = await open(join(disk, 'ballast'), 'a')
  try {
    const chunk = Buffer.alloc(64 * 1024, 1)
    for (let left = bavail * bsize - bytes; left > 0; left -= chunk.length) {
      await file.write(chunk, 0, Math.min(chunk.length, left))
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    await file.close()
  }
}

/** Documents without repeated words, so that they do not compress. */
const documents = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    id: from + at,
    kind: 'lighthouse',
    text: Array.from({ length: 8 }, (_, word) =>
      createHash('sha256')
        .update(`${from + at}/${word}`)
        .digest('base64url'),
    ).join(' '),
  }))

for (const engine of [testEngine]) {
  const runs = testNeeding(engine === 'native' ? [mountableDisks, nativeEngine] : [mountableDisks])
  runs(
    `${engine}: on a full disk writes are refused and searches work, and writes work again once there is space`,
    async (t) => {
      const disk = await smallDisk(t, 64)
      const { call } = await startDaemon(t, join(disk, 'data'), ['--engine', engine, '--log-level', 'off'])
      const found = async () =>
        (await call('POST', '/indexes/coast/search', { q: 'lighthouse' })).body.estimatedTotalHits
      const finished = async ({ body }: Reply) => {
        for (;;) {
          const { body: task } = await call('GET', `/tasks/${body.taskUid}`)
          if (task.status === 'succeeded' || task.status === 'failed') return task
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
      const codeOf = (failed: Record<string, unknown>) => (failed.error as { code: string } | null)?.code

      const first = await finished(await call('POST', '/indexes/coast/documents', documents(0, 200)))
      t.is(first.status, 'succeeded')
      t.is(await found(), 200)

      // The body fits, but the index files do not.
      const more = documents(1000, 4000)
      await leave(disk, JSON.stringify(more).length + 300_000)
      const posted = await call('POST', '/indexes/coast/documents', more)
      const code = posted.status === 202 ? codeOf(await finished(posted)) : posted.body.code
      t.is(code, 'no_space_left_on_device')
      t.is(await found(), 200)

      await leave(disk, 0)
      const refused = await call('POST', '/indexes/coast/documents', documents(5000, 100))
      t.is(refused.status, 422)
      t.is(refused.body.code, 'no_space_left_on_device')
      t.is(await found(), 200)

      await rm(join(disk, 'ballast'))
      t.is(await found(), 200)
      const again = await finished(await call('POST', '/indexes/coast/documents', documents(1000, 4000)))
      t.is(again.status, 'succeeded')
      t.is(await found(), 4200)
    },
  )

  runs(`${engine}: a server starts on a full disk, searches, cancels and deletes`, async (t) => {
    const disk = await smallDisk(t, 64)
    const args = ['--engine', engine, '--log-level', 'warn']
    const first = await startDaemon(t, join(disk, 'data'), args)
    for (const uid of ['coast', 'inland']) {
      const { body } = await first.call('POST', `/indexes/${uid}/documents`, documents(0, 200))
      while ((await first.call('GET', `/tasks/${body.taskUid}`)).body.status !== 'succeeded')
        await new Promise((resolve) => setTimeout(resolve, 50))
    }
    t.is(await first.stop(), 0)
    await leave(disk, 0)

    const { call, stop, log } = await startDaemon(t, join(disk, 'data'), args)
    t.regex(log(), /releasing its reserve/)
    const hits = async () =>
      (await call('POST', '/indexes/coast/search', { q: 'lighthouse' })).body.estimatedTotalHits
    t.is(await hits(), 200)
    const refused = await call('POST', '/indexes/coast/documents', documents(5000, 100))
    t.like(refused, { status: 422, body: { code: 'no_space_left_on_device' } })
    const settled = async ({ status, body }: Reply) => {
      t.true(status < 300, JSON.stringify(body))
      for (;;) {
        const { body: task } = await call('GET', `/tasks/${body.taskUid}`)
        if (task.status === 'succeeded' || task.status === 'failed') return task.status
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    t.is(await settled(await call('DELETE', '/indexes/inland')), 'succeeded')
    t.is(await settled(await call('DELETE', '/tasks?uids=0')), 'succeeded')
    t.is((await call('GET', '/indexes/inland')).status, 404)
    t.is(await hits(), 200)

    await rm(join(disk, 'ballast'))
    t.is(await settled(await call('POST', '/indexes/coast/documents', documents(5000, 100))), 'succeeded')
    t.is(await hits(), 300)
    t.is(await stop(), 0)
  })
}

const onDisks = testNeeding([mountableDisks])

onDisks('a dump onto a full disk fails its task with no_space_left_on_device', async (t) => {
  const disk = await smallDisk(t, 8)
  const small = await smallDisk(t, 1)
  const args = ['--engine', 'fallback', '--log-level', 'off', '--dump-dir', join(small, 'dumps')]
  const { call } = await startDaemon(t, join(disk, 'data'), args)
  await call('POST', '/indexes/coast/documents', documents(0, 200))
  await leave(small, 0)
  const { taskUid } = (await call('POST', '/dumps')).body
  for (;;) {
    const { body: task } = await call('GET', `/tasks/${taskUid}`)
    if (task.status === 'enqueued' || task.status === 'processing') {
      await new Promise((resolve) => setTimeout(resolve, 50))
      continue
    }
    t.like(task, { status: 'failed', error: { code: 'no_space_left_on_device' } })
    return
  }
})

test('a reserve in a directory that does not exist throws ENOENT', async (t) => {
  const directory = await tempDir(t)
  const reserve = new DiskReserve(join(directory, 'absent', 'reserve'))
  t.throws(() => reserve.hold(), { code: 'ENOENT' })
})

onDisks('a reserve that does not fit on the disk is skipped without an error', async (t) => {
  t.false(new DiskReserve(join(await smallDisk(t, 1), 'reserve')).hold())
})
