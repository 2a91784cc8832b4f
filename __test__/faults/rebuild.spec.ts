import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServerProcess } from '../support/server-process.js'
import { testNeeding } from '../support/test-needing.js'
import { buildLibrary, type CallFault, Faults, failingCalls } from './library.js'
import { checkOneLine } from './one-line.js'

const START_MS_MAX = 120_000

/** Calls that fail while a task store is rebuilt whose keys can be read. */
const cases: readonly (Pick<CallFault, 'calls' | 'error' | 'pattern'> & Partial<CallFault>)[] = [
  { calls: ['open'], error: 'EMFILE', pattern: '/tasks/tasks.db' },
  { calls: ['open'], error: 'ENOSPC', pattern: '/tasks/copy.db' },
  { calls: ['open'], error: 'EMFILE', pattern: '/indexes/catalogue.json' },
  { calls: ['open'], error: 'EMFILE', pattern: '/tasks/lock' },
  { calls: ['read'], error: 'EIO', pattern: '/tasks/copy.db' },
  // SQLite tells the first of these as a file that is no database.
  ...[0, 1, 2].map((after) => ({
    calls: ['read' as const],
    error: 'EIO' as const,
    pattern: '/tasks/copy.db',
    once: true,
    after,
  })),
]

const runs = testNeeding([failingCalls])
runs('a rebuild of the task store that the system fails ends with one line and loses no key', async (t) => {
  t.timeout(600_000)
  const directory = await mkdtemp(join(tmpdir(), 'siftd-rebuild-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const faults = new Faults(buildLibrary(directory), join(directory, 'control'))
  const data = join(directory, 'data')
  const setup = { data, engine: 'fallback', startMsMax: START_MS_MAX, args: ['--log-level', 'ERROR'] }
  const first = await ServerProcess.start(setup)
  if (first.kind !== 'listening') return t.fail(first.errors)
  await first.server.call('POST', '/indexes/films/documents', [{ id: 1 }])
  const made = await first.server.call('POST', '/keys', {
    name: 'kept',
    actions: ['search'],
    indexes: ['*'],
    expiresAt: null,
  })
  t.is(made.status, 201)
  t.is(await first.server.stop(START_MS_MAX), 0)
  const store = join(data, 'tasks', 'tasks.db')
  const content = await readFile(store)
  // The number of its last transaction, in the header: the store is refused as incomplete.
  content.writeInt32BE(1, 68)
  await writeFile(store, content)
  const rebuilding = { ...setup, args: [...setup.args, '--rebuild-task-store'] }
  for (const { pattern, ...rest } of cases) {
    const name = `${rest.error} of ${rest.calls.join()} on ${pattern}, after ${rest.after ?? 0}`
    faults.begin({ once: false, after: 0, ...rest, pattern: `${data}${pattern}` })
    const started = await ServerProcess.start({ ...rebuilding, env: faults.env })
    if (started.kind === 'listening') await started.server.stop(START_MS_MAX)
    faults.end()
    t.true(faults.hits > 0, name)
    t.is(started.kind, 'ended', name)
    if (started.kind !== 'ended') continue
    checkOneLine(t, started.errors, name)
    t.deepEqual(await readFile(store), content, name)
  }
  const last = await ServerProcess.start(rebuilding)
  if (last.kind !== 'listening') return t.fail(last.errors)
  const { body } = await last.server.call('GET', '/keys')
  const names = (body as { results: readonly { name: string | null }[] }).results.map(({ name }) => name)
  t.true(names.includes('kept'), names.join())
  t.is(await last.server.stop(START_MS_MAX), 0)
})
