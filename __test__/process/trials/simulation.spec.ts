import test from 'ava'
import { simulate } from '../../../trials/simulation/simulation.js'
import { type DriverName, driverNames, loadDriver } from '../../../ts/sqlite/driver.js'
import type { Requirement } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

// Any number of runs from any seed: npm run trials -- simulation --runs N --seed S.
const RUNS = 40
const FIRST = 1

test(`whatever fails when, the queue keeps its promises: seeds ${FIRST} to ${FIRST + RUNS - 1}`, async (t) => {
  t.timeout(600_000)
  let events = 0
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    const report = await simulate(seed)
    events += report.events
    t.deepEqual(report.problems, [], `seed ${seed}`)
  }
  t.log({ seeds: [FIRST, FIRST + RUNS - 1], events })
})

for (const hasBucket of [false, true]) {
  test(`a seed is a run, ${hasBucket ? 'with' : 'without'} a bucket`, async (t) => {
    const digests = new Set<string>()
    for (const seed of [5, 6, 7]) {
      const first = await simulate(seed, { hasBucket })
      t.deepEqual(await simulate(seed, { hasBucket }), first)
      digests.add(first.digest)
    }
    t.is(digests.size, 3)
  })
}

test('a follower replaces a lost leader, and no acknowledged write is lost', async (t) => {
  let elections = 0
  for (let seed = 1; seed <= 8; seed++) {
    const report = await simulate(seed, { hasBucket: true, elects: true })
    t.deepEqual(report.problems, [], `seed ${seed}`)
    elections += report.elections
  }
  t.true(elections > 0)
})

test('a candidate that stands without having read the log is noticed', async (t) => {
  // About one run in eight loses a write. Which ones depends on every call of the code under test.
  const isNoticed = async (seed: number): Promise<boolean> => {
    const { problems } = await simulate(seed, { hasBucket: true, elects: true, weakness: 'stands unread' })
    return problems.some((problem) => /the bucket had .*, and it is lost/.test(problem))
  }
  let seed = 17
  while (seed < 117 && !(await isNoticed(seed))) seed++
  t.true(seed < 117)
})

/** A build of SQLite. Each is there somewhere: one comes with Node.js 22, one is no package for every system. */
function buildOfSqlite(driver: DriverName): Requirement {
  try {
    loadDriver(driver)
    return { missing: null, isDemanded: false }
  } catch (error) {
    return { missing: String(error), isDemanded: false }
  }
}

for (const driver of driverNames) {
  const runs = testNeeding([buildOfSqlite(driver)])
  runs(`${driver}: servers take over from a bucket, and a follower has the same rows`, async (t) => {
    for (let seed = 1; seed <= 4; seed++)
      t.deepEqual((await simulate(seed, { driver, hasBucket: true })).problems, [], `seed ${seed}`)
  })
}
