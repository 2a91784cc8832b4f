/** What `npm run takeover` tries two hundred times, a few times. */
import { tempDir } from '../backup/archives.js'
import { startStore, storeServer } from '../bucket/store-servers.js'
import { testEngine } from '../support/server.js'
import { testNeeding } from '../support/test-needing.js'
import { takeovers } from './trial.js'

testNeeding([storeServer('gofakes3')])(
  'servers that take over from each other lose nothing that was acknowledged',
  async (t) => {
    t.timeout(300_000)
    const problems = await takeovers({
      ...{ engine: testEngine === 'auto' ? 'native' : testEngine, seed: 7, rounds: 4 },
      ...{ store: await startStore(t, 'gofakes3'), directory: await tempDir(t) },
      report: (line) => t.log(line),
    })
    t.deepEqual(problems, [])
  },
)
