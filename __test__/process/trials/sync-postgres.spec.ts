/** Three rounds of the trial of the sync; `npm run trials -- sync-postgres` runs three hundred. */
import { syncTrial } from '../../../trials/sync-postgres/trial.js'
import { tempDir } from '../../backup/archives.js'
import { postgresPrograms, TestPostgres } from '../../support/postgres.js'
import { nativeEngine } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'

testNeeding(testEngine === 'native' ? [postgresPrograms, nativeEngine] : [postgresPrograms])(
  'indexes equal their tables after kills of sync, server and database',
  async (t) => {
    t.timeout(300_000)
    const problems = await syncTrial({
      // The seed chooses the first disturbance: the kills of the sync, the server and PostgreSQL.
      ...{ engine: testEngine, seed: 1, rounds: 3, roundMs: 1_500 },
      ...{ directory: await tempDir(t), postgres: await TestPostgres.start(t) },
      report: (line) => t.log(line),
    })
    t.deepEqual(problems, [])
  },
)
