/** Opening a directory that must not change. */
import { createHash } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { indexWrites, instanceWrites } from '../../ts/in-process/read-only.js'
import { LaunchError, open, ReadOnlyError } from '../../ts/index.js'
import { chosenEngines } from '../support/engines.js'
import { testNeeding } from '../support/test-needing.js'

async function tempDir(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-read-only-spec-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

/** By path: a hash of each file. */
async function contentOf(directory: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const hashed = files.toSorted().map(
    async (file) =>
      [
        file,
        createHash('sha256')
          .update(await readFile(file))
          .digest('hex'),
      ] as const,
  )
  return new Map(await Promise.all(hashed))
}

const leftovers = async (): Promise<number> =>
  (await readdir(tmpdir())).filter((name) => /^siftd-read-only-[^s]/.test(name)).length

for (const { name, needs } of chosenEngines) {
  testNeeding(needs)(`${name}: a directory opened read-only answers and does not change`, async (t) => {
    const base = await tempDir(t)
    const closed = join(base, 'closed')
    const killed = join(base, 'killed')
    const quiet = { engine: name, logLevel: 'OFF' } as const
    const writing = await open({ directory: closed, ...quiet })
    const films = writing.index('films')
    const embedders = { moods: { source: 'userProvided', dimensions: 2 } } as const
    await films.updateSettings({ embedders, filterableAttributes: ['year'] })
    const { taskUid } = await films.addDocuments([
      { id: 1, title: 'Solaris', year: 1972, _vectors: { moods: [1, 0] } },
      { id: 2, title: 'Stalker', year: 1979, _vectors: { moods: [0, 1] } },
    ])
    await writing.waitForTask(taskUid)
    // The files that a killed process leaves: with its locks, and a log of the task store.
    await cp(closed, killed, { recursive: true })
    await rm(join(killed, 'tasks', 'lock'))
    await writing.close()
    for (const directory of [closed, killed]) {
      const before = await contentOf(directory)
      const [one, other] = await Promise.all([
        open({ directory, ...quiet, readOnly: true }),
        open({ directory, ...quiet, readOnly: true }),
      ])
      const { hits } = await one.index('films').search('solris', { filter: 'year < 1975' })
      t.deepEqual(hits, [{ id: 1, title: 'Solaris', year: 1972 }])
      const near = await other.index('films').search(null, {
        vector: [0.1, 1],
        hybrid: { embedder: 'moods', semanticRatio: 1 },
      })
      t.deepEqual(
        near.hits.map(({ id }) => id),
        [2, 1],
      )
      t.is((await one.task(taskUid))?.status, 'succeeded')
      await t.throwsAsync(one.index('films').addDocuments([{ id: 3 }]), {
        instanceOf: ReadOnlyError,
        code: 'instance_read_only',
        message: /`addDocuments`/,
      })
      await t.throwsAsync(one.updateFeatures({ metrics: true }), { instanceOf: ReadOnlyError })
      await Promise.all([one.close(), other.close()])
      t.deepEqual(await contentOf(directory), before)
    }
  })
}

test('every method that writes is refused read-only', async (t) => {
  const directory = await tempDir(t)
  await (await open({ directory, engine: 'fallback', logLevel: 'OFF' })).close()
  const before = await leftovers()
  const siftd = await open({ directory, engine: 'fallback', logLevel: 'OFF', readOnly: true })
  const index = siftd.index('films')
  for (const [target, writes] of [
    [siftd, instanceWrites],
    [index, indexWrites],
  ] as const)
    for (const [method, isWrite] of Object.entries(writes))
      if (isWrite) {
        const call = (target as unknown as Record<string, () => Promise<unknown>>)[method]!
        await t.throwsAsync(call(), { instanceOf: ReadOnlyError }, method)
      }
  await t.throwsAsync(siftd.waitForTask(9), { code: 'task_not_found' })
  await siftd.close()
  t.true((await leftovers()) <= before)
})

test('a directory that is in use, missing or of another version is not opened read-only', async (t) => {
  const directory = await tempDir(t)
  const siftd = await open({ directory, engine: 'fallback', logLevel: 'OFF' })
  const readOnly = { engine: 'fallback', logLevel: 'OFF', readOnly: true } as const
  const refused = { instanceOf: LaunchError } as const
  await t.throwsAsync(open({ directory, ...readOnly }), { ...refused, code: 'directory_in_use' })
  await siftd.close()
  await writeFile(join(directory, 'following'), 'copying\n')
  await t.throwsAsync(open({ directory, ...readOnly }), { ...refused, message: /unfinished copy/ })
  await rm(join(directory, 'following'))
  const missing = join(directory, 'missing')
  await t.throwsAsync(open({ directory: missing, ...readOnly }), { ...refused, code: 'directory_unusable' })
  await writeFile(join(directory, 'VERSION'), '99.0.0\n')
  const error = await t.throwsAsync(open({ directory, ...readOnly }), {
    ...refused,
    code: 'directory_version',
  })
  t.true(error?.message.includes(directory), error?.message)
})
