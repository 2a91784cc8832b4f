import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'ava'
import { EngineError } from '../../ts/engine/index.js'
import { loadDriver } from '../../ts/sqlite/driver.js'
import { openTasks, type TaskLog } from '../../ts/tasks/index.js'
import { emptyIndex, openFake } from './fake-engine.js'
import {
  add,
  cancel,
  clear,
  create,
  deleteIds,
  edit,
  ended,
  gate,
  quiet,
  settings,
  temporaryDirectory,
  testQueue,
  update,
} from './test-queue.js'

const diskFull = () => {
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
}

const failures: readonly (readonly [string, () => void, string])[] = [
  [
    'an invalid document found at the commit',
    () => {
      throw new EngineError('invalid_document_geo_field', 'the latitude is missing')
    },
    'invalid_document_geo_field',
  ],
  [
    'a fault of the engine',
    () => {
      throw new Error('a secret path is broken')
    },
    'internal',
  ],
  ['a full disk', diskFull, 'no_space_left_on_device'],
]

for (const stage of ['prepare', 'commit'] as const) {
  for (const [name, fail, code] of failures) {
    test(`${name} at ${stage} fails every task of the batch, and the queue continues`, async (t) => {
      const logged: object[] = []
      const log: TaskLog = { ...quiet, error: (facts) => void logged.push(facts) }
      const { tasks, start, hooks, engine } = await testQueue(t, { log })
      start()
      await ended(tasks, (await add(tasks, 'ferries', [{ id: 0 }])).taskUid)
      hooks[stage] = (batch) => {
        if (batch.operations.length === 2) fail()
      }
      const held = gate(t)
      hooks.committed = () => held.passed
      await add(tasks, 'ferries', [{ id: 0 }])
      while ((await tasks.get(1, null))?.status === 'enqueued') await new Promise((go) => setTimeout(go, 2))
      await add(tasks, 'ferries', [{ id: 1 }])
      await tasks.enqueue(deleteIds('ferries', '0'))
      held.open()
      const failed = [await ended(tasks, 2), await ended(tasks, 3)]
      for (const task of failed) t.like(task, { status: 'failed', error: { code } })
      t.deepEqual(
        failed.map(({ details }) => details),
        [
          { receivedDocuments: 1, indexedDocuments: 0 },
          { providedIds: 1, deletedDocuments: 0, originalFilter: null },
        ],
      )
      t.false(JSON.stringify(failed).includes('secret'))
      t.is(logged.length, code === 'invalid_document_geo_field' ? 0 : 1)
      t.is((await ended(tasks, (await add(tasks, 'ferries', [{ id: 2 }])).taskUid)).status, 'succeeded')
      const { documents } = await engine.read(tasks.index('ferries')?.id ?? '')
      t.deepEqual(Object.keys(documents), ['0', '2'])
    })
  }
}

test('an index created by a batch that fails completely exists and is empty', async (t) => {
  const { tasks, start, hooks } = await testQueue(t)
  hooks.commit = (batch) => {
    if (batch.operations[0]?.kind === 'documents') throw new EngineError('invalid_document_geo_field', 'no')
  }
  await add(tasks, 'ferries', [{ id: 1 }], { primaryKey: 'id' })
  start()
  t.is((await ended(tasks, 0)).status, 'failed')
  t.is(tasks.index('ferries')?.primaryKey, null)
})

test('an index that cannot be created leaves no files', async (t) => {
  const { tasks, start, hooks, engine, close } = await testQueue(t)
  hooks.commit = diskFull
  await tasks.enqueue(create('ferries'))
  await add(tasks, 'boats', [{ id: 1 }])
  start()
  for (const uid of [0, 1]) t.is((await ended(tasks, uid)).error?.code, 'no_space_left_on_device')
  await close()
  t.deepEqual(tasks.indexes(), [])
  t.deepEqual(await engine.list(), [])
})

