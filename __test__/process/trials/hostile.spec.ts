import test, { type ExecutionContext } from 'ava'
import type { Bounds } from '../../../trials/hostile/case.js'
import type { TrialEngine } from '../../../trials/hostile/target.js'
import { Trial } from '../../../trials/hostile/trial.js'

import { testEngine } from '../../support/server.js'

const SEED = 28
/** Number of generated requests, and step between corpus cases. `npm run trials -- hostile` sends all cases. */
const REQUESTS = 40
const CASE_EVERY = 6
const MINUTES_MAX = 10

/**
 * Time that the server waits for a processor is no stop, so a busy machine does not fail the test. The stop bound is
 * far above the trial's default, since the defects that it guards against took 1 to 43 seconds. Memory varies with the
 * moment of a garbage collection, by a tenth between machines. The defective answers took 900 MB.
 */
const bounds: Bounds = { stopMsMax: 2_000, growthBytesMax: 300_000_000 }

/** Runs a trial. Fails the test if it finds anything. @param send sends the requests */
async function checkTrial(t: ExecutionContext, engine: TrialEngine, send: (trial: Trial) => Promise<void>) {
  t.timeout(MINUTES_MAX * 60_000)
  const trial = await Trial.start(engine, SEED, { bounds })
  try {
    await send(trial)
  } finally {
    await trial.stop()
  }
  t.true(trial.counts.requests > 0, 'at least one request was sent')
  t.deepEqual(
    trial.findings.map(({ name, what }) => `${name}: ${what}`),
    [],
  )
}

const engine: TrialEngine = testEngine
// Serial, because each trial measures stops and memory of its server, which a parallel trial would distort.
const serially = test.serial
serially(`${engine}: formerly harmful requests are answered or refused within their bounds`, (t) =>
  checkTrial(t, engine, (trial) => trial.corpus('', false, CASE_EVERY)),
)
serially(`${engine}: generated requests cause no fault, no escalation, and no change if refused`, (t) =>
  checkTrial(t, engine, (trial) => trial.generated(MINUTES_MAX * 60_000, REQUESTS)),
)
