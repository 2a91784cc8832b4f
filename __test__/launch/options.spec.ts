import test from 'ava'
import { LaunchError, type LaunchOptions, parseLaunchOptions } from '../../ts/launch/index.js'

interface Given {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Path → content of the only file there is. */
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

/** Claim, sources, the options that must come out. */
const read: readonly (readonly [string, Given, Partial<LaunchOptions>])[] = [
  [
    'defaults hold when nothing is said',
    {},
    {
      dbPath: './data.ms',
      httpAddr: { host: 'localhost', port: 7700 },
      env: 'development',
      engine: 'auto',
      httpPayloadSizeLimit: 100_000_000,
      maxIndexingMemory: 6e9,
      maxIndexingThreads: 4,
      masterKey: null,
      scheduleSnapshot: null,
      experimentalLimitBatchedTasksTotalSize: 3e9,
    },
  ],
  [
    'an argument beats the environment, which beats the file',
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
    { maxIndexingThreads: 4 },
  ],
  [
    'the former name of an option is heard',
    { args: ['--experimental-dumpless-upgrade'] },
    { upgradeDb: true },
  ],
  [
    'digits are a word of their own in names',
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
    'a named file is read',
    { args: ['--config-file-path', 'x.toml'], file: ['x.toml', 'dump_dir = "d"'] },
    { dumpDir: 'd' },
  ],
]

for (const [claim, given, expected] of read) {
  test(claim, (t) => {
    t.like(options(given), expected)
  })
}

/** Sources, exit code, what the one line must say. */
const refused: readonly (readonly [Given, 1 | 2, RegExp])[] = [
  [{ args: ['--db-pat', 'x'] }, 2, /unknown option `--db-pat`, did you mean `--db-path`\?/],
  [{ args: ['stray'] }, 2, /unknown option `stray`/],
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
  [{ env: { SVC_MAX_INDEXING_MEMORY: '3 apples' } }, 2, /SVC_MAX_INDEXING_MEMORY: invalid value `3 apples`/],
  [{ args: ['--config-file-path', 'gone.toml'] }, 1, /`gone\.toml` does not exist/],
  [toml('db_path = 3'), 1, /`db_path`: invalid value `3`/],
  [toml('db_paht = "x"'), 1, /unknown key `db_paht`: did you mean `db_path`\?/],
  [toml('config_file_path = "x"'), 1, /unknown key `config_file_path`/],
  [toml('no_analytics = "yes"'), 1, /no_analytics/],
  [toml('= ='), 1, /not valid TOML/],
]

for (const [given, exitCode, message] of refused) {
  test(`${JSON.stringify(given)} ends the start with ${message}`, (t) => {
    const error = t.throws(() => launch(given), { instanceOf: LaunchError, message })
    t.is(error.exitCode, exitCode)
    t.false(error.message.includes('\n'))
  })
}

test('help names every option and shows how to start', (t) => {
  const result = launch({ args: ['--help'] })
  if (result.kind !== 'help') return t.fail()
  for (const flag of ['--db-path', '--engine', '--schedule-snapshot [<seconds>]', 'Examples:']) {
    t.true(result.text.includes(flag), flag)
  }
})

test('--version shows the version', (t) => {
  t.is(launch({ args: ['--version'] }).kind, 'version')
})
