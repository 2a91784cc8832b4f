/**
 * npm run scheduler -- [runs] [seed] [bucket]: simulated runs of the queue from that seed on, each with a bucket if it is
 * named, else one of five; ends with 1 at a problem.
 */
import { simulate } from './simulation.js'

const [runs = '1000', first = String(Date.now() % 1_000_000_000), which] = process.argv.slice(2)
let events = 0
let tasks = 0
let takeovers = 0
let compared = 0
let bad = 0
for (let seed = Number(first); seed < Number(first) + Number(runs); seed++) {
  const report = await simulate(seed, which === 'bucket' ? { hasBucket: true } : {})
  events += report.events
  tasks += report.tasks
  takeovers += report.takeovers
  compared += report.compared
  if (report.problems.length === 0) continue
  bad++
  console.log(`seed ${seed}:`, report.problems)
}
const figures = `${tasks} tasks, ${events} events, ${takeovers} takeovers, ${compared} states of followers compared`
console.log(`${runs} runs from seed ${first}: ${figures}, ${bad} runs with problems`)
process.exitCode = bad === 0 ? 0 : 1
