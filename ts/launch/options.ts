import { parse as parseToml } from 'smol-toml'
import { choices } from '../parse/index.js'
import { LaunchError } from './launch-error.js'
import {
  address,
  bytes,
  choice,
  count,
  type LaunchOption,
  type Machine,
  networks,
  schedule,
  text,
  threads,
  toggle,
  url,
} from './values.js'

const MIB = 2 ** 20
const GIB = 2 ** 30
/** Bytes that an engine may cache at least, however little memory the machine has. */
export const CACHE_BYTES_MIN = 32 * MIB
const CACHE_BYTES_MAX = 256 * MIB
/** The share of the memory that an engine may use for its caches. */
const CACHE_SHARE = 1 / 20
const cacheBytes = ({ memoryBytes }: Machine): number =>
  Math.min(Math.max(Math.floor(memoryBytes * CACHE_SHARE), CACHE_BYTES_MIN), CACHE_BYTES_MAX)
const indexingMemory = ({ memoryBytes }: Machine): number => Math.floor((memoryBytes * 2) / 3)
const halfTheCores = ({ cores }: Machine): number => Math.max(1, Math.floor(cores / 2))

/** Every launch option. Its key in kebab-case is its flag, and in snake_case its key in the configuration file. */
const table = {
  dbPath: text('path', './data.ms', 'Directory of the data, created when absent'),
  httpAddr: address({ host: 'localhost', port: 7700 }, 'Address to listen on'),
  masterKey: text('key', null, 'Protects the instance; at least 16 bytes, mandatory in production'),
  env: choice(['development', 'production'], 'development', 'Kind of instance'),
  engine: choice(['auto', 'native', 'fallback'], 'auto', 'Search engine; auto takes native where it loads'),
  configFilePath: text('path', null, 'Configuration file (default: ./config.toml if there is one)'),
  noAnalytics: toggle('Never sends telemetry (nothing is sent by this version anyway)'),
  httpPayloadSizeLimit: bytes(() => 100_000_000, 'Largest request body'),
  logLevel: choice(['OFF', 'ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'], 'INFO', 'Least severe line to log', {
    anyCase: true,
  }),
  experimentalLogsMode: choice(['HUMAN', 'JSON'], 'HUMAN', 'Shape of log lines; --log-format is the same', {
    anyCase: true,
    aliases: ['log-format'],
  }),
  maxIndexingMemory: bytes(indexingMemory, 'Memory indexing may use (default: two thirds of what there is)'),
  maxIndexingThreads: threads(halfTheCores, 'Threads indexing may use (default: half the cores)'),
  cacheSize: bytes(
    cacheBytes,
    'Memory for what searches have worked out, of all indexes together; 0 keeps nothing (default: a twentieth of what there is, at least 32 MiB, at most 256 MiB)',
  ),
  answerCacheSize: bytes(
    () => 16 * MIB,
    'Memory for cached answers, each until its index changes; 0 caches none',
  ),
  taskWebhookUrl: url('Told about every finished task'),
  taskWebhookAuthorizationHeader: text('header', null, 'Authorization header sent to that webhook'),
  sslCertPath: text('path', null, 'PEM certificate chain; TLS is on when the key is given too'),
  sslKeyPath: text('path', null, 'PEM private key; TLS is on when the certificate is given too'),
  sslAuthPath: text('path', null, 'PEM authorities whose client certificates are accepted'),
  sslOcspPath: text('path', null, 'DER OCSP response to staple'),
  sslRequireAuth: toggle('Refuses clients without a certificate'),
  sslResumption: toggle('Resumes TLS sessions'),
  sslTickets: toggle('Resumes TLS sessions by tickets'),
  dumpDir: text('path', 'dumps/', 'Directory of dumps'),
  importDump: text('path', null, 'Dump to start from', { excludes: 'importSnapshot' }),
  ignoreMissingDump: toggle('Starts although the dump does not exist', { requires: 'importDump' }),
  ignoreDumpIfDbExists: toggle('Starts with the data there is, if any', { requires: 'importDump' }),
  snapshotDir: text('path', 'snapshots/', 'Directory of snapshots'),
  snapshotsKept: count(1, 1, 'Snapshots kept; older ones have their date in their name'),
  scheduleSnapshot: schedule('Takes snapshots; every day, or every so many seconds'),
  importSnapshot: text('path', null, 'Snapshot to start from', { excludes: 'importDump' }),
  ignoreMissingSnapshot: toggle('Starts although the snapshot does not exist', {
    requires: 'importSnapshot',
  }),
  ignoreSnapshotIfDbExists: toggle('Starts with the data there is, if any', {
    requires: 'importSnapshot',
  }),
  upgradeDb: toggle('Upgrades the data directory of an older version', {
    aliases: ['experimental-dumpless-upgrade'],
  }),
  rebuildTaskStore: toggle('Makes a new task store from the indexes if the old one is damaged or incomplete'),
  experimentalAllowedIpNetworks: networks('Networks outgoing calls may reach beside public ones'),
  experimentalEnableMetrics: toggle('Switches feature metrics on'),
  experimentalEnableLogsRoute: toggle('Switches feature logsRoute on'),
  experimentalContainsFilter: toggle('Switches feature containsFilter on'),
  experimentalLegacySearchDefault: toggle('Switches feature legacySearch on', {
    envName: 'EXPERIMENTAL_LEGACY_SEARCH',
  }),
  experimentalReduceIndexingMemoryUsage: toggle('Trades indexing speed for memory'),
  experimentalNoEdition2024ForSettings: toggle('Accepted without effect'),
  experimentalReplicationParameters: toggle('Accepted without effect'),
  experimentalSearchQueueSize: count(0, 1000, 'Searches that may wait for their turn'),
  experimentalDropSearchAfter: count(1, 60, 'Seconds a search may wait for its turn'),
  experimentalNbSearchesPerCore: count(1, 4, 'Searches running at the same time, per core'),
  experimentalMaxNumberOfBatchedTasks: count(0, null, 'Tasks of one batch (default: unlimited)'),
  experimentalLimitBatchedTasksTotalSize: bytes(
    (machine) => Math.min(Math.floor(indexingMemory(machine) / 2), 10 * GIB),
    'Bytes of one batch (default: half the indexing memory, at most 10 GiB)',
  ),
  experimentalEmbeddingCacheEntries: count(0, 0, 'Query embeddings cached'),
  experimentalPersonalizationApiKey: text('key', null, 'Accepted without effect'),
} as const

