/** A slice of the trial of answers after changes; `npm run trials -- http-threads` runs 1,000 rounds. */
import test, { type ExecutionContext } from 'ava'
import { threadsTrial } from '../../../trials/http-threads/trial.js'
import { nativeEngine, otherThanWindows } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'
import { temporaryDirectory } from '../../tasks/test-queue.js'

const THREADS = 3
const ROUNDS = 60

/** Runs a slice of the trial. @returns the threads that answered */
async function checkThreads(t: ExecutionContext, engine: 'native' | 'fallback'): Promise<readonly string[]> {
  t.timeout(300_000)
  const report = await threadsTrial({
    ...{ engine, directory: await temporaryDirectory(t), seed: 7 },
    ...{ threads: THREADS, connections: 16, rounds: ROUNDS },
  })
  t.log(report)
  t.deepEqual(report.problems, [])
  t.is(report.rounds, ROUNDS)
  return Object.keys(report.spread)
}

testNeeding([nativeEngine, otherThanWindows('one thread answers there')])(
  'a change that was acknowledged is seen on every connection of every thread at once',
  async (t) => {
    t.deepEqual(await checkThreads(t, 'native'), ['1', '2', '3'])
  },
)

test('a change that was acknowledged is seen in every search thread of the fallback at once', async (t) => {
  await checkThreads(t, 'fallback')
})
