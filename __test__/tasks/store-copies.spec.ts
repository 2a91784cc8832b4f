/** Copies of the task store, made while it is written to. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { newRow } from '../../ts/tasks/store/new-row.js'
import { storePath } from '../../ts/tasks/store/paths.js'
import { fileCalls, openStoreClient, type StoreClient } from '../../ts/tasks/store/store-client.js'
import { openStoreCopy } from '../../ts/tasks/store/store-copy.js'
import { create, temporaryDirectory } from './test-queue.js'

const append = (store: StoreClient, uid: string) => {
  const task = create(uid)
  return store.call('append', [newRow(task, task.content)])
}

test('tasks that arrive while the store is copied are stored at once, and are not in the copy', async (t) => {
  const directory = await temporaryDirectory(t)
  const setup = {
    directory,
    isNew: true,
    isCompared: false,
    driver: null,
    reserveBytes: 0,
    storeBytesMax: 1e9,
  }
  const store = await openStoreClient(setup, () => undefined)
  const path = join(directory, 'copy.db')
  await append(store, 'before')
  const during: number[] = []
  const { copyTo } = fileCalls(store.call, async (target) => {
    // More than the log holds before a checkpoint, which would change the file.
    for (let i = 0; i < 300; i++) during.push((await append(store, `during-${i}`.repeat(20))).uid)
    await copyFile(storePath(directory), target)
  })
  await copyTo(path, 'reading', [])
  t.is(during.length, 300)
  const copy = openStoreCopy(path, store.driver)
  t.deepEqual(await copy.call('match', [{}]), [0])
  await copy.close()
  const after = await append(store, 'after')
  t.is(after.uid, 301)
  t.is((await store.call('match', [{}])).length, 302)
  await store.close()
})

test('a copy that fails leaves a store that can be copied and compacted', async (t) => {
  const directory = await temporaryDirectory(t)
  const setup = {
    directory,
    isNew: true,
    isCompared: false,
    driver: null,
    reserveBytes: 0,
    storeBytesMax: 1e9,
  }
  const store = await openStoreClient(setup, () => undefined)
  await append(store, 'one')
  await t.throwsAsync(store.copyTo(join(directory, 'missing', 'copy.db'), 'reading', []), { code: 'ENOENT' })
  const [, compaction] = await Promise.all([
    store.copyTo(join(directory, 'copy.db'), 'following', []),
    store.compact(),
  ])
  t.true(compaction.bytesAfter > 0)
  await store.close()
})
