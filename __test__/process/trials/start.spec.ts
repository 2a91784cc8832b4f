import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildLibrary, type CallFault, Faults, failingCalls } from '../../../trials/faults/library.js'
import { settled } from '../../../trials/faults/load.js'
import { checkOneLine } from '../../../trials/faults/one-line.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

const START_MS_MAX = 120_000

/** Calls that fail while a server starts with existing data. */
const cases: readonly Pick<CallFault, 'calls' | 'error' | 'pattern'>[] = [
  { calls: ['open'], error: 'EMFILE', pattern: '/tasks/tasks.db*' },
  { calls: ['read'], error: 'EIO', pattern: '/tasks/tasks.db' },
  { calls: ['open', 'mkdir'], error: 'ENOSPC', pattern: '/tasks/*' },
  { calls: ['open', 'read'], error: 'EIO', pattern: '/indexes*' },
  { calls: ['open'], error: 'EMFILE', pattern: '/indexes/*' },
]

for (const engine of [testEngine]) {
  const runs = testNeeding(engine === 'native' ? [nativeEngine, failingCalls] : [failingCalls])
  runs(`${engine}: a start with failing system calls exits with a one-line message, or serves`, async (t) => {
    t.timeout(600_000)
    const directory = await mkdtemp(join(tmpdir(), 'siftd-start-'))
    t.teardown(() => rm(directory, { recursive: true, force: true }))
    const faults = new Faults(buildLibrary(directory), join(directory, 'control'))
    const data = join(directory, 'data')
    const setup = { data, engine, startMsMax: START_MS_MAX, args: ['--log-level', 'ERROR'] }
    const first = await ServerProcess.start(setup)
    if (first.kind !== 'listening') return t.fail(first.errors)
    await first.server.call('POST', '/indexes/films/documents', [{ id: 1 }])
    await settled(first.server)
    await first.server.kill()
    // A waiting task makes the start read the newest commit of its index, to see if the task is done.
    const waiting = ['--experimental-max-number-of-batched-tasks', '0']
    const second = await ServerProcess.start({ ...setup, args: [...setup.args, ...waiting] })
    if (second.kind !== 'listening') return t.fail(second.errors)
    await second.server.call('POST', '/indexes/films/documents', [{ id: 2 }])
    await second.server.kill()
    let hits = 0
    for (const { pattern, ...rest } of cases) {
      const name = `${rest.error} of ${rest.calls.join()} on ${pattern}`
      faults.begin({ ...rest, pattern: `${data}${pattern}`, once: false, after: 0 })
      const started = await ServerProcess.start({ ...setup, env: faults.env })
      const exit = started.kind === 'listening' ? await started.server.stop(START_MS_MAX) : null
      faults.end()
      hits += faults.hits
      if (started.kind === 'listening') {
        t.is(exit, 0, name)
        continue
      }
      t.is(started.kind, 'ended', name)
      checkOneLine(t, started.errors, name)
    }
    t.true(hits > 0, 'at least one call failed')
    const last = await ServerProcess.start(setup)
    if (last.kind !== 'listening') return t.fail(last.errors)
    t.is((await last.server.call('GET', '/tasks')).status, 200)
    t.is(await last.server.stop(START_MS_MAX), 0)
  })
}