type Table = typeof table
type OptionName = keyof Table

/** All launch options with their values. */
export type LaunchOptions = {
  readonly [K in OptionName]: Table[K] extends LaunchOption<infer T> ? T : never
}

export type Launch =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version' }
  | {
      readonly kind: 'run'
      readonly options: LaunchOptions
      /** The path of the configuration file that was read; null if none was. */
      readonly configFile: string | null
    }

/** The sources of launch options. */
export interface LaunchSources {
  /** The arguments after the program's name. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** The text of a file; null if it does not exist. */
  readonly readFile: (path: string) => string | null
  readonly machine: Machine
  /** What the program does beside serving, for the help. Default: nothing. */
  readonly commands?: readonly { readonly name: string; readonly summary: string }[]
}

const specs: readonly (readonly [OptionName, LaunchOption<unknown>])[] = Object.entries(
  table,
) as unknown as (readonly [OptionName, LaunchOption<unknown>])[]
const kebab = (name: string): string =>
  name.replace(/[A-Z]|(?<=[a-z])\d+/g, (part) => `-${part.toLowerCase()}`)
const snake = (name: string): string => kebab(name).replaceAll('-', '_')
const upper = (name: string): string => snake(name).toUpperCase()
const namesOf = (name: OptionName, { aliases = [] }: LaunchOption<unknown>): readonly string[] => [
  kebab(name),
  ...aliases,
]

