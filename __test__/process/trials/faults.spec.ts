import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildLibrary, failingCalls } from '../../../trials/faults/library.js'
import { faultTrial } from '../../../trials/faults/trial.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'

// Longer run: npm run trials -- faults.
const RUNS = 2

for (const engine of [testEngine]) {
  const engines = engine === 'native' ? [nativeEngine] : []
  // Serial, because each trial has timeouts that a concurrent trial would exceed.
  const runs = testNeeding([...engines, failingCalls])
  runs(`${engine}: answers given while system calls fail are true after a restart`, async (t) => {
    t.timeout(600_000)
    const directory = await temporary(t)
    const library = buildLibrary(directory)
    let hits = 0
    for (let number = 0; number < RUNS; number++) {
      const verdict = await faultTrial({ engine, seed: 28, number, library, directory })
      t.log(`${number}: ${verdict.story}; ${verdict.hits} calls failed`)
      t.deepEqual(verdict.problems, [], verdict.story)
      hits += verdict.hits
    }
    t.true(hits > 0, 'at least one call failed')
  })
  runs(`${engine}: edits report what they committed while uploads cannot be removed`, async (t) => {
    t.timeout(600_000)
    const directory = await temporary(t)
    const library = buildLibrary(directory)
    const verdict = await faultTrial({ engine, seed: 2, number: 119, library, directory })
    t.deepEqual(verdict.problems, [], verdict.story)
    t.regex(verdict.story, /unlink on \/update_files/)
  })
  const kills = testNeeding(engines)
  kills(`${engine}: answers over HTTP are true after kills`, async (t) => {
    t.timeout(600_000)
    const directory = await temporary(t)
    const verdict = await faultTrial({ engine, seed: 28, number: 0, library: null, directory })
    t.deepEqual(verdict.problems, [])
    t.true(verdict.counts.accepted! > 0)
  })
}

async function temporary(t: { teardown(fn: () => Promise<void>): void }): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-faults-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}