test('settings that conflict with the stored ones fail alone', async (t) => {
  const { tasks, start, engine } = await testQueue(t)
  await tasks.enqueue(settings('ferries', { stopWords: ['of'] }))
  await tasks.enqueue(settings('ferries', { typoTolerance: { minWordSizeForTypos: { oneTypo: 10 } } }))
  await tasks.enqueue(settings('ferries', { searchCutoffMs: 7 }))
  start()
  t.is((await ended(tasks, 2)).status, 'succeeded')
  t.is((await tasks.get(0, null))?.status, 'succeeded')
  t.is((await tasks.get(1, null))?.error?.code, 'invalid_settings_typo_tolerance')
  const { settings: stored } = await engine.read(tasks.index('ferries')?.id ?? '')
  t.deepEqual([stored.stopWords, stored.searchCutoffMs], [['of'], 7])
})

test('settings that the documents reject fail alone, and later settings do not include them', async (t) => {
  const { tasks, start, engine } = await testQueue(t)
  await add(tasks, 'ferries', [{ id: 1, _geo: 'nowhere' }])
  await tasks.enqueue(settings('ferries', { stopWords: ['of'] }))
  await tasks.enqueue(settings('ferries', { filterableAttributes: ['_geo'] }))
  await tasks.enqueue(settings('ferries', { searchCutoffMs: 7 }))
  await tasks.enqueue(settings('ferries', { distinctAttribute: 'id' }))
  start()
  t.is((await ended(tasks, 4)).status, 'succeeded')
  const seen = await Promise.all([1, 2, 3, 4].map((uid) => tasks.get(uid, null)))
  t.deepEqual(
    seen.map((task) => [task?.status, task?.error?.code, task?.batchUid]),
    [
      ['succeeded', undefined, 1],
      ['failed', 'invalid_document_geo_field', 1],
      ['succeeded', undefined, 2],
      ['succeeded', undefined, 2],
    ],
  )
  t.is((await tasks.batch(1, null))?.stats.totalNbTasks, 2)
  const { settings: stored } = await engine.read(tasks.index('ferries')?.id ?? '')
  t.deepEqual([stored.stopWords, stored.filterableAttributes, stored.searchCutoffMs], [['of'], [], 7])
})

test('a commit without a recorded outcome is recorded at the next start, not repeated', async (t) => {
  const { tasks, start, directory, close } = await testQueue(t)
  start()
  await ended(tasks, (await add(tasks, 'ferries', [{ id: 1 }, { id: 2 }])).taskUid)
  await close()

  const report = {
    batchUid: 7,
    outcomes: [
      { taskUid: 2, touched: true, deletedDocuments: 1 },
      { taskUid: 3, touched: true, deletedDocuments: 1 },
      { taskUid: 4, touched: false, error: { code: 'missing_document_id' as const, message: 'no id' } },
    ],
    primaryKey: 'id',
    documents: 0,
  }
  const held = await testQueue(t, { directory })
  await add(held.tasks, 'ferries', [{ id: 9 }]) // 1: earlier versions did not pass it to the engine before a clear
  await held.tasks.enqueue(deleteIds('ferries', '1')) // 2
  await held.tasks.enqueue(clear('ferries')) // 3
  await add(held.tasks, 'ferries', [{}]) // 4
  await add(held.tasks, 'ferries', [{ id: 5 }]) // 5: arrived later
  const id = held.tasks.index('ferries')?.id ?? ''
  const file = join(directory, 'indexes', id, 'index.json')
  await held.close()
  // Imitates the commit of a process that crashed before it could record the outcome.
  const state = JSON.parse(await readFile(file, 'utf8')) as object
  await writeFile(file, JSON.stringify({ ...state, documents: {}, lastCommit: report }))

  const again = await testQueue(t, { directory })
  const seen = await Promise.all([1, 2, 3, 4, 5].map((uid) => again.tasks.get(uid, null)))
  t.deepEqual(
    seen.map((task) => [task?.status, task?.batchUid, task?.error?.code]),
    [
      ['succeeded', 7, undefined],
      ['succeeded', 7, undefined],
      ['succeeded', 7, undefined],
      ['failed', 7, 'missing_document_id'],
      ['enqueued', null, undefined],
    ],
  )
  t.deepEqual(seen[0]?.details, { receivedDocuments: 1, indexedDocuments: 0 })
  t.deepEqual(seen[2]?.details, { deletedDocuments: 1 })
  t.is((await readdir(join(directory, 'update_files'))).length, 1)
  again.start()
  t.like(await ended(again.tasks, 5), { status: 'succeeded', batchUid: 8 })
  t.deepEqual(
    again.engine.commits.map(({ operations }) => operations.map(({ taskUid }) => taskUid)),
    [[5]],
  )
})

