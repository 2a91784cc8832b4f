/** Three rounds of the takeover trial; `npm run trials -- takeover` runs two hundred. */

import { takeovers } from '../../../trials/takeover/trial.js'
import { tempDir } from '../../backup/archives.js'
import { testEngine } from '../../support/server.js'
import { startStore, storeServer } from '../../support/store-servers.js'
import { testNeeding } from '../../support/test-needing.js'

testNeeding([storeServer('gofakes3')])(
  'servers that take over from each other lose no acknowledged document',
  async (t) => {
    t.timeout(300_000)
    const problems = await takeovers({
      ...{ engine: testEngine, seed: 7, rounds: 3 },
      ...{ store: await startStore(t, 'gofakes3'), directory: await tempDir(t) },
      report: (line) => t.log(line),
    })
    t.deepEqual(problems, [])
  },
)
