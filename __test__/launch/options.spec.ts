import test from 'ava'
import {
  LaunchError,
  type LaunchOptions,
  launchMistakes,
  parseLaunchOptions,
  withoutEffect,
} from '../../ts/launch/index.js'
import { flagsOf, variableOf } from '../../ts/launch/names.js'
import { rows, subjects } from '../../ts/launch/table.js'

interface Given {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Path and content of the only file. */
  readonly file?: readonly [string, string]
}

const machine = { memoryBytes: 9e9, cores: 8 }

const launch = ({ args = [], env = {}, file }: Given) =>
  parseLaunchOptions({
    args,
    env,
    machine,
    readFile: (path) => (file !== undefined && path === file[0] ? file[1] : null),
  })

function options(given: Given): LaunchOptions {
  const result = launch(given)
  if (result.kind !== 'run') throw new Error(`expected options, got ${result.kind}`)
  return result.options
}

const toml = (content: string): Given => ({ file: ['./config.toml', content] })

/** Claim, sources, expected options. */
const read: readonly (readonly [string, Given, Partial<LaunchOptions>])[] = [
  [
    'defaults apply without sources',
    {},
    {
      dbPath: './data.ms',
      httpAddr: { host: 'localhost', port: 7700 },
      env: 'development',
      engine: 'auto',
      httpPayloadSizeLimit: 100_000_000,
      maxIndexingMemory: 6e9,
      maxIndexingThreads: 7,
      masterKey: null,
      scheduleSnapshot: null,
      experimentalLimitBatchedTasksTotalSize: 3e9,
    },
  ],
  [
    'an argument overrides the environment, which overrides the file',
    {
      args: ['--db-path', 'from-args'],
      env: { SVC_DB_PATH: 'from-env', SVC_ENV: 'production' },
      ...toml('db_path = "from-file"\nenv = "development"\nmaster_key = "from-file"'),
    },
    { dbPath: 'from-args', env: 'production', masterKey: 'from-file' },
  ],
  ['SVC_ beats MEILI_', { env: { MEILI_DB_PATH: 'b', SVC_DB_PATH: 'a' } }, { dbPath: 'a' }],
  ['MEILI_ alone is heard', { env: { MEILI_MASTER_KEY: 'k' } }, { masterKey: 'k' }],
  ['an empty variable is not set', { env: { SVC_DB_PATH: '', MEILI_DB_PATH: 'b' } }, { dbPath: 'b' }],
  ['a value may be attached', { args: ['--http-addr=[::1]:0'] }, { httpAddr: { host: '::1', port: 0 } }],
  ['sizes take units', { args: ['--http-payload-size-limit', '1 GiB'] }, { httpPayloadSizeLimit: 2 ** 30 }],
  ['sizes take fractions', { env: { SVC_MAX_INDEXING_MEMORY: '1.5kb' } }, { maxIndexingMemory: 1500 }],
  ['sizes may be numbers in the file', toml('max_indexing_memory = 5'), { maxIndexingMemory: 5 }],
  ['a switch needs no value', { args: ['--no-analytics'] }, { noAnalytics: true }],
  ['a switch is off for off', { env: { SVC_NO_ANALYTICS: 'Off' } }, { noAnalytics: false }],
  ['a switch is on for anything else', { env: { SVC_NO_ANALYTICS: 'yes' } }, { noAnalytics: true }],
  ['words of any case name a log level', { args: ['--log-level', 'debug'] }, { logLevel: 'DEBUG' }],
  [
    'log modules have separate levels',
    { args: ['--log-level', 'warn,tasks=Debug, siftd::http=off'] },
    { logLevel: 'WARN,tasks=DEBUG, siftd::http=OFF' },
  ],
  ['--log-format is an alias', { args: ['--log-format', 'json'] }, { experimentalLogsMode: 'JSON' }],
  [
    'a schedule alone is daily',
    { args: ['--schedule-snapshot', '--no-analytics'] },
    { scheduleSnapshot: 86_400 },
  ],
  ['a schedule takes seconds', { args: ['--schedule-snapshot', '60'] }, { scheduleSnapshot: 60 }],
  ['a schedule is boolean in the file', toml('schedule_snapshot = true'), { scheduleSnapshot: 86_400 }],
  ['threads are capped by the cores', { args: ['--max-indexing-threads', '99'] }, { maxIndexingThreads: 8 }],
  [
    'unlimited threads are the default',
    { env: { SVC_MAX_INDEXING_THREADS: 'unlimited' } },
    { maxIndexingThreads: 7 },
  ],
  [
    'the former name of an option is accepted',
    { args: ['--experimental-dumpless-upgrade'] },
    { upgradeDb: true },
  ],
  [
    'digits are separate words in names',
    { args: ['--experimental-no-edition-2024-for-settings'] },
    { experimentalNoEdition2024ForSettings: true },
  ],
  [
    'the variable of the legacy search has its own name',
    { env: { SVC_EXPERIMENTAL_LEGACY_SEARCH: '1' } },
    { experimentalLegacySearchDefault: true },
  ],
  [
    'networks are a list',
    { args: ['--experimental-allowed-ip-networks', '10.0.0.0/8, ::1/128'] },
    { experimentalAllowedIpNetworks: ['10.0.0.0/8', '::1/128'] },
  ],
  [
    'the size of a batch is derived from the given memory',
    { args: ['--max-indexing-memory', '1GiB'] },
    { maxIndexingMemory: 2 ** 30, experimentalLimitBatchedTasksTotalSize: 2 ** 29 },
  ],
  [
    'the number of tasks of a batch is capped by the size of a commit',
    { args: ['--experimental-max-number-of-batched-tasks', '99999'] },
    { experimentalMaxNumberOfBatchedTasks: 10_000 },
  ],
  [
    'a time is capped by the longest timer',
    { args: ['--experimental-drop-search-after', '99999999999'] },
    { experimentalDropSearchAfter: 2_147_483 },
  ],
  [
    'a secret is read from its file, without the end of the line',
    { args: ['--master-key-file', '/run/key'], file: ['/run/key', 'sixteen bytes and more\n'] },
    { masterKey: 'sixteen bytes and more' },
  ],
  [
    'a variable gives the file of a secret',
    { env: { MEILI_MASTER_KEY_FILE: '/run/key' }, file: ['/run/key', 'k\r\n'] },
    { masterKey: 'k' },
  ],
  [
    'a variable without a flag has a file too',
    { env: { SVC_OPENAI_API_KEY_FILE: '/run/key' }, file: ['/run/key', 'k'] },
    { openaiApiKey: 'k' },
  ],
  [
    'a credential of systemd is a secret',
    { env: { CREDENTIALS_DIRECTORY: '/run/credentials' }, file: ['/run/credentials/master-key', 'k\n'] },
    { masterKey: 'k' },
  ],
  [
    'a variable overrides a credential',
    {
      env: { CREDENTIALS_DIRECTORY: '/run/credentials', MEILI_MASTER_KEY: 'v' },
      file: ['/run/credentials/master-key', 'k'],
    },
    { masterKey: 'v' },
  ],
  [
    'the key of OpenAI is read from its usual variable',
    { env: { OPENAI_API_KEY: 'k' } },
    { openaiApiKey: 'k' },
  ],
  [
    'failure modes are a list',
    { env: { SVC_EXPERIMENTAL_CONFIG_EMBEDDER_FAILURE_MODES: 'ignore_embedder_failures, ' } },
    { experimentalConfigEmbedderFailureModes: ['ignore_embedder_failures'] },
  ],
  [
    'a given file is read',
    { args: ['--config-file-path', 'x.toml'], file: ['x.toml', 'dump_dir = "d"'] },
    { dumpDir: 'd' },
  ],
]