for (const { name, outcomes, expected } of [
  {
    name: 'no deletion of all documents',
    outcomes: [{ taskUid: 3, touched: true }],
    expected: 'enqueued' as const,
  },
  {
    name: 'only a deletion of all documents before it',
    outcomes: [
      { taskUid: 1, touched: true, deletedDocuments: 0 },
      { taskUid: 3, touched: true },
    ],
    expected: 'enqueued' as const,
  },
  {
    name: 'a deletion of all documents after it',
    outcomes: [{ taskUid: 3, touched: true, deletedDocuments: 0 }],
    expected: 'succeeded' as const,
  },
])
  test(`an addition missing in a recovered commit, with ${name}, is ${expected} at the next start`, async (t) => {
    const { tasks, start, directory, close } = await testQueue(t)
    start()
    await ended(tasks, (await tasks.enqueue(create('ferries', 'id'))).taskUid)
    await close()

    const held = await testQueue(t, { directory })
    await held.tasks.enqueue(clear('ferries')) // 1
    await add(held.tasks, 'ferries', [{ id: 9 }]) // 2
    await held.tasks.enqueue(expected === 'succeeded' ? clear('ferries') : deleteIds('ferries', '1')) // 3
    const file = join(directory, 'indexes', held.tasks.index('ferries')?.id ?? '', 'index.json')
    await held.close()
    const lastCommit = { batchUid: 7, outcomes, primaryKey: 'id', documents: 0 }
    const state = JSON.parse(await readFile(file, 'utf8')) as object
    await writeFile(file, JSON.stringify({ ...state, lastCommit }))

    const again = await testQueue(t, { directory })
    t.is((await again.tasks.get(2, null))?.status, expected)
    t.is((await again.tasks.get(3, null))?.status, 'succeeded')
  })

test('additions before a clear fail with the commit of the clear, and no document is lost', async (t) => {
  const { tasks, start, hooks, engine } = await testQueue(t)
  start()
  await ended(tasks, (await add(tasks, 'ferries', [{ id: 1 }, { id: 2 }])).taskUid)
  const held = gate(t)
  hooks.prepare = () => held.passed
  await tasks.enqueue(deleteIds('ferries', '7')) // 1
  await add(tasks, 'ferries', [{ id: 3 }]) // 2
  await tasks.enqueue(clear('ferries')) // 3
  hooks.commit = (batch) => {
    if (batch.operations.some(({ kind }) => kind === 'clear')) diskFull()
  }
  held.open()
  for (const uid of [2, 3]) {
    const task = await ended(tasks, uid)
    t.is(task.status, 'failed')
    t.is(task.error?.code, 'no_space_left_on_device')
  }
  t.is((await tasks.get(2, null))?.details?.indexedDocuments, 0)
  const { documents } = await engine.read(tasks.index('ferries')?.id ?? '')
  t.deepEqual(Object.keys(documents), ['1', '2'])
})

