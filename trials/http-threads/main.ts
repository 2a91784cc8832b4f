/** npm run trials -- http-threads: see the help below. Exits with 1 if an answer is by an older state. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { withinMinutes } from '../deadline.js'
import { threadsTrial } from './trial.js'

const help = `npm run trials -- http-threads [options]

Changes documents, settings, indexes, keys, features and rules of a server with several threads over one connection,
and asks over all connections as soon as the change is acknowledged. Every answer must be by the new state.

  --engine NAME      native or fallback                  (default native)
  --http-threads N   threads that answer; on the fallback, threads that search (default 3)
  --connections N    connections, spread over the threads (default 16)
  --rounds N         changes                             (default 1000)
  --seed S           seed of the changes                 (default 1)
  --minutes N        stop after that time                (default: no limit)`

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'native' },
    'http-threads': { type: 'string', default: '3' },
    connections: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const directory = await mkdtemp(join(tmpdir(), 'siftd-http-threads-'))
const report = await threadsTrial({
  ...{ engine: values.engine, directory, seed: Number(values.seed), rounds: Number(values.rounds) },
  threads: Number(values['http-threads']),
  connections: Number(values.connections),
  shouldContinue: withinMinutes(values.minutes),
})
console.log({ engine: values.engine, seed: values.seed, ...report })
await rm(directory, { recursive: true, force: true })
process.exitCode = report.problems.length === 0 ? 0 : 1
