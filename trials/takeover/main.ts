/** npm run trials -- takeover: see the help below. Exits with 1 if an acknowledged document is lost. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startStore } from '../../__test__/support/store-servers.js'
import { withinMinutes } from '../deadline.js'
import { takeovers } from './trial.js'

const help = `npm run trials -- takeover [options]

Two servers take over a bucket from each other while clients write and a tenth of the calls to the bucket fail. The
writer is killed, stopped or suspended when the other server takes over. Every acknowledged document must exist after
each takeover.

  --rounds N         takeovers                           (default 200)
  --engine NAME      native or fallback                  (default fallback)
  --seed S           seed of the load and the failures   (default 1)
  --delay-ms N       longest delay of a call             (default 20)
  --failing N        share of the calls that fail        (default 0.1)
  --minutes N        stop after that time                (default: no limit)`

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    engine: { type: 'string', default: 'fallback' },
    seed: { type: 'string', default: '1' },
    'delay-ms': { type: 'string', default: '20' },
    failing: { type: 'string', default: '0.1' },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const ends: (() => unknown)[] = []
const directory = await mkdtemp(join(tmpdir(), 'siftd-takeover-'))
try {
  const problems = await takeovers({
    ...{ engine: values.engine, seed: Number(values.seed), rounds: Number(values.rounds), directory },
    delayMs: Number(values['delay-ms']),
    failing: Number(values.failing),
    shouldContinue: withinMinutes(values.minutes),
    store: await startStore({ teardown: (end) => void ends.push(end) }, 'gofakes3'),
    report: (line) => console.log(line),
  })
  for (const problem of problems) console.log(problem)
  console.log(`${problems.length} problems`)
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  for (const end of ends) await end()
  await rm(directory, { recursive: true, force: true })
}
