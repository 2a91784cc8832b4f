import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { damageTrial } from '../../../trials/damage/damage.js'
import { outcomeTable } from '../../../trials/damage/table.js'
import { failing } from '../../../trials/damage/trial.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'

/** Number of faults, and the step between their numbers, so that kinds of files and damages vary. */
const FAULTS = 3
const STRIDE = 37

// Longer run: npm run trials -- damage.
for (const engine of [testEngine]) {
  const runs = testNeeding(engine === 'native' ? [nativeEngine] : [])
  runs(`${engine}: no damaged file in a data directory leads to silently wrong answers`, async (t) => {
    t.timeout(600_000)
    const directory = await mkdtemp(join(tmpdir(), 'siftd-damage-'))
    t.teardown(() => rm(directory, { recursive: true, force: true }))
    const numbers = Array.from({ length: FAULTS }, (_, at) => at * STRIDE)
    const verdicts = await damageTrial({
      engine,
      seed: 1,
      numbers,
      jobs: 2,
      repairs: true,
      directory,
    })
    t.log(outcomeTable(verdicts))
    t.is(verdicts.length, FAULTS)
    t.deepEqual(
      verdicts.filter((verdict) => failing.has(verdict.class)),
      [],
    )
  })
}
