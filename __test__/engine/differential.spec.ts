/**
 * Compares the answers of both engines to random searches of random indexes. Longer runs: `npm run trials --
 * differential`.
 */

import { EnginePair, searchForDifference } from '../../trials/differential/differential.js'
import { fallback, native } from '../support/engines.js'
import { testNeeding } from '../support/test-needing.js'

const CASES = 2000
/** Fixed, so that a failure is caused by a code change. */
const SEED = 20_261_121

testNeeding(native.needs)(`${CASES} random searches have the same answer in both engines`, async (t) => {
  t.timeout(15 * 60_000)
  const pair = await EnginePair.open(native.open, fallback.open)
  try {
    t.is(await searchForDifference(pair, CASES, SEED), null)
    t.true(pair.asked >= CASES, `${pair.asked} searches`)
  } finally {
    await pair.stop()
  }
})
