/** npm run kill -- [kills] [batches] [engine] [driver]: the kill trial at length; ends with 1 if it finds a problem. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killTrial } from './kill.js'
import type { TrialEngine } from './kill-child.js'

const [kills = '50', batches = '200', engine = 'fallback', driver] = process.argv.slice(2)
const directory = await mkdtemp(join(tmpdir(), 'siftd-kill-'))
const report = await killTrial({
  directory,
  engine: engine as TrialEngine,
  kills: Number(kills),
  batches: Number(batches),
  seed: Date.now(),
  ...(driver === undefined ? {} : { driver }),
})
console.log({ engine, driver: driver ?? 'first that loads', ...report })
if (report.problems.length === 0) await rm(directory, { recursive: true, force: true })
else console.log(`the data is left in ${directory}`)
process.exitCode = report.problems.length === 0 ? 0 : 1
