/**
 * npm run trials -- hostile [--minutes N] [--engine native|fallback] [--seed S] [--only PART] [--generated] [--replay FILE] [--http-threads N]
 *
 * Runs the corpus, or only its cases whose name contains PART, then generated requests until the time is over. Prints
 * a line of counts and exits with 1 if anything was found. Saves findings to files, which `--replay` sends again.
 */
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { threadsOf } from '../threads.js'
import type { TrialEngine } from './target.js'
import { costLine, type Finding, Trial } from './trial.js'
import { calibrate, type Observation } from './watch.js'

const CALIBRATION_MS = 5_000
/** Number of most expensive requests that the summary shows. */
const COSTS_SHOWN = 12

const help = `npm run trials -- hostile [options]

Sends harmful requests to a fresh server and watches it from outside: the corpus, then generated requests.

  --engine NAME      native or fallback                  (default native)
  --minutes N        duration, including the corpus      (default 10)
  --seed S           seed of the generated requests      (default: random)
  --only PART        only cases of the corpus whose name contains PART
  --generated        skips the corpus
  --replay FILE      sends the requests of a finding again
  --http-threads N   threads that answer                 (default: that of the server)

Examples
  npm run trials -- hostile --engine fallback --minutes 30
  npm run trials -- hostile --minutes 0 --only "multi-search"`

const { values: given } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    engine: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
    generated: { type: 'boolean', default: false },
    replay: { type: 'string' },
    'http-threads': { type: 'string' },
  },
})
if (given.help) {
  console.log(help)
  process.exit(0)
}
const say = (line: string): void => console.log(line)
const shownCalibration = ({ stopMs, slowestMs, lateMs }: Observation): string =>
  `an idle server stops for ${stopMs.toFixed(1)} ms (slowest answer ${slowestMs.toFixed(1)} ms, our timer late by ${lateMs.toFixed(1)} ms)`

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const saved =
  given.replay === undefined ? null : (JSON.parse(await readFile(given.replay, 'utf8')) as Finding)
const engine = (given.engine ?? saved?.engine ?? 'native') as TrialEngine
if (engine !== 'native' && engine !== 'fallback')
  throw new Error(`--engine must be native or fallback, not ${engine}`)
const seed = Number(given.seed)
const before = await calibrate(CALIBRATION_MS)
say(`calibration: ${shownCalibration(before)}`)
const directory = await mkdtemp(join(tmpdir(), 'siftd-hostile-findings-'))
const trial = await Trial.start(engine, seed, {
  ...{ directory, say, httpThreads: threadsOf(given['http-threads']) },
})
if (saved !== null) await trial.replay(saved.requests)
else {
  const until = performance.now() + Number(given.minutes) * 60_000
  if (!given.generated) await trial.corpus(given.only)
  if (given.only === undefined) await trial.generated(until - performance.now())
}
await trial.stop()
const largest = (by: 'stopMs' | 'growthBytes'): void => {
  for (const cost of trial.costs.toSorted((a, b) => b[by] - a[by]).slice(0, COSTS_SHOWN))
    say(costLine(cost).slice(0, 200))
}
say('longest stops:')
largest('stopMs')
say('most memory:')
largest('growthBytes')
say(`calibration afterwards: ${shownCalibration(await calibrate(CALIBRATION_MS))}`)
const { requests, accepted, refused, unanswered, tasks, failedTasks } = trial.counts
say(
  `${engine}, seed ${seed}: ${requests} requests, ${accepted} accepted, ${refused} refused, ${unanswered} left, ` +
    `${tasks} tasks (${failedTasks} failed), ${trial.findings.length} findings`,
)
process.exitCode = trial.findings.length === 0 ? 0 : 1
