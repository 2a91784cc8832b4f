import test from 'ava'
import { storedContent } from '../../ts/tasks/store/new-row.js'
import { ended, settings, testQueue } from './test-queue.js'

// Rules for settings of the maximum length:
// 1. The store keeps their content only once, and reads content of earlier versions.
// 2. A commit does not carry complete settings for each task.

test('settings stored by an earlier version are executed', async (t) => {
  const patch = { stopWords: ['of', ',"patch":'], synonyms: null }
  const earlier = { kind: 'settings', patch, details: patch, isReset: true, mayCreateIndex: false }
  const { tasks, start } = await testQueue(t)
  const now = { kind: 'settings', isReset: true, mayCreateIndex: false, patch }
  for (const stored of [earlier, now]) {
    t.deepEqual(storedContent(JSON.stringify(stored)), {
      kind: 'settings',
      patch: JSON.stringify(patch),
      details: '',
      isReset: true,
      mayCreateIndex: false,
    })
  }
  await tasks.enqueue(settings('ferries', patch))
  start()
  t.deepEqual((await ended(tasks, 0)).details, patch)
})

test('settings of many tasks share a commit if they are short in total', async (t) => {
  const { tasks, start, engine } = await testQueue(t)
  await tasks.enqueue(settings('ferries', { stopWords: ['x'.repeat(5_000_000)] }))
  for (const searchCutoffMs of [1, 2, 3]) await tasks.enqueue(settings('ferries', { searchCutoffMs }))
  start()
  t.is((await ended(tasks, 3)).status, 'succeeded')
  const ran = await Promise.all([0, 1, 2, 3].map((uid) => tasks.get(uid, null)))
  t.deepEqual(
    ran.map((task) => task?.batchUid),
    [0, 0, 1, 1],
  )
  const { settings: stored } = await engine.read(tasks.index('ferries')?.id ?? '')
  t.deepEqual([stored.stopWords[0]?.length, stored.searchCutoffMs], [5_000_000, 3])
  t.deepEqual((await tasks.batch(1, null))?.details, { searchCutoffMs: 3 })
})