for (const [claim, given, expected] of read) {
  test(claim, (t) => {
    t.like(options(given), expected)
  })
}

/** Sources, exit code, pattern of the error line. */
const refused: readonly (readonly [Given, 1 | 2, RegExp])[] = [
  [{ args: ['--db-pat', 'x'] }, 2, /unknown option `--db-pat`, did you mean `--db-path`\?/],
  [{ args: ['stray'] }, 2, /unknown option `stray`/],
  [{ args: ['--masterkey=hunter2'] }, 2, /^unknown option `--masterkey`, did you mean `--master-key`\?/],
  [{ args: ['--http-addr', 'nowhere'] }, 2, /--http-addr: invalid value `nowhere`, expected `host:port`/],
  [{ args: ['--http-addr', 'a:70000'] }, 2, /70000/],
  [{ args: ['--env', 'Production'] }, 2, /`development`, `production`/],
  [{ args: ['--no-analytics=true'] }, 2, /takes no value/],
  [{ args: ['--db-path'] }, 2, /--db-path needs a value/],
  [{ args: ['--master-key', '--no-analytics'] }, 2, /--master-key needs a value/],
  [{ args: ['--experimental-drop-search-after', '0'] }, 2, /at least 1/],
  [{ args: ['--task-webhook-url', 'nope'] }, 2, /absolute http or https URL/],
  [{ args: ['--task-webhook-url', 'file:///etc/passwd'] }, 2, /absolute http or https URL/],
  [{ args: ['--task-webhook-url', 'gopher://127.0.0.1:6379'] }, 2, /absolute http or https URL/],
  [{ args: ['--experimental-allowed-ip-networks', '10.0.0.0/40'] }, 2, /10\.0\.0\.0\/40/],
  [{ args: ['--ignore-missing-dump'] }, 2, /needs --import-dump/],
  [{ args: ['--import-dump', 'a', '--import-snapshot', 'b'] }, 2, /exclude each other/],
  [{ args: ['--bucket', 's3://one/two', '--follow', '--bucket-take-over'] }, 2, /exclude each other/],
  [{ env: { SVC_MAX_INDEXING_MEMORY: '3 apples' } }, 2, /SVC_MAX_INDEXING_MEMORY: invalid value `3 apples`/],
  [{ args: ['--config-file-path', 'gone.toml'] }, 1, /`gone\.toml` does not exist/],
  [toml('db_path = 3'), 1, /`db_path`: invalid value `3`/],
  [toml('db_paht = "x"'), 1, /unknown key `db_paht`: did you mean `db_path`\?/],
  [toml('config_file_path = "x"'), 1, /unknown key `config_file_path`/],
  [toml('no_analytics = "yes"'), 1, /no_analytics/],
  [toml('= ='), 1, /not valid TOML: line 1, column 1: /],
  [toml('db_path = "x"\nenv ='), 1, /not valid TOML: line 2, column 6: invalid value$/],
  [toml('server_provider = "x"'), 1, /unknown key `server_provider`/],
  [{ args: ['--server-provider', 'x'] }, 2, /unknown option `--server-provider`/],
  [{ env: { MEILI_EXPERIMENTAL_REST_EMBEDDER_TIMEOUT_SECONDS: '0' } }, 2, /MEILI_.*TIMEOUT_SECONDS: invalid/],
  [{ env: { SVC_EXPERIMENTAL_CONFIG_EMBEDDER_FAILURE_MODES: 'ignore_all' } }, 2, /ignore_embedder_failures/],
  [{ args: ['--master-key-file', '/gone'] }, 2, /--master-key-file: `\/gone` does not exist/],
  [{ args: ['--master-key-file'] }, 2, /--master-key-file needs a value: the path of a file/],
  [{ args: ['--db-path-file', 'x'] }, 2, /unknown option `--db-path-file`/],
  [
    { args: ['--master-key-file', '/run/key'], file: ['/run/key', '\n'] },
    2,
    /must hold one line, the secret/,
  ],
  [
    { args: ['--master-key-file', '/run/key'], file: ['/run/key', 'a\nb'] },
    2,
    /must hold one line, the secret/,
  ],
  [
    { args: ['--master-key', 'a', '--master-key-file', '/run/key'], file: ['/run/key', 'k'] },
    2,
    /--master-key and --master-key-file exclude each other/,
  ],
  [
    { args: ['--master-key-file=/run/key', '--master-key=a'], file: ['/run/key', 'k'] },
    2,
    /--master-key-file and --master-key exclude each other/,
  ],
]

