/** npm run trials -- simulation: see the help below. Exits with 1 if there is a problem. */
import { parseArgs } from 'node:util'
import { withinMinutes } from '../deadline.js'
import { simulate } from './simulation.js'

/** Runs, and milliseconds, after which the figures so far are printed. */
const SHOWN_RUNS = 1_000
const SHOWN_MS = 60_000

const help = `npm run trials -- simulation [options]
Simulates runs of the task queue with crashes, power cuts, full disks and, in one run of five, a bucket with a second
server. The same seed gives the same run. Prints the figures so far each minute.
  --runs N           number of seeds to run              (default 1000)
  --seed S           the first seed                      (default: random)
  --bucket           a bucket in every run
  --elect            followers that replace a lost leader in every run with a bucket
  --minutes N        stop after this time                (default: no limit)

Examples
  npm run trials -- simulation --runs 5000 --bucket
  npm run trials -- simulation --seed 1002999 --runs 1 --bucket`

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    bucket: { type: 'boolean', default: false },
    elect: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const first = Number(values.seed)
const hasTime = withinMinutes(values.minutes)
let runs = 0
let events = 0
let tasks = 0
let takeovers = 0
let compared = 0
let bad = 0
let shownAt = Date.now()
for (; runs < Number(values.runs) && hasTime(); runs++) {
  if (runs > 0 && (runs % SHOWN_RUNS === 0 || Date.now() - shownAt >= SHOWN_MS)) {
    shownAt = Date.now()
    show()
  }
  const report = await simulate(first + runs, {
    ...(values.bucket && { hasBucket: true }),
    ...(values.elect && { elects: true }),
  })
  events += report.events
  tasks += report.tasks
  takeovers += report.takeovers
  compared += report.compared
  if (report.problems.length === 0) continue
  bad++
  console.log(`seed ${first + runs}:`, report.problems)
}
show()
process.exitCode = bad === 0 ? 0 : 1

function show(): void {
  const figures = `${tasks} tasks, ${events} events, ${takeovers} takeovers, ${compared} follower states compared`
  console.log(`${runs} runs from seed ${first}: ${figures}, ${bad} runs with problems`)
}
