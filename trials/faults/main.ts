/**
 * npm run trials -- faults --engine native|fallback [--runs N] [--seed S] [--jobs J] [--only NUMBERS] [--kills] [--http-threads N]
 *
 * Makes system calls of servers fail under load, ends the servers, and compares the state after a restart with their
 * answers. `--kills` fails no call. Exits with 1 if anything contradicts an answer.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { takeWhile, withinMinutes } from '../deadline.js'
import { threadsOf } from '../threads.js'
import { buildLibrary, missingLibrary } from './library.js'
import { type FaultVerdict, faultTrial } from './trial.js'

const help = `npm run trials -- faults [options]

Makes system calls of servers fail under load, ends the servers, and compares the state after a restart with their
answers.

  --engine NAME      native or fallback                  (default fallback)
  --runs N           number of servers                   (default 300)
  --seed S           seed of the load and the failures   (default 1)
  --jobs J           servers at a time                   (default 2)
  --only NUMBERS     only these runs, reported in full
  --minutes N        stop after that time                (default: no limit)
  --kills            only kills servers, fails no call
  --http-threads N   threads that answer                 (default: that of the server)

Examples
  npm run trials -- faults --engine native --runs 50
  npm run trials -- faults --engine fallback --kills`

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'fallback' },
    runs: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    only: { type: 'string' },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
    kills: { type: 'boolean', default: false },
    'http-threads': { type: 'string' },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const { engine, only, kills } = values
const httpThreads = threadsOf(values['http-threads'])
const reason = kills ? null : missingLibrary()
if (reason !== null) throw new Error(reason)
const directory = await mkdtemp(join(tmpdir(), 'siftd-faults-'))
const library = kills ? null : buildLibrary(directory)
const started = Date.now()
const chosen = only === undefined ? [...Array(Number(values.runs)).keys()] : only.split(',').map(Number)
const waiting = takeWhile(chosen, withinMinutes(values.minutes))
const verdicts: FaultVerdict[] = []
const job = async () => {
  for (const number of waiting) {
    const verdict = await faultTrial({
      ...{ engine, seed: Number(values.seed), number, library, directory, httpThreads },
    })
    verdicts.push(verdict)
    const { problems, story, hits, counts } = verdict
    if (problems.length === 0 && only === undefined) continue
    console.log(`${number}: ${story}; ${hits} calls failed; ${JSON.stringify(counts)}`)
    for (const problem of only === undefined ? problems.slice(0, 4) : problems) console.log(`    ${problem}`)
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, job))
const failed = verdicts.filter(({ problems }) => problems.length > 0)
const sum = (of: (verdict: FaultVerdict) => number) => verdicts.reduce((total, one) => total + of(one), 0)
const outcomes = ['accepted', 'refused', 'unanswered'].map(
  (kind) => `${sum(({ counts }) => counts[kind] ?? 0)} ${kind}`,
)
const seconds = Math.round((Date.now() - started) / 1000)
console.log(
  `${engine}: ${verdicts.length} runs in ${seconds} s, calls failed in ${verdicts.filter(({ hits }) => hits > 0).length} of them (${sum(({ hits }) => hits)} calls); writes: ${outcomes.join(', ')}; ${failed.length} runs with problems`,
)
if (failed.length === 0) await rm(directory, { recursive: true, force: true })
else {
  const flags = `--engine ${engine} --seed ${values.seed}${kills ? ' --kills' : ''}${httpThreads === undefined ? '' : ` --http-threads ${httpThreads}`}`
  console.log(
    `repeat with: npm run trials -- faults ${flags} --only ${failed.map(({ number }) => number).join()}`,
  )
  console.log(`the data is kept in ${directory}`)
}
process.exitCode = failed.length > 0 ? 1 : 0