for (const [given, exitCode, message] of refused) {
  test(`${JSON.stringify(given)} ends the start with ${message}`, (t) => {
    const error = t.throws(() => launch(given), { instanceOf: LaunchError, message })
    t.is(error.exitCode, exitCode)
    t.false(error.message.includes('\n'))
  })
}

const textOf = (args: readonly string[], more: Given = {}): string => {
  const result = launch({ ...more, args })
  if (!('text' in result)) throw new Error(`expected a text, got ${result.kind}`)
  return result.text
}

test('help shows name, variable, default and an accepted example of every option', (t) => {
  const lines = textOf(['--help', 'all'])
    .split('\n')
    .map((line) => line.trim())
  for (const [name, row] of rows) {
    const [flag] = flagsOf(name, row)
    t.true(
      lines.some((line) => flag === undefined || line.split(' ', 1)[0] === `--${flag}`),
      name,
    )
    t.true(
      lines.some((line) => line.split('=', 1)[0] === variableOf(name, row)),
      name,
    )
    if (row.placeholder === null) continue
    const [start, example] = flag === undefined ? [variableOf(name, row), '='] : [`--${flag}`, ' ']
    t.true(
      lines.some((line) => line.startsWith(`example: ${start}${example}`)),
      name,
    )
    t.not(row.fromText(row.example), undefined, name)
  }
  t.true(lines.includes('Examples:'))
})

