import test, { type ExecutionContext } from 'ava'
import type { TrialEngine } from '../../../trials/hostile/target.js'
import { type Bounds, Trial } from '../../../trials/hostile/trial.js'

import { testEngine } from '../../support/server.js'

const SEED = 28
/** Generated requests, and the distance between cases of the corpus; `npm run trials -- hostile` sends all of it. */
const REQUESTS = 40
const CASE_EVERY = 6
const MINUTES_MAX = 10

/**
 * A stop is time for which the server ran, so that a busy machine makes none. The bound is still far above that of the
 * trial by hand: what it is there for took from one second to 43. Memory varies with the moment of a collection, by a
 * tenth between machines; the answers that the bound is there for took 900 MB.
 */
const bounds: Bounds = { stopMsMax: 2_000, growthBytesMax: 300_000_000 }

/** @param send what is sent; what is found fails the test */
async function tried(t: ExecutionContext, engine: TrialEngine, send: (trial: Trial) => Promise<void>) {
  t.timeout(MINUTES_MAX * 60_000)
  const trial = await Trial.start(engine, SEED, { bounds })
  try {
    await send(trial)
  } finally {
    await trial.stop()
  }
  t.true(trial.counts.requests > 0, 'anything was sent at all')
  t.deepEqual(
    trial.findings.map(({ name, what }) => `${name}: ${what}`),
    [],
  )
}

const engine: TrialEngine = testEngine
// Serial: each trial measures pauses and memory of its server, and a parallel trial would distort both.
const serially = test.serial
serially(`${engine}: requests that once did harm are answered or refused, within their bounds`, (t) =>
  tried(t, engine, (trial) => trial.corpus('', false, CASE_EVERY)),
)
serially(`${engine}: generated requests find no fault, no escalation and no change by a refusal`, (t) =>
  tried(t, engine, (trial) => trial.generated(MINUTES_MAX * 60_000, REQUESTS)),
)
