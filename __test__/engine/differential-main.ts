/**
 * npm run differential -- [cases] [seed]: native against fallback at length. Prints every difference, made as
 * small as it gets; ends with 1 if there was one.
 */
import { fallback, native } from '../support/engines.js'
import { EnginePair, searchForDifference } from './differential.js'

/** After a difference the search goes on with the next seed. */
const CASES_PER_SEED = 2000

const [cases = '1000000', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2)
const pair = await EnginePair.open(native.open, fallback.open)
let different = 0
for (let done = 0; done < Number(cases); done += CASES_PER_SEED) {
  const found = await searchForDifference(
    pair,
    Math.min(CASES_PER_SEED, Number(cases) - done),
    Number(seed) + done,
  )
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
