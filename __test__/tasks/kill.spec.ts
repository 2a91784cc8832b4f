import test from 'ava'
import { temporaryDirectory } from './house.js'
import { killTrial } from './kill.js'

// The same at length: npm run kill.
for (const [engine, driver] of [
  ['fake', 'libsql'],
  ['fake', 'node-sqlite3-wasm'],
  ['fallback', undefined],
] as const) {
  test(`${engine}, ${driver ?? 'any driver'}: no acknowledged task is lost or done twice by kills`, async (t) => {
    const directory = await temporaryDirectory(t)
    const trial = { directory, engine, kills: 6, batches: 12, seed: 7 }
    const report = await killTrial(driver === undefined ? trial : { ...trial, driver })
    t.deepEqual(report.problems, [])
    t.true(report.acknowledged > 6)
    t.true(report.kills.committed > 0)
  })
}