type Given = Map<OptionName, unknown>

/**
 * Reads all options. Arguments win over the environment (`SVC_` over `MEILI_`), the environment over the configuration
 * file, and the file over defaults.
 * @throws LaunchError that names the option, the value and the accepted values
 */
export function parseLaunchOptions(sources: LaunchSources): Launch {
  const { args, commands = [] } = sources
  if (args.some((arg) => arg === '--help' || arg === '-h')) return { kind: 'help', text: helpText(commands) }
  if (args.some((arg) => arg === '--version' || arg === '-V')) return { kind: 'version' }
  const given: Given = new Map([...fromEnvironment(sources.env), ...fromArguments(args)])
  const path = (given.get('configFilePath') as string | undefined) ?? null
  const file = sources.readFile(path ?? './config.toml')
  if (file === null && path !== null)
    throw new LaunchError(`configuration file \`${path}\` does not exist`, 1)
  const configFile = file === null ? null : (path ?? './config.toml')
  const all: Given = file === null ? given : new Map([...fromFile(file, path ?? './config.toml'), ...given])
  checkTogether(all)
  const options = Object.fromEntries(
    specs.map(([name, spec]) => [name, all.get(name) ?? spec.fallback(sources.machine)]),
  ) as LaunchOptions
  const { cores } = sources.machine
  const indexingThreads = Math.min(options.maxIndexingThreads ?? cores, cores)
  return { kind: 'run', options: { ...options, maxIndexingThreads: indexingThreads }, configFile }
}

function fromArguments(args: readonly string[]): Given {
  const given: Given = new Map()
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, flag, attached] = /^--([a-z0-9-]+)(?:=(.*))?$/s.exec(arg) ?? []
    const found = specs.find(([name, spec]) => flag !== undefined && namesOf(name, spec).includes(flag))
    if (found === undefined) throw unknownArgument(arg)
    const [name, spec] = found
    given.set(name, readArgument(`--${flag}`, spec, attached, rest))
  }
  return given
}

function readArgument(
  flag: string,
  spec: LaunchOption<unknown>,
  attached: string | undefined,
  rest: string[],
): unknown {
  if (spec.placeholder === null) {
    if (attached === undefined) return true
    throw new LaunchError(`${flag} takes no value, found \`${attached}\``, 2)
  }
  const next = rest[0]?.startsWith('--') ? undefined : rest[0]
  if (attached === undefined && next !== undefined) rest.shift()
  const value = attached ?? next
  if (value !== undefined) return accepted(flag, spec, value, spec.fromText(value), 2)
  if (spec.bare !== undefined) return spec.bare
  throw new LaunchError(`${flag} needs a value: ${spec.accepts}`, 2)
}

function unknownArgument(arg: string): LaunchError {
  const flags = specs.flatMap(([name, spec]) => namesOf(name, spec))
  const flag = arg.replace(/^-+/, '').split('=', 1)[0] ?? ''
  const [hint] = /did you mean `([^`]+)`/.exec(choices(flag, flags)) ?? []
  const suffix = hint === undefined ? '' : `, ${hint}?`.replace('`', '`--')
  return new LaunchError(`unknown option \`${arg}\`${suffix} (see --help)`, 2)
}

function fromEnvironment(env: LaunchSources['env']): Given {
  const given: Given = new Map()
  for (const [name, spec] of specs) {
    const words = [spec.envName ?? upper(name), ...(spec.aliases ?? []).map(upper)]
    const variable = ['SVC_', 'MEILI_']
      .flatMap((prefix) => words.map((word) => prefix + word))
      .find((candidate) => isGiven(env[candidate], spec))
    if (variable === undefined) continue
    const value = env[variable] ?? ''
    given.set(name, accepted(variable, spec, value, spec.fromText(value), 2))
  }
  return given
}

