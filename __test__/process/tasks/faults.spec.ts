import { open, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { startDaemon } from '../../support/daemon.js'
import { mountableDisks, smallDisk } from '../../support/small-disk.js'
import { testNeeding } from '../../support/test-needing.js'
import { cancel, create, ended, gate, temporaryDirectory, testQueue } from '../../tasks/test-queue.js'

const diskFull = () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }))

async function fill(disk: string): Promise<void> {
  const file = await open(join(disk, 'ballast'), 'a')
  try {
    for (;;) await file.write(Buffer.alloc(4096, 1))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    await file.close()
  }
}

const onDisks = testNeeding([mountableDisks])

onDisks('on a full disk accepted tasks are kept and can be canceled, and new ones are refused', async (t) => {
  const directory = await smallDisk(t, 8)
  const { tasks, start, hooks } = await testQueue(t, {
    directory,
    capacity: { reserveBytes: 2 * 1024 ** 2 },
    limits: { batchesMax: 1 },
  })
  const held = gate(t)
  hooks.prepare = () => held.passed
  for (let i = 0; i < 100; i++) await tasks.enqueue(create(`boats-${i}`))
  start()
  await fill(directory)
  t.is((await statfs(directory)).bavail, 0)
  // The files of the store have free pages for some more tasks.
  let taken = 100
  const refusal = await (async () => {
    for (;;) {
      try {
        await tasks.enqueue(create(`more-${taken}`))
        taken++
      } catch (error) {
        return error as { code?: string }
      }
    }
  })()
  t.is(refusal.code, 'no_space_left_on_device')
  hooks.commit = diskFull
  held.open()
  const matched = Array.from({ length: taken - 2 }, (_, i) => i + 1)
  const { taskUid } = await tasks.enqueue(cancel(`?uids=1..${taken - 2}`, ...matched))
  t.is((await ended(tasks, 0)).error?.code, 'no_space_left_on_device')
  t.is((await ended(tasks, taskUid)).details?.canceledTasks, taken - 2)
  t.is((await ended(tasks, taken - 1)).error?.code, 'no_space_left_on_device')
  delete hooks.commit
  await rm(join(directory, 'ballast'))
  t.is((await ended(tasks, (await tasks.enqueue(create('at-last'))).taskUid)).status, 'succeeded')
})

/** Makes every sync of a process fail while the file named by SYNCS_FAIL exists. */
const failingSyncs = `
const fs = require('node:fs')
const real = fs.fsyncSync
fs.fsyncSync = (file) => {
  if (fs.existsSync(process.env.SYNCS_FAIL)) throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' })
  return real(file)
}
`
for (const isHealed of [true, false])
  test.serial(
    `after a failed sync the task store refuses writes until a restart${isHealed ? '' : ', also if syncs still fail'}`,
    async (t) => {
      const directory = await temporaryDirectory(t)
      const [patch, failing, data] = ['patch.cjs', 'failing', 'data'].map((name) =>
        join(directory, name),
      ) as [string, string, string]
      await writeFile(patch, failingSyncs)
      const env = {
        NODE_OPTIONS: `--require ${patch}`,
        SYNCS_FAIL: failing,
        SVC_TASK_STORE_DRIVER: 'node-sqlite3-wasm',
      }
      const daemon = () => startDaemon(t, data, ['--engine', 'fallback'], env)
      const first = await daemon()
      t.is((await first.call('POST', '/indexes', { uid: 'boats' })).status, 202)
      await writeFile(failing, '')
      for (const uid of ['lost', 'refused']) {
        const { status, body } = await first.call('POST', '/indexes', { uid })
        t.is(status, 422)
        t.is(body.code, 'io_error')
      }
      if (isHealed) await rm(failing)
      t.is((await first.call('POST', '/indexes', { uid: 'still-refused' })).body.code, 'io_error')
      t.is((await first.call('GET', '/tasks/0')).status, 200, 'reads continue')
      await first.kill()
      await rm(failing, { force: true })
      const second = await daemon()
      t.is((await second.call('POST', '/indexes', { uid: 'again' })).status, 202)
      const uids = (await second.call('GET', '/tasks')).body.results
      t.deepEqual(
        uids.map(({ indexUid }) => indexUid),
        ['again', 'boats'],
      )
      t.regex(await readFile(join(data, 'VERSION'), 'utf8'), /\d/)
    },
  )
