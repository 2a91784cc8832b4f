import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { BackgroundFaults } from '../../ts/engine/background-faults.js'
import { openFallback } from '../../ts/engine/fallback/index.js'
import { TestEngine } from '../support/engine.js'

// A fault of work that no call waits for:
// 1. fails no call;
// 2. is logged with its kind, index, file and reason;
// 3. is counted by its kind.

interface Warning {
  readonly kind: string
  readonly index: string
  readonly file: string
  readonly reason: string
}

async function started(t: ExecutionContext) {
  const warnings: Warning[] = []
  const log = { warn: (facts: object) => void warnings.push(facts as Warning), error: () => undefined }
  const faults = new BackgroundFaults(log)
  const engine = await TestEngine.start(t, (directory) => openFallback({ directory, log, faults }))
  const file = (name: string): string => join(engine.directory, 'indexes/things', name)
  return { engine, faults, warnings, file }
}

// Longer than any word that is indexed: it makes the log long and costs no time.
const FILLER = 'x'.repeat(1_200_000)

test('fallback: a snapshot that cannot be written is logged and counted, and the commit stands', async (t) => {
  const { engine, faults, warnings, file } = await started(t)
  await engine.put('things', { id: 0 })
  await mkdir(`${file('built.snapshot')}.new`)
  await engine.put('things', { id: 1, t: 'whole', filler: [FILLER] })
  // A copy of the index waits for the snapshot that is being written.
  await engine.engine.snapshot('things', join(engine.directory, 'copy'))
  t.is(faults.counts.get('snapshot_write'), 1)
  t.like(warnings, [{ kind: 'snapshot_write', index: 'things', file: file('built.snapshot') }])
  t.regex(warnings[0]!.reason, /EISDIR/)
  t.deepEqual(await engine.idsFor('things', 'whole'), [1])
})

test('fallback: a log that cannot be written anew is logged and counted, and the commits stand', async (t) => {
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
