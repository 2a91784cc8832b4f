import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import { loadAddon } from '../../ts/engine/addon.js'
import { BackgroundFaults } from '../../ts/engine/background-faults.js'
import type { Engine } from '../../ts/engine/engine.js'
import { openFallback } from '../../ts/engine/fallback/index.js'
import { openNative } from '../../ts/engine/native/index.js'
import type { EngineSetup } from '../../ts/engine/setup.js'
import { TestEngine } from '../support/engine.js'
import { nativeEngine } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'

// A fault of background work:
// 1. fails no call;
// 2. is logged with its kind, index, file and reason;
// 3. is counted by its kind;
// 4. is reported by a callback that does not keep the process alive.

interface Warning {
  readonly kind: string
  readonly index: string
  readonly file: string
  readonly reason: string
}

async function started(t: ExecutionContext, open: (setup: EngineSetup) => Promise<Engine> = openFallback) {
  const warnings: Warning[] = []
  const silent = () => undefined
  const log = {
    debug: silent,
    info: silent,
    warn: (facts: object) => void warnings.push(facts as Warning),
    error: silent,
  }
  const faults = new BackgroundFaults(log)
  const limits = { indexingMemoryBytes: 64 * 1024 * 1024, indexingThreads: 1 }
  const engine = await TestEngine.start(t, (directory) => open({ directory, log, faults, ...limits }))
  const file = (name: string): string => join(engine.directory, 'indexes/things', name)
  return { engine, faults, warnings, file }
}

// Longer than any indexed word: makes the log long without slowing indexing.
const FILLER = 'x'.repeat(1_200_000)

test('fallback: a failed snapshot write is logged and counted, and the commit stays valid', async (t) => {
  const { engine, faults, warnings, file } = await started(t)
  await engine.put('things', { id: 0 })
  await mkdir(`${file('built.snapshot')}.new`)
  await engine.put('things', { id: 1, t: 'whole', filler: [FILLER] })
  // Copying the index waits for the snapshot in progress.
  await engine.snapshot('things', join(engine.directory, 'copy'))
  t.is(faults.counts.get('snapshot_write'), 1)
  t.like(warnings, [{ kind: 'snapshot_write', index: 'things', file: file('built.snapshot') }])
  t.regex(warnings[0]!.reason, /EISDIR/)
  t.deepEqual(await engine.idsFor('things', 'whole'), [1])
})

test('fallback: a failed log rewrite is logged and counted, and the commits stay valid', async (t) => {
  const { engine, faults, warnings, file } = await started(t)
  await engine.put('things', { id: 0 })
  await mkdir(`${file('commits.log')}.new`)
  for (let round = 0; round < 14; round++) await engine.put('things', { id: 1, round, filler: [FILLER] })
  t.true((await stat(file('commits.log'))).size > 16 * 1024 * 1024)
  t.true(faults.counts.get('log_rewrite')! > 0)
  t.like(warnings, [{ kind: 'log_rewrite', index: 'things', file: file('commits.log') }])
  await rm(`${file('commits.log')}.new`, { recursive: true })
  await engine.put('things', { id: 2, t: 'last' })
  t.true((await stat(file('commits.log'))).size < 16 * 1024 * 1024)
  t.deepEqual(await engine.idsFor('things', 'last'), [2])
})

const loaded = loadAddon()
const runs = testNeeding([nativeEngine], test)

runs('native: a failed merge is logged and counted, and the commits stay valid', async (t) => {
  const { engine, faults, warnings, file } = await started(t, (setup) =>
    openNative(loaded.ok && loaded.addon, setup),
  )
  const documents = Array.from({ length: 300 }, (_, id) => ({ id, text: `${id} `.repeat(200) }))
  await engine.put('things', ...documents)
  const commits = (await readdir(file(''))).filter((name) => name.startsWith('commit-'))
  const last = Math.max(...commits.map((name) => Number(name.slice('commit-'.length))))
  // The commit after the next one is the merge: by then more than a third of a segment is deleted.
  await mkdir(file(`commit-${String(last + 2).padStart(20, '0')}.tmp`))
  await engine.apply('things', { kind: 'deleteByIds', ids: documents.slice(0, 200).map(({ id }) => `${id}`) })
  while (warnings.length === 0) await sleep(5)
  t.is(faults.counts.get('segment_merge'), 1)
  t.like(warnings, [{ kind: 'segment_merge', index: 'things', file: file('').replace(/\/$/, '') }])
  t.regex(warnings[0]!.reason, /could not be committed/)
  t.is((await engine.documents('things')).total, 100)
})

runs('native: an open engine does not keep the process alive', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-alive-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const url = (path: string) => new URL(`../../ts/engine/${path}`, import.meta.url).href
  const script = `
    const { loadAddon } = await import('${url('addon.js')}')
    const { openNative } = await import('${url('native/index.js')}')
    const log = { warn() {}, error() {} }
    const setup = { directory: process.argv[1], log, indexingMemoryBytes: 1e7, indexingThreads: 1 }
    await openNative(loadAddon().addon, setup)
    console.log('opened')
  `
  const args = ['--input-type=module', '--eval', script, directory]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 })
  t.is(stdout, 'opened\n')
})
