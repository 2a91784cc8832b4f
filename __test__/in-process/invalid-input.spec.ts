/** Methods check their input like the routes of the server. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { open, type Siftd } from '../../ts/index.js'

async function opened(t: ExecutionContext): Promise<Siftd> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-input-'))
  const siftd = await open({ directory, engine: 'fallback', logLevel: 'OFF' })
  t.teardown(async () => {
    await siftd.close()
    await rm(directory, { recursive: true, force: true })
  })
  return siftd
}

const invalid: readonly (readonly [call: string, code: string, call: (siftd: Siftd) => Promise<unknown>])[] =
  [
    ['cancelTasks({})', 'missing_task_filters', (siftd) => siftd.cancelTasks({})],
    ['deleteTasks({})', 'missing_task_filters', (siftd) => siftd.deleteTasks({})],
    [
      'deleteTasks without any value',
      'missing_task_filters',
      (siftd) => siftd.deleteTasks({ uids: null, types: undefined } as never),
    ],
    ['deleteTasks of a text', 'invalid_task_uids', (siftd) => siftd.deleteTasks({ uids: ['0'] } as never)],
    ['an unknown filter', 'bad_request', (siftd) => siftd.cancelTasks({ uid: 0 } as never)],
    ['an unknown status', 'invalid_task_statuses', (siftd) => siftd.tasks({ statuses: ['done'] } as never)],
    ['a negative limit', 'invalid_task_limit', (siftd) => siftd.tasks({ limit: -1 })],
    [
      'a word as date',
      'invalid_task_after_enqueued_at',
      (siftd) => siftd.batches({ afterEnqueuedAt: 'now' }),
    ],
    ['an unknown feature', 'bad_request', (siftd) => siftd.updateFeatures({ wings: true } as never)],
    ['a number as feature', 'bad_request', (siftd) => siftd.updateFeatures({ metrics: 1 } as never)],
    [
      'a number as primary key',
      'invalid_index_primary_key',
      (siftd) => siftd.index('films').create({ primaryKey: 3 } as never),
    ],
    [
      'a number as primary key of documents',
      'invalid_index_primary_key',
      (siftd) => siftd.index('films').addDocuments([{ id: 1 }], { primaryKey: 3 } as never),
    ],
    [
      'a number as new primary key',
      'invalid_index_primary_key',
      (siftd) => siftd.index('films').update({ primaryKey: 3 } as never),
    ],
  ]

test('invalid input is refused with the code of the API, and stores nothing', async (t) => {
  const siftd = await opened(t)
  for (const [name, code, call] of invalid) await t.throwsAsync(() => call(siftd), { code }, name)
  t.is((await siftd.tasks()).total, 0)
  t.false(siftd.features().metrics)
})

test('tasks are listed by day, by date and regardless of case', async (t) => {
  const siftd = await opened(t)
  const { taskUid } = await siftd.index('films').create()
  await siftd.waitForTask(taskUid)
  const total = async (options: object): Promise<number> => (await siftd.tasks(options)).total
  t.is(await total({ afterEnqueuedAt: '2020-01-31', statuses: ['Succeeded'] }), 1)
  t.is(await total({ beforeEnqueuedAt: new Date(0) }), 0)
  t.is(await total({ uids: null }), 1)
  t.is(await total({ uids: [] }), 0)
})

test('a reset of settings does not create the index', async (t) => {
  const siftd = await opened(t)
  const { taskUid } = await siftd.index('films').resetSettings()
  const task = await siftd.waitForTask(taskUid)
  t.is(task.error?.code, 'index_not_found')
  t.deepEqual(siftd.indexes(), [])
})