/** Lines of a terminal window. */
const SCREEN_LINES = 50
const SCREEN_COLUMNS = 100

const screenLines = (text: string): number =>
  text
    .trimEnd()
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / SCREEN_COLUMNS)), 0)

test('help fits a screen, names every group, and the help of a group has its options and fits too', (t) => {
  const overview = textOf(['--help'])
  t.true(screenLines(overview) <= SCREEN_LINES, `${screenLines(overview)} lines`)
  for (const [title, group] of subjects) {
    const name = title.split(' ')[0]!.toLowerCase()
    t.regex(overview, new RegExp(`^ {2}${name} .*${title}`, 'm'))
    const text = textOf(['--help', name])
    t.true(screenLines(text) <= SCREEN_LINES, `${name}: ${screenLines(text)} lines`)
    const heads = Object.entries(group).map(
      ([option, row]) => flagsOf(option, row)[0] ?? variableOf(option, row),
    )
    t.deepEqual(
      heads.filter((head) => !text.includes(head)),
      [],
      name,
    )
  }
})

test('help on one option shows its variable, default and example; an unknown topic is refused', (t) => {
  for (const word of ['db-path', '--db-path', 'db_path']) {
    const text = textOf(['--help', word])
    t.regex(text, /^ {2}--db-path <.*>\n/)
    t.true(text.includes('SVC_DB_PATH') && text.includes('example: --db-path'), text)
  }
  t.throws(() => textOf(['--help', 'db-pth']), { instanceOf: LaunchError, message: /did you mean `db-path`/ })
})

test('-v, -V and --version ask for the version', (t) => {
  for (const word of ['-v', '-V', '--version']) t.is(launch({ args: [word] }).kind, 'version')
})