for (const isCanceled of [false, true])
  test(`a commit stored although its task ${isCanceled ? 'was canceled' : 'failed'} is reverted at a restart`, async (t) => {
    const { tasks, start, hooks, directory, close } = await testQueue(t)
    start()
    await ended(tasks, (await add(tasks, 'ferries', [{ id: 1 }])).taskUid)
    const held = gate(t)
    let markStored: () => void = () => undefined
    const stored = new Promise<void>((resolve) => {
      markStored = resolve
    })
    hooks.committed = async () => {
      markStored()
      await held.passed
      throw new Error('EIO: i/o error, fsync')
    }
    await add(tasks, 'ferries', [{ id: 2 }]) // 1
    await stored
    if (isCanceled) await tasks.enqueue(cancel('?uids=1', 1))
    held.open()
    t.is((await ended(tasks, 1)).status, isCanceled ? 'canceled' : 'failed')
    await close()

    const again = await testQueue(t, { directory })
    const id = again.tasks.index('ferries')?.id ?? ''
    t.deepEqual(Object.keys((await again.engine.read(id)).documents), ['1'])
    again.start()
    await ended(again.tasks, (await add(again.tasks, 'ferries', [{ id: 3 }])).taskUid)
    await again.close()
    const last = await testQueue(t, { directory })
    t.deepEqual(
      Object.keys((await last.engine.read(id)).documents),
      ['1', '3'],
      'only the failed commit is reverted',
    )
  })

test('an index whose failed commit cannot be reverted is refused, and the server starts', async (t) => {
  const { tasks, start, hooks, directory, close } = await testQueue(t)
  start()
  await ended(tasks, (await add(tasks, 'ferries', [{ id: 1 }])).taskUid)
  hooks.committed = () => Promise.reject(new Error('EIO: i/o error, fsync'))
  t.is((await ended(tasks, (await add(tasks, 'ferries', [{ id: 2 }])).taskUid)).status, 'failed')
  await close()

  const engine = await openFake(join(directory, 'indexes'))
  const condemned: string[] = []
  const broken = {
    ...engine,
    undo: () => Promise.reject(new Error('EIO: i/o error, unlink')),
    condemn: (index: string, damage: string) => void condemned.push(index, damage),
  }
  const opened = await openTasks({ directory, engine: broken, log: quiet })
  t.is(condemned[0], opened.tasks.index('ferries')?.id)
  t.regex(condemned[1] ?? '', /cannot be reverted: EIO/)
  await opened.close()
  const again = await testQueue(t, { directory })
  const id = again.tasks.index('ferries')?.id ?? ''
  t.deepEqual(Object.keys((await again.engine.read(id)).documents), ['1'], 'the next start tries again')
})

const alone = [
  { name: 'a primary key that was set', task: update('ferries', { primaryKey: 'code' }), uid: 'ferries' },
  {
    name: 'a primary key that was set with a new name',
    task: update('ferries', { primaryKey: 'code', newUid: 'boats' }),
    uid: 'boats',
  },
  { name: 'an edit', task: edit('ferries'), uid: 'ferries', counts: { editedDocuments: 3 } },
]
for (const { name, task, uid, counts = {} } of alone)
  test(`${name} just before the process ended can no longer be canceled`, async (t) => {
    const { tasks, start, directory, close } = await testQueue(t)
    start()
    await ended(tasks, (await tasks.enqueue(create('ferries'))).taskUid)
    await close()

    const held = await testQueue(t, { directory })
    await held.tasks.enqueue(task) // 1
    await add(held.tasks, uid, [{ code: 1 }]) // 2
    const file = join(directory, 'indexes', held.tasks.index('ferries')?.id ?? '', 'index.json')
    await held.close()
    const outcomes = [{ taskUid: 1, touched: true, ...counts }]
    const lastCommit = { batchUid: 7, outcomes, primaryKey: 'code', documents: 0 }
    const state = JSON.parse(await readFile(file, 'utf8')) as object
    await writeFile(file, JSON.stringify({ ...state, primaryKey: 'code', lastCommit }))

    const again = await testQueue(t, { directory })
    await again.tasks.enqueue(cancel('?uids=1', 1))
    again.start()
    await ended(again.tasks, 3)
    t.like(await again.tasks.get(1, null), { status: 'succeeded', batchUid: 7, canceledBy: null })
    t.like(await ended(again.tasks, 2), { status: 'succeeded', indexUid: uid })
    t.deepEqual(
      again.tasks.indexes().map((index) => [index.uid, index.primaryKey]),
      [[uid, 'code']],
    )
    t.deepEqual(
      again.engine.commits.map(({ operations }) => operations.map(({ taskUid }) => taskUid)),
      [[2]],
    )
  })

