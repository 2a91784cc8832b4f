/** npm run trials -- sync-postgres: see the help below. Exits with 1 if an index differs from its rows. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { postgresPrograms, TestPostgres } from '../../__test__/support/postgres.js'
import { withinMinutes } from '../deadline.js'
import { syncTrial } from './trial.js'

const help = `npm run trials -- sync-postgres [options]

Clients change a shop in PostgreSQL by random transactions, rollbacks, truncates and changed keys, while the sync, the
server and PostgreSQL are killed, connections are cut, columns change and the disk of the server is full. After each round every index must equal the
result of its query, and no document may have gone back to an older version.

  --rounds N         rounds                              (default 300)
  --round-ms N       milliseconds of changes per round   (default 5000)
  --engine NAME      native or fallback                  (default fallback)
  --seed S           seed of the changes                 (default 1)
  --minutes N        stop after that time                (default: no limit)`

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '300' },
    'round-ms': { type: 'string', default: '5000' },
    engine: { type: 'string', default: 'fallback' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
if (postgresPrograms.missing !== null) throw new Error(postgresPrograms.missing)
const ends: (() => unknown)[] = []
const directory = await mkdtemp(join(tmpdir(), 'siftd-sync-'))
try {
  const problems = await syncTrial({
    ...{ engine: values.engine, seed: Number(values.seed), rounds: Number(values.rounds), directory },
    roundMs: Number(values['round-ms']),
    shouldContinue: withinMinutes(values.minutes),
    postgres: await TestPostgres.start({ teardown: (end) => void ends.push(end) }),
    report: (line) => console.log(line),
  })
  for (const problem of problems) console.log(problem)
  console.log(`${problems.length} problems`)
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  for (const end of ends) await end()
  await rm(directory, { recursive: true, force: true })
}