test('the configuration is printed as a file that starts the same server', (t) => {
  const given = {
    env: { SVC_ENV: 'production', MEILI_MASTER_KEY: 'a secret of the instance' },
    ...toml('dump_dir = "d\\u0007\\"\\\\"\nschedule_snapshot = true'),
  }
  const args = ['--http-addr', '[::1]:0', '--experimental-allowed-ip-networks', '10.0.0.0/8,::1/128']
  const text = textOf([...args, '--print-config'], given)
  t.regex(text, /^http_addr = "\[::1\]:0" # from --http-addr$/m)
  t.regex(text, /^env = "production" # from SVC_ENV$/m)
  t.regex(text, /^db_path = ".\/data.ms" # default$/m)
  t.deepEqual(options(toml(text)), { ...options({ ...given, args }), masterKey: null })
})

test('a printed configuration holds no secret', (t) => {
  const env = {
    SVC_MASTER_KEY: 'HIDDEN-1',
    OPENAI_API_KEY: 'HIDDEN-2',
    SVC_TASK_WEBHOOK_URL: 'https://user:HIDDEN-3@example.com/',
    SVC_TASK_WEBHOOK_AUTHORIZATION_HEADER: 'HIDDEN-4',
    SVC_EXPERIMENTAL_PERSONALIZATION_API_KEY: 'HIDDEN-5',
    SVC_OLLAMA_URL: 'http://ollama/?key=HIDDEN-6',
  }
  t.notRegex(textOf(['--print-config'], { env }), /HIDDEN/)
  t.regex(textOf(['--print-config'], { env }), /^# master_key is set and not shown \(from SVC_MASTER_KEY\)$/m)
})

test('a malformed secret is not quoted', (t) => {
  const error = t.throws(() => launch(toml('master_key = 12345')))
  t.notRegex(error.message, /12345/)
})

test('a misspelt variable is reported, a variable of another program is not', (t) => {
  const result = launch({ env: { SVC_DB_PAHT: 'x', MEILI_PORT: '80', MASTER_KEY: 'k' } })
  if (result.kind !== 'run') return t.fail()
  t.deepEqual(result.remarks, ['the variable SVC_DB_PAHT sets no option; did you mean SVC_DB_PATH?'])
})

for (const [name, sources] of [
  ['--experimental-dumpless-upgrade', { args: ['--experimental-dumpless-upgrade'] }],
  ['SVC_EXPERIMENTAL_DUMPLESS_UPGRADE', { env: { SVC_EXPERIMENTAL_DUMPLESS_UPGRADE: 'true' } }],
  ['`experimental_dumpless_upgrade`', toml('experimental_dumpless_upgrade = true')],
] as const)
  test(`the former name of an option is reported once: ${name}`, (t) => {
    const result = launch(sources)
    if (result.kind !== 'run') return t.fail()
    t.is(result.remarks.length, 1)
    t.true(result.remarks[0]?.endsWith(`${name} is a former name: use --upgrade-db`))
    t.true(result.options.upgradeDb)
  })

test('a validation reports every mistake', (t) => {
  const { mistakes } = launchMistakes({
    args: [],
    env: { SVC_HTTP_ADDR: 'nowhere' },
    machine,
    readFile: () => 'db_paht = "x"\nlog_level = 3\nignore_missing_dump = true',
  })
  t.deepEqual(
    mistakes.map(({ message }) => /nowhere|db_paht|log_level|--ignore-missing-dump/.exec(message)?.[0]),
    ['nowhere', 'db_paht', 'log_level', '--ignore-missing-dump'],
  )
})

test('given options without effect are reported', (t) => {
  const result = launch({
    args: ['--max-indexing-threads', '1', '--experimental-no-edition-2024-for-settings'],
  })
  if (result.kind !== 'run') return t.fail()
  t.is(withoutEffect(result.given, 'native').length, 1)
  t.is(withoutEffect(result.given, 'fallback').length, 2)
})

test('--version shows the version', (t) => {
  t.is(launch({ args: ['--version'] }).kind, 'version')
})
