/** First commands at a terminal: help, version and the next steps after a start. */
import test from 'ava'
import { silentOutput } from '../../ts/cli/command/index.js'
import { commands, usualArguments } from '../../ts/cli/program.js'
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

test('the help of every command and subcommand has examples and lists no other way to the help', async (t) => {
  for (const { name, load } of commands) {
    const command = await load()
    const paths: string[][] = [[]]
    for (const path of paths) {
      let described = command.describe()
      for (const word of path) described = described.commands.find((one) => one.name() === word)!
      paths.push(...described.commands.map((one) => [...path, one.name()]))
      const lines: string[] = []
      await command.run([...path, '--help'], { ...silentOutput, line: (line) => void lines.push(line) })
      const text = lines.join('\n')
      t.regex(text, /^Examples:\n {2}\S/m, [name, ...path].join(' '))
      t.notRegex(text, /help \[command\]/, [name, ...path].join(' '))
    }
  }
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