for (const kind of ['an index', 'a new index'] as const)
  test(`when a client sees that additions to ${kind} succeeded, their uploads are removed`, async (t) => {
    const { tasks, start, directory } = await testQueue(t)
    await tasks.enqueue(create(kind === 'an index' ? 'ferries' : 'others'))
    // Uses many uploads, so that removing them takes longer than the answer.
    for (let id = 0; id < 100; id++) await add(tasks, 'ferries', [{ id }])
    start()
    t.is((await ended(tasks, 100)).status, 'succeeded')
    t.deepEqual(await readdir(join(directory, 'update_files')), [])
  })

test('a start quarantines the files of unknown indexes and removes uploads without a task', async (t) => {
  const directory = await temporaryDirectory(t)
  const first = await testQueue(t, { directory })
  await add(first.tasks, 'ferries', [{ id: 1 }])
  await first.close()
  await mkdir(join(directory, 'indexes', 'stray'), { recursive: true })
  await writeFile(join(directory, 'indexes', 'stray', 'index.json'), JSON.stringify(emptyIndex))
  await writeFile(join(directory, 'update_files', 'stray.json'), '[]')
  const { engine, tasks, start } = await testQueue(t, { directory })
  t.deepEqual(await engine.list(), [])
  const [lost = ''] = await readdir(join(directory, 'lost'))
  t.regex(lost, /^stray-\d{8}T\d{9}$/)
  t.deepEqual(await readdir(join(directory, 'lost', lost)), ['index.json'])
  t.is((await readdir(join(directory, 'update_files'))).length, 1)
  start()
  t.is((await ended(tasks, 0)).status, 'succeeded')
})

