/** npm run trials -- differential: see the help below. Exits with 1 if the engines differ. */
import { parseArgs } from 'node:util'
import { fallback, native } from '../../__test__/support/engines.js'
import { withinMinutes } from '../deadline.js'
import { EnginePair, searchForDifference } from './differential.js'

const help = `npm run trials -- differential [options]

Runs the same random searches on the same random indexes in the native engine and the fallback. Prints every
difference, reduced to a small case.

  --cases N          searches                            (default 1000000)
  --seed S           seed of the random searches         (default: random)
  --minutes N        stop after that time                (default: no limit)

Example
  npm run trials -- differential --cases 20000 --seed 7`

/** Cases per seed. After a difference the trial continues with the next seed. */
const CASES_PER_SEED = 2000

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const cases = Number(values.cases)
const seed = Number(values.seed)
const shouldContinue = withinMinutes(values.minutes)
const pair = await EnginePair.open(native.open, fallback.open)
let different = 0
for (let done = 0; done < cases && shouldContinue(); done += CASES_PER_SEED) {
  const found = await searchForDifference(pair, Math.min(CASES_PER_SEED, cases - done), seed + done)
  if (found !== null) {
    different++
    console.log(JSON.stringify(found.world.settings))
    for (const document of found.world.documents) console.log(`  ${JSON.stringify(document)}`)
    console.log(`seed ${found.seed}: ${JSON.stringify(found.request)}`)
    console.log(`  native   ${found.native}\n  fallback ${found.fallback}`)
  }
  console.log(`${pair.asked} searches, ${different} seeds with a difference`)
}
await pair.stop()
process.exitCode = different === 0 ? 0 : 1