/**
 * Whether a variable sets an option. Compose files write an empty variable for "not set"; only a switch reads it as
 * off.
 */
const isGiven = (value: string | undefined, spec: LaunchOption<unknown>): boolean =>
  value !== undefined && (value !== '' || spec.placeholder === null)

function fromFile(content: string, path: string): Given {
  const given: Given = new Map()
  for (const [key, value] of Object.entries(readToml(content, path))) {
    const found = specs.find(([name, spec]) =>
      namesOf(name, spec).some((word) => word.replaceAll('-', '_') === key),
    )
    if (found === undefined || found[0] === 'configFilePath') {
      const keys = specs.map(([name]) => snake(name)).filter((word) => word !== 'config_file_path')
      throw new LaunchError(`${path}: unknown key \`${key}\`: ${choices(key, keys)}`, 1)
    }
    const [name, spec] = found
    given.set(name, accepted(`${path}: \`${key}\``, spec, value, spec.fromToml(value), 1))
  }
  return given
}

function readToml(content: string, path: string): Readonly<Record<string, unknown>> {
  try {
    return parseToml(content)
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new LaunchError(`${path} is not valid TOML: ${reason}`, 1)
  }
}

/** The value, if it is not malformed. @throws LaunchError that quotes the text; a secret is never malformed */
function accepted(
  where: string,
  spec: LaunchOption<unknown>,
  found: unknown,
  read: unknown,
  exitCode: 1 | 2,
): unknown {
  if (read !== undefined) return read
  throw new LaunchError(`${where}: invalid value \`${String(found)}\`, expected ${spec.accepts}`, exitCode)
}

function checkTogether(given: Given): void {
  for (const [name, { requires, excludes }] of specs) {
    const value = given.get(name)
    if (value === undefined || value === false) continue
    if (requires !== undefined && !given.has(requires as OptionName)) {
      throw new LaunchError(`--${kebab(name)} needs --${kebab(requires)} as well`, 2)
    }
    if (excludes !== undefined && given.has(excludes as OptionName)) {
      throw new LaunchError(`--${kebab(name)} and --${kebab(excludes)} exclude each other`, 2)
    }
  }
}

const examples = `Examples:
  siftd                                             serve ./data.ms on localhost:7700
  siftd --db-path /var/lib/siftd --http-addr 0.0.0.0:7700
  SVC_MASTER_KEY=… siftd --env production           every route needs a key
  siftd --engine fallback                           without native code`

function helpText(commands: NonNullable<LaunchSources['commands']>): string {
  const lines = specs.map(([name, { placeholder, help, bare }]) => {
    const value = placeholder === null ? '' : bare === undefined ? ` <${placeholder}>` : ` [<${placeholder}>]`
    return `  --${kebab(name)}${value}\n      ${help}${shownDefault(name)}`
  })
  return `siftd: a search engine that speaks the Meilisearch HTTP API

Usage: siftd [options]
${commands.map(({ name }) => `       siftd ${name} …\n`).join('')}
${examples}
${commandsText(commands)}
Options (each also as SVC_… or MEILI_… in the environment, in snake_case in the configuration file):
${lines.join('\n')}
  --version
      Prints the version
  --help
      Prints this text
`
}

function commandsText(commands: NonNullable<LaunchSources['commands']>): string {
  if (commands.length === 0) return ''
  const lines = commands.map(({ name, summary }) => `  siftd ${name} --help\n      ${summary}\n`)
  return `\nCommands:\n${lines.join('')}`
}

function shownDefault(name: OptionName): string {
  const { fallback, help, placeholder } = table[name] as LaunchOption<unknown>
  if (placeholder === null || help.includes('(default')) return ''
  const value = fallback({ memoryBytes: 0, cores: 1 })
  if (value === null || (Array.isArray(value) && value.length === 0)) return ''
  const shown = typeof value === 'object' ? Object.values(value).join(':') : String(value)
  return ` (default: ${shown})`
}
