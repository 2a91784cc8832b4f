/** First commands at a terminal: help, version and the next steps after a start. */
import test from 'ava'
import { usualArguments } from '../../ts/cli/program.js'
import { nextSteps } from '../../ts/cli/start-screen.js'

const words: readonly (readonly [given: readonly string[], usual: readonly string[]])[] = [
  [['help'], ['--help']],
  [['-h'], ['--help']],
  [
    ['help', 'tls'],
    ['--help', 'tls'],
  ],
  [
    ['--help', 'all'],
    ['--help', 'all'],
  ],
  [
    ['help', 'import'],
    ['import', '--help'],
  ],
  [
    ['--help', 'import'],
    ['import', '--help'],
  ],
  [
    ['help', 'tasks'],
    ['tasks', '--help'],
  ],
  [
    ['--help', 'tasks'],
    ['--help', 'tasks'],
  ],
  [
    ['--help', 'tasks', 'list'],
    ['tasks', 'list', '--help'],
  ],
  [
    ['-h', 'bucket'],
    ['--help', 'bucket'],
  ],
  [
    ['help', 'documents', 'export'],
    ['documents', 'export', '--help'],
  ],
  [['version'], ['--version']],
  [[], []],
  [
    ['search', 'help'],
    ['search', 'help'],
  ],
]

for (const [given, usual] of words)
  test(`siftd ${given.join(' ')} runs as siftd ${usual.join(' ')}`, (t) => {
    t.deepEqual(usualArguments(given), usual)
  })

test('the next steps are commands for this server', (t) => {
  const local = nextSteps({ url: 'http://localhost:7700', program: 'siftd', needsKey: false })
  t.regex(local, /open http:\/\/localhost:7700 and drop a file/)
  t.regex(local, /siftd import films\.ndjson --index films$/m)
  t.regex(local, /siftd search films lighthouse$/m)
  const other = nextSteps({ url: 'https://127.0.0.1:9', program: 'npm start --', needsKey: true })
  t.regex(
    other,
    /npm start -- import films\.ndjson --index films --url https:\/\/127\.0\.0\.1:9 --key-file FILE$/m,
  )
})
