import { type CommandLine, helpText } from './help.js'
import { LaunchError } from './launch-error.js'
import { kebab, variableOf, variablesOf } from './names.js'
import type { Machine } from './option.js'
import { printed } from './print.js'
import {
  fromArguments,
  fromCredentials,
  fromEnvironment,
  fromFile,
  type Given,
  misspelt,
  type Reading,
  renamed,
} from './read.js'
import { type LaunchOptions, type OptionName, rowOf, rows } from './table.js'

/** The options of a start, with their sources. */
export interface Run {
  readonly kind: 'run'
  readonly options: LaunchOptions
  /** The path of the configuration file that was read; null without a file. */
  readonly configFile: string | null
  /** The explicitly given options. All others have their defaults. */
  readonly given: Given
  /** Oddities in the sources that do not prevent a start, a sentence each. */
  readonly remarks: readonly string[]
}

type Launch = { readonly kind: 'help' | 'print'; readonly text: string } | { readonly kind: 'version' } | Run

/** The sources of launch options. */
interface LaunchSources {
  /** The arguments after the program's name. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** The text of a file; null if it does not exist. Throws errors of the system. */
  readonly readFile: (path: string) => string | null
  readonly machine: Machine
  /** Commands other than serving, for the help. Default: none. */
  readonly commands?: readonly CommandLine[]
}

/** The configuration file that is read if none is given. It may be absent. */
const DEFAULT_FILE = './config.toml'
const PRINT = '--print-config'

/**
 * Reads all options. Precedence: arguments, environment (`SVC_` before `MEILI_`), configuration file, systemd
 * credentials, defaults.
 * @throws LaunchError with the option, the value and the accepted values
 */
export function parseLaunchOptions(sources: LaunchSources): Launch {
  const { args, commands = [] } = sources
  const help = args.findIndex((arg) => arg === '--help' || arg === '-h')
  if (help >= 0) return { kind: 'help', text: helpText(commands, args[help + 1] ?? null) }
  if (args.some((arg) => ['--version', '-v', '-V'].includes(arg))) return { kind: 'version' }
  const refuse = (mistake: LaunchError): never => {
    throw mistake
  }
  const run = runOf({ ...sources, args: args.filter((arg) => arg !== PRINT) }, refuse)
  return args.includes(PRINT) ? { kind: 'print', text: printed(run.options, run.given) } : run
}

/** Collects every mistake of the sources, not just the first; and the options, as far as they are readable. */
export function launchMistakes(sources: LaunchSources): {
  readonly mistakes: readonly LaunchError[]
  readonly run: Run
} {
  const mistakes: LaunchError[] = []
  const run = runOf(sources, (mistake) => void mistakes.push(mistake))
  return { mistakes, run }
}

/**
 * Returns the option `name` from the environment alone, for programs other than the server; null if it is not set.
 * @throws LaunchError if the variable is malformed
 */
export function optionOf<N extends OptionName>(
  name: N,
  env: Readonly<Record<string, string | undefined>>,
): LaunchOptions[N] | null {
  const text = variablesOf(name, rowOf(name))
    .map((variable) => env[variable])
    .find((found) => found !== undefined && found !== '')
  if (text === undefined) return null
  const value = rowOf(name).fromText(text) as LaunchOptions[N] | undefined
  if (value !== undefined) return value
  throw new LaunchError(
    `${variableOf(name, rowOf(name))}: invalid value \`${text}\`, expected ${rowOf(name).accepts}`,
    2,
  )
}

function runOf({ args, env, readFile, machine }: LaunchSources, refuse: Reading['refuse']): Run {
  const reading = { readFile, refuse }
  const given = new Map([...fromEnvironment(env, reading), ...fromArguments(args, reading)])
  const named = (given.get('configFilePath')?.value as string | undefined) ?? null
  const path = named ?? DEFAULT_FILE
  const content = contentOf(path, named !== null, reading)
  const all: Given = new Map([
    ...fromCredentials(env, reading),
    ...(content === null ? [] : fromFile(content, path, reading)),
    ...given,
  ])
  checkCombinations(all, refuse)
  return {
    kind: 'run',
    options: optionsOf(all, machine),
    configFile: content === null ? null : path,
    given: all,
    remarks: [...misspelt(env), ...renamed(all)],
  }
}

/** Returns the text of the configuration file; null without a file. */
function contentOf(path: string, isNamed: boolean, { readFile, refuse }: Reading): string | null {
  try {
    const content = readFile(path)
    if (content === null && isNamed)
      refuse(new LaunchError(`configuration file \`${path}\` does not exist`, 1))
    return content
  } catch (error) {
    if (error instanceof LaunchError) throw error
    const { code } = error as NodeJS.ErrnoException
    refuse(new LaunchError(`configuration file \`${path}\` cannot be read: ${code}`, 1))
    return null
  }
}

function checkCombinations(given: Given, refuse: Reading['refuse']): void {
  for (const [name, { requires, excludes }] of rows) {
    const value = given.get(name)?.value
    if (value === undefined || value === false) continue
    if (requires !== undefined && !given.has(requires as OptionName))
      refuse(new LaunchError(`--${kebab(name)} needs --${kebab(requires)} as well`, 2))
    if (excludes !== undefined && given.has(excludes as OptionName) && name < excludes)
      refuse(new LaunchError(`--${kebab(name)} and --${kebab(excludes)} exclude each other`, 2))
  }
}

function optionsOf(given: Given, machine: Machine): LaunchOptions {
  const memory = given.get('maxIndexingMemory')?.value as number | undefined
  const indexingMemoryBytes = memory ?? Math.floor((machine.memoryBytes * 2) / 3)
  const basis = { ...machine, indexingMemoryBytes }
  const options = Object.fromEntries(
    rows.map(([name, row]) => [name, given.get(name)?.value ?? row.fallback(basis)]),
  ) as LaunchOptions
  const { cores } = machine
  return { ...options, maxIndexingThreads: Math.min(options.maxIndexingThreads ?? cores, cores) }
}
