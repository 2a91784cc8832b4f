/** Do both engines give the same answers to random searches of random indexes? At length: `npm run differential`. */
import test from 'ava'
import { loadAddon } from '../../ts/engine/addon.js'
import { openFallback } from '../../ts/engine/fallback/index.js'
import { openNative } from '../../ts/engine/native/index.js'
import { EnginePair, searchForDifference } from './differential.js'

const CASES = 2000
/** Always the same, so that a failure is the fault of what was changed. */
const SEED = 20_261_121

const silent = (): void => undefined
const loud = (facts: object, message: string): void => console.error(message, facts)
const log = { debug: silent, info: silent, warn: loud, error: loud }

const loaded = loadAddon()
if (loaded.ok) {
  test(`${CASES} random searches have one answer`, async (t) => {
    t.timeout(15 * 60_000)
    const pair = await EnginePair.open(
      (directory) =>
        openNative(loaded.addon, {
          directory,
          log,
          indexingMemoryBytes: 256 * 1024 * 1024,
          indexingThreads: 2,
        }),
      (directory) => openFallback({ directory, log }),
    )
    try {
      t.is(await searchForDifference(pair, CASES, SEED), null)
      t.true(pair.asked >= CASES, `${pair.asked} searches in the time there was`)
    } finally {
      await pair.stop()
    }
  })
} else if (process.env['CI'] === undefined) {
  // Without a binary there is nothing to compare; CI, which has one, fails below instead.
  test.skip(`native against fallback: ${loaded.reasons.join('; ')}`, (t) => t.pass())
} else {
  test('native against fallback: there is a binary to compare', (t) => t.fail(loaded.reasons.join('; ')))
}
