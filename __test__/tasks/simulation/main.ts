/** npm run scheduler -- [runs] [seed]: simulated runs of the queue from that seed on; ends with 1 at a problem. */
import { simulate } from './simulation.js'

const [runs = '1000', first = String(Date.now() % 1_000_000_000)] = process.argv.slice(2)
let events = 0
let tasks = 0
let bad = 0
for (let seed = Number(first); seed < Number(first) + Number(runs); seed++) {
  const report = await simulate(seed)
  events += report.events
  tasks += report.tasks
  if (report.problems.length === 0) continue
  bad++
  console.log(`seed ${seed}:`, report.problems)
}
console.log(`${runs} runs from seed ${first}: ${tasks} tasks, ${events} events, ${bad} runs with problems`)
process.exitCode = bad === 0 ? 0 : 1
