import test from 'ava'
import { simulate } from './simulation/simulation.js'

// Any number of runs from any seed: npm run scheduler -- RUNS SEED.
const RUNS = 200
const FIRST = 1

test(`whatever fails when, the queue keeps its promises: seeds ${FIRST} to ${FIRST + RUNS - 1}`, async (t) => {
  t.timeout(120_000)
  let events = 0
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    const report = await simulate(seed)
    events += report.events
    t.deepEqual(report.problems, [], `seed ${seed}`)
  }
  t.log({ seeds: [FIRST, FIRST + RUNS - 1], events })
})

test('a seed is a run', async (t) => {
  const [first, second] = [await simulate(5), await simulate(5)]
  t.deepEqual(first, second)
  t.not((await simulate(6)).digest, first.digest)
})
