/** Do both engines give the same answers to random searches of random indexes? At length: `npm run trials -- differential`. */

import { EnginePair, searchForDifference } from '../../trials/differential/differential.js'
import { fallback, native } from '../support/engines.js'
import { testNeeding } from '../support/test-needing.js'

const CASES = 2000
/** Always the same, so that a failure is the fault of what was changed. */
const SEED = 20_261_121

testNeeding(native.needs)(`${CASES} random searches have one answer`, async (t) => {
  t.timeout(15 * 60_000)
  const pair = await EnginePair.open(native.open, fallback.open)
  try {
    t.is(await searchForDifference(pair, CASES, SEED), null)
    t.true(pair.asked >= CASES, `${pair.asked} searches`)
  } finally {
    await pair.stop()
  }
})
