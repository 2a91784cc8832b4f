import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { buildLibrary, type CallFault, Faults, failingCalls } from '../../../trials/faults/library.js'
import { checkOneLine } from '../../../trials/faults/one-line.js'
import { ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

const START_MS_MAX = 120_000

/** Calls that fail while a task store with readable keys is rebuilt. */
const cases: readonly (Pick<CallFault, 'calls' | 'error' | 'pattern'> & Partial<CallFault>)[] = [
  { calls: ['open'], error: 'EMFILE', pattern: '/tasks/tasks.db' },
  { calls: ['open'], error: 'ENOSPC', pattern: '/tasks/copy.db' },
  { calls: ['open'], error: 'EMFILE', pattern: '/indexes/catalogue.json' },
  { calls: ['open'], error: 'EMFILE', pattern: '/tasks/lock' },
  { calls: ['read'], error: 'EIO', pattern: '/tasks/copy.db' },
  // SQLite reports the first of these as "file is not a database", or repeats the read.
  ...[0, 1, 2].map((after) => ({
    calls: ['read' as const],
    error: 'EIO' as const,
    pattern: '/tasks/copy.db',
    once: true,
    after,
  })),
]

const runs = testNeeding([failingCalls])
runs('a task store rebuild with failing calls exits with a one-line message and loses no key', async (t) => {
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
  // Changes the last transaction number in the header, so that the store is refused as incomplete.
  content.writeInt32BE(1, 68)
  await writeFile(store, content)
  const rebuilding = (directory: string) => ({
    ...setup,
    data: directory,
    args: [...setup.args, '--rebuild-task-store'],
  })
  for (const [number, { pattern, ...rest }] of cases.entries()) {
    const name = `${rest.error} of ${rest.calls.join()} on ${pattern}, after ${rest.after ?? 0}`
    const copy = join(directory, `data-${number}`)
    await cp(data, copy, { recursive: true })
    faults.begin({ once: false, after: 0, ...rest, pattern: `${copy}${pattern}` })
    const started = await ServerProcess.start({ ...rebuilding(copy), env: faults.env })
    faults.end()
    t.true(faults.hits > 0, name)
    if (started.kind === 'listening') {
      // SQLite repeats a failed read once.
      t.true(rest.once, name)
      await checkKeys(t, started.server, name)
      continue
    }
    checkOneLine(t, started.errors, name)
    t.deepEqual(await readFile(join(copy, 'tasks', 'tasks.db')), content, name)
  }
  const last = await ServerProcess.start(rebuilding(data))
  if (last.kind !== 'listening') return t.fail(last.errors)
  await checkKeys(t, last.server, 'without faults')
})

/** Checks that the key still exists, and stops the server. */
async function checkKeys(t: ExecutionContext, server: ServerProcess, name: string): Promise<void> {
  const { body } = await server.call('GET', '/keys')
  const names = (body as { results: readonly { name: string | null }[] }).results.map(({ name }) => name)
  t.true(names.includes('kept'), `${name}: ${names.join()}`)
  t.is(await server.stop(START_MS_MAX), 0, name)
}
