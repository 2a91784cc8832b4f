/** Opening and closing a directory inside a process, and the errors around it. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import {
  ClosedError,
  LaunchError,
  type OpenOptions,
  open,
  type Siftd,
  TaskTimeoutError,
} from '../../ts/index.js'

async function tempDir(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-life-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

const quiet = { engine: 'fallback', logLevel: 'OFF' } as const

const afterClose: readonly (readonly [name: string, call: (siftd: Siftd) => unknown])[] = [
  ['indexes', (siftd) => siftd.indexes()],
  ['index', (siftd) => siftd.index('films')],
  ['features', (siftd) => siftd.features()],
  ['onTaskChange', (siftd) => siftd.onTaskChange(() => undefined)],
  ['tasks', (siftd) => siftd.tasks()],
  ['waitForTask', (siftd) => siftd.waitForTask(0)],
  ['multiSearch', (siftd) => siftd.multiSearch({ queries: [] })],
  ['createDump', (siftd) => siftd.createDump()],
]

test('a call after close rejects with ClosedError and its name; a second close does nothing', async (t) => {
  const siftd = await open({ directory: await tempDir(t), ...quiet })
  const films = siftd.index('films')
  await siftd.close()
  await siftd.close()
  for (const [name, call] of afterClose) {
    const error = await t.throwsAsync(async () => call(siftd), {
      instanceOf: ClosedError,
      code: 'instance_closed',
    })
    t.true(error?.message.includes(`\`${name}\``), error?.message)
  }
  await t.throwsAsync(films.search('solaris'), { instanceOf: ClosedError })
  await t.throwsAsync(films.addDocuments([{ id: 1 }]), { instanceOf: ClosedError })
})

test('close ends waiting with ClosedError, and the task runs after the next open', async (t) => {
  const directory = await tempDir(t)
  const siftd = await open({ directory, ...quiet })
  const many = Array.from({ length: 5000 }, (_, id) => ({ id, title: `film ${id}` }))
  const { taskUid } = await siftd.index('films').addDocuments(many)
  const ended = siftd.waitForTask(taskUid).then(
    (task) => task.status,
    (error: unknown) => (error instanceof ClosedError ? 'closed' : error),
  )
  await siftd.close()
  t.is(await ended, 'closed')
  const again = await open({ directory, ...quiet })
  t.is((await again.waitForTask(taskUid)).status, 'succeeded')
  await again.close()
})

test('waitForTask rejects with TaskTimeoutError at its timeout', async (t) => {
  const siftd = await open({ directory: await tempDir(t), ...quiet })
  const many = Array.from({ length: 2000 }, (_, id) => ({ id, title: `film ${id}` }))
  const { taskUid } = await siftd.index('films').addDocuments(many)
  await t.throwsAsync(siftd.waitForTask(taskUid, { timeoutMs: 0 }), {
    instanceOf: TaskTimeoutError,
    code: 'task_timeout',
  })
  t.is((await siftd.waitForTask(taskUid)).status, 'succeeded')
  await siftd.close()
})

test('await using closes the directory at the end of its block', async (t) => {
  const directory = await tempDir(t)
  let inner: Siftd | null = null
  {
    await using siftd = await open({ directory, ...quiet })
    inner = siftd
    t.deepEqual(siftd.indexes(), [])
  }
  t.throws(() => inner.indexes(), { instanceOf: ClosedError })
  const again = await open({ directory, ...quiet })
  await again.close()
})

interface Refused {
  readonly name: string
  readonly code: string
  /** Prepares a directory that was written and closed. */
  spoil(directory: string): Promise<unknown>
}

const refused: readonly Refused[] = [
  {
    name: 'of another version',
    code: 'directory_version',
    spoil: (directory) => writeFile(join(directory, 'VERSION'), '99.0.0\n'),
  },
  {
    name: 'with a damaged VERSION',
    code: 'directory_damaged',
    spoil: async (directory) => {
      const path = join(directory, 'VERSION')
      await writeFile(path, (await readFile(path, 'utf8')).replace(/^\d+/, '88'))
    },
  },
  {
    name: 'of the other engine',
    code: 'directory_engine',
    spoil: (directory) => writeFile(join(directory, 'engine'), 'native'),
  },
  {
    name: 'that is a file',
    code: 'directory_unusable',
    spoil: async (directory) => {
      await rm(directory, { recursive: true })
      await writeFile(directory, '')
    },
  },
]

for (const { name, code, spoil } of refused)
  test(`opening a directory ${name} rejects with a LaunchError of code ${code}`, async (t) => {
    const directory = join(await tempDir(t), 'data')
    await mkdir(directory)
    await (await open({ directory, ...quiet })).close()
    await spoil(directory)
    await t.throwsAsync(open({ directory, ...quiet }), { instanceOf: LaunchError, code })
  })

test('opening a directory that is open rejects with directory_in_use', async (t) => {
  const directory = await tempDir(t)
  const siftd = await open({ directory, ...quiet })
  await t.throwsAsync(open({ directory, ...quiet }), { instanceOf: LaunchError, code: 'directory_in_use' })
  await siftd.close()
})

const wrongOptions: readonly (readonly [options: object, message: RegExp])[] = [
  [{ engine: 'nativ' }, /`nativ`: did you mean `native`/],
  [{ engine: null }, /`engine`/],
  [{ directory: '' }, /`directory`/],
  [{ directory: 7 }, /`directory`/],
  [{ cacheSise: 1 }, /unknown option `cacheSise`, did you mean `cacheSize`/],
  [{ cacheSize: '1 GiB' }, /`cacheSize` is a string, but must be a number/],
  [{ cacheSize: Number.NaN }, /`cacheSize` is NaN/],
  [{ maxIndexingThreads: -1 }, /`maxIndexingThreads` is -1/],
  [{ upgradeDb: 'no' }, /`upgradeDb` is a string, but must be a boolean/],
]

test('a wrong option is refused with its name, and no directory is made', async (t) => {
  const directory = join(await tempDir(t), 'absent')
  for (const [options, message] of wrongOptions)
    await t.throwsAsync(
      open({ directory, ...quiet, ...options }),
      { instanceOf: LaunchError, code: 'invalid_option', message },
      JSON.stringify(options),
    )
  await t.throwsAsync(readdir(directory), { code: 'ENOENT' })
})

test('an option that is undefined is the default', async (t) => {
  const options = { directory: await tempDir(t), ...quiet, cacheSize: undefined } as unknown as OpenOptions
  const siftd = await open(options)
  t.deepEqual(await siftd.indexes(), [])
  await siftd.close()
})