for (const driver of ['libsql', 'node-sqlite3-wasm'] as const) {
  test(`${driver}: a second owner of the directory is refused, the first continues`, async (t) => {
    const first = await testQueue(t, { driver })
    const engine = await openFake(join(first.directory, 'indexes'))
    await t.throwsAsync(openTasks({ directory: first.directory, engine, log: quiet, driver }), {
      message: /in use by process \d+/,
    })
    first.start()
    await first.tasks.enqueue(create('ferries'))
    t.is((await ended(first.tasks, 0)).status, 'succeeded')
  })

  test(`${driver}: a lock of a dead process is taken over`, async (t) => {
    const first = await testQueue(t, { driver })
    const lock = join(first.directory, 'tasks', 'lock')
    const owner = JSON.parse(await readFile(lock, 'utf8')) as { pid: number; started: string }
    await first.close()
    // Imitates another process with the same pid, as after a restart of a container.
    await writeFile(lock, JSON.stringify({ ...owner, started: '1' }))
    const second = await testQueue(t, { directory: first.directory, driver })
    t.is(second.driver, driver)
  })

  const lives = [
    ['is a zombie', 'sleep 0.2 & echo $!; exec sleep 60', 'Z'],
    ['is about to end', 'sleep 0.7 & echo $!; wait; exec sleep 60', 'S'],
  ] as const
  // Other systems do not report the state of a process.
  for (const [owner, life, state] of process.platform === 'linux' ? lives : []) {
    test(`${driver}: a lock whose process ${owner} is taken over`, async (t) => {
      const first = await testQueue(t, { driver })
      const lock = join(first.directory, 'tasks', 'lock')
      const { space } = JSON.parse(await readFile(lock, 'utf8')) as { space: string }
      await first.close()
      const parent = spawn('sh', ['-c', life], { stdio: ['ignore', 'pipe', 'ignore'] })
      t.teardown(() => parent.kill())
      const [said] = (await once(parent.stdout, 'data')) as [Buffer]
      const pid = Number(said.toString())
      const facts = async () => (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(' ')
      const [started] = (await facts()).slice(21)
      await writeFile(lock, JSON.stringify({ pid, started: started ?? 'gone', space }))
      while (state === 'Z' && (await facts())[2] !== 'Z') await sleep(10)
      const second = await testQueue(t, { directory: first.directory, driver })
      t.is(second.driver, driver)
    })
  }

  test(`${driver}: a damaged store is refused and not changed`, async (t) => {
    const first = await testQueue(t, { driver })
    for (let i = 0; i < 20; i++) await first.tasks.enqueue(create(`boats-${i}`))
    await first.close()
    const path = join(first.directory, 'tasks', 'tasks.db')
    const intact = await readFile(path)
    const garbled = Buffer.from(intact)
    garbled.fill(0xaa, 4096, 20_480)
    const engine = await openFake(join(first.directory, 'indexes'))
    for (const damaged of [
      Buffer.from('this was never a database, yet it is long enough to be read'),
      garbled,
    ]) {
      await writeFile(path, damaged)
      await t.throwsAsync(openTasks({ directory: first.directory, engine, log: quiet, driver }), {
        message: /damaged/,
      })
      t.deepEqual(await readFile(path), damaged)
    }
  })
}

test('after a clock is set back, dates still increase with uids, and no task ends before it arrives', async (t) => {
  const first = await testQueue(t, { driver: 'libsql' })
  await first.tasks.enqueue(create('ferries'))
  await first.close()
  // Imitates a clock that was a year ahead until now.
  const ahead = 365 * 86_400 * 1_000_000
  const connection = loadDriver('libsql').driver.open(join(first.directory, 'tasks', 'tasks.db'))
  connection.exec(`UPDATE tasks SET enqueued_at = enqueued_at + ${ahead}`)
  connection.close()
  // Without the mark, the checksums of the pages are not compared.
  await rm(join(first.directory, 'tasks.mark'))
  const { tasks, start } = await testQueue(t, { directory: first.directory, driver: 'libsql' })
  await tasks.enqueue(create('boats'))
  start()
  const [earlier, later] = [await ended(tasks, 0), await ended(tasks, 1)]
  t.true(later.enqueuedAt >= earlier.enqueuedAt)
  for (const task of [earlier, later]) {
    t.true(String(task.startedAt) >= task.enqueuedAt && String(task.finishedAt) >= String(task.startedAt))
    t.regex(String(task.duration), /^PT/)
  }
  const { enqueuedAt } = earlier
  t.is((await tasks.list({ beforeStartedAt: enqueuedAt }, { limit: 9, from: null, reverse: false })).total, 0)
})

test('stores move between drivers', async (t) => {
  const first = await testQueue(t, { driver: 'libsql' })
  await first.tasks.enqueue(create('ferries'))
  await first.close()
  const second = await testQueue(t, { directory: first.directory, driver: 'node-sqlite3-wasm' })
  t.is((await second.tasks.get(0, null))?.type, 'indexCreation')
})

test('closing waits for the current step and loses nothing', async (t) => {
  const { tasks, start, hooks, directory, close } = await testQueue(t)
  const [committing, held] = [gate(t), gate(t)]
  hooks.commit = () => {
    committing.open()
    return held.passed
  }
  await add(tasks, 'ferries', [{ id: 1 }])
  start()
  await committing.passed
  await tasks.enqueue(create('later'))
  const closed = close()
  held.open()
  await closed
  const again = await testQueue(t, { directory })
  t.is((await again.tasks.get(0, null))?.status, 'succeeded')
  t.is((await again.tasks.get(1, null))?.status, 'enqueued')
})
