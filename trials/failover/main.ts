/** npm run trials -- failover: see the help below. Exits with 1 if a rule is broken. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startStore } from '../../__test__/support/store-servers.js'
import { withinMinutes } from '../deadline.js'
import { percentile } from '../percentile.js'
import { failovers, type Kind, kinds } from './trial.js'

const help = `npm run trials -- failover [options]

Three servers share a bucket and replace a lost leader by themselves, while clients write and read through all of them.
In each round the leader is killed, suspended, cut off, stopped or taken over. Every acknowledged document must exist
on all servers after each round, and strong reads must find it before that.

  --rounds N         faults                                               (default 300)
  --ack NAME         bucket or local: when a write is acknowledged        (default bucket)
  --kinds LIST       ${kinds.join(',')}
                     (default: all)
  --engine NAME      native or fallback                                   (default fallback)
  --seed S           seed of the faults                                   (default 1)
  --logs             show the logs of the servers after each round
  --minutes N        stop after that time                                 (default: no limit)`

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '300' },
    ack: { type: 'string', default: 'bucket' },
    kinds: { type: 'string', default: kinds.join(',') },
    engine: { type: 'string', default: 'fallback' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    logs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const chosen = values.kinds.split(',') as Kind[]
const unknown = chosen.find((kind) => !kinds.includes(kind))
if (unknown !== undefined || (values.ack !== 'bucket' && values.ack !== 'local')) {
  console.error(help)
  process.exit(2)
}
const ends: (() => unknown)[] = []
const directory = await mkdtemp(join(tmpdir(), 'siftd-failover-'))
try {
  const { problems, rounds, acknowledged, missing, recoveries } = await failovers({
    ...{ engine: values.engine, ack: values.ack, seed: Number(values.seed), rounds: Number(values.rounds) },
    ...{ directory, kinds: chosen, showsLogs: values.logs, shouldContinue: withinMinutes(values.minutes) },
    store: await startStore({ teardown: (end) => void ends.push(end) }, 'gofakes3'),
    report: (line) => console.log(line),
  })
  for (const [kind, times] of recoveries)
    console.log(
      `${kind}: ${times.length} rounds, recovered after p50 ${Math.round(percentile(times, 0.5)!)} ms, p99 ${Math.round(percentile(times, 0.99)!)} ms`,
    )
  for (const problem of problems) console.log(problem)
  console.log(
    `${rounds} rounds, ${acknowledged} acknowledged, ${missing} missing, ${problems.length} problems`,
  )
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  for (const end of ends) await end()
  await rm(directory, { recursive: true, force: true })
}
