/** npm run trials -- kill: see the help below. Exits with 1 if it finds a problem. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { withinMinutes } from '../deadline.js'
import { killTrial } from './kill.js'
import type { TrialEngine } from './kill-child.js'

const help = `npm run trials -- kill [options]

Kills a task queue with kill -9 while it prepares, commits and records batches. Afterwards every acknowledged task must
have taken effect exactly once.

  --engine NAME      native, fallback or fake            (default fallback)
  --kills N          processes to kill                   (default 50)
  --batches N        at least this many batches          (default 200)
  --seed S           seed of the load and the kills      (default: the time)
  --driver NAME      SQLite driver                       (default: the first that loads)
  --minutes N        no further kill after that time     (default: no limit)

Example
  npm run trials -- kill --engine native --kills 500`

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'fallback' },
    kills: { type: 'string', default: '50' },
    batches: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now()) },
    driver: { type: 'string' },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const { engine, driver } = values
const directory = await mkdtemp(join(tmpdir(), 'siftd-kill-'))
const report = await killTrial({
  directory,
  engine: engine as TrialEngine,
  kills: Number(values.kills),
  batches: Number(values.batches),
  seed: Number(values.seed),
  shouldContinue: withinMinutes(values.minutes),
  ...(driver === undefined ? {} : { driver }),
})
console.log({ engine, seed: values.seed, driver: driver ?? 'first that loads', ...report })
if (report.problems.length === 0) await rm(directory, { recursive: true, force: true })
else console.log(`the data is kept in ${directory}`)
process.exitCode = report.problems.length === 0 ? 0 : 1
