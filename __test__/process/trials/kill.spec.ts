import test from 'ava'
import { killTrial } from '../../../trials/kill/kill.js'
import { nativeEngine } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'
import { temporaryDirectory } from '../../tasks/test-queue.js'

// Longer run: npm run trials -- kill.
for (const [engine, driver, kills] of [
  ['fake', 'libsql', 4],
  ['fake', 'node-sqlite3-wasm', 4],
  ['fallback', undefined, 6],
  ['native', undefined, 6],
] as const) {
  const runs = testNeeding(engine === 'native' ? [nativeEngine] : [], test)
  runs(
    `${engine}, ${driver ?? 'any driver'}: kills lose or repeat no acknowledged task, and the webhook receives each`,
    async (t) => {
      t.timeout(300_000)
      const directory = await temporaryDirectory(t)
      const trial = { directory, engine, kills, batches: 12, seed: 7 }
      const report = await killTrial(driver === undefined ? trial : { ...trial, driver })
      t.log(report)
      t.deepEqual(report.problems, [])
      t.true(report.acknowledged > 6)
      t.true(report.kills.committed > 0)
      t.true(report.calls > 0)
    },
  )
}
